import express from 'express'
import supertest from 'supertest'
import { callback, clients, type Host, pkce, secret, startHost } from '../support/host.ts'
import { codeFor, expectError, introspect, post, redeem, tokensFor, userinfo } from '../support/tokens.ts'

let host: Host
const confidential = { client_secret: secret, redirect_uris: [callback] }
/** Secrets with signs that mean something in a form; the second is not even form-urlencoded text. */
const signs: Readonly<Record<string, string>> = {
  signs: 'a+b/c%2Fd=e&f-of-more-than-32-characters',
  halves: '100%+another%zz-of-more-than-32-characters',
}

beforeAll(async () => {
  host = await startHost({
    clients: [
      ...clients,
      { ...confidential, client_id: 'basic', token_endpoint_auth_method: 'client_secret_basic' },
      { ...confidential, client_id: 'post', token_endpoint_auth_method: 'client_secret_post' },
      ...Object.entries(signs).map(([client_id, client_secret]) => ({
        ...{ client_id, client_secret, grant_types: ['client_credentials' as const] },
        scope: 'notes:read',
      })),
    ],
  })
})
afterAll(() => host.close())

const own = 'grant_type=client_credentials'
const web = `client_id=web&client_secret=${secret}`
/** Stands in every value that an attacker chooses; no answer may repeat it. */
const marker = 'xss-marker'

afterEach(async () => {
  // Whatever was sent before, the next request is served.
  expect((await post(host, `${own}&${web}`)).status).toBe(200)
})

describe('client authentication', () => {
  test('by the registered method passes', async () => {
    const inHeader = await post(host, 'grant_type=refresh_token&refresh_token=x').auth('basic', secret)
    expectError(inHeader, 400, 'invalid_grant')
    const inForm = `grant_type=refresh_token&refresh_token=x&client_id=post&client_secret=${secret}`
    expectError(await post(host, inForm), 400, 'invalid_grant')
  })

  test.each([
    ['encoded (RFC 6749 §2.3.1)', (text: string) => new URLSearchParams({ text }).toString().slice(5)],
    ['as it is, which curl and many libraries do', (text: string) => text],
  ])('passes with a secret in the header that is sent %s', async (_, encode) => {
    for (const id of ['signs', 'halves']) {
      const sent = await post(host, own).auth(id, encode(signs[id]!))
      expect({ id, status: sent.status }).toEqual({ id, status: 200 })
    }
    expectError(await post(host, own).auth('signs', signs.halves!), 401, 'invalid_client')
  })

  test('of a public client may be a header without a secret, which Go’s x/oauth2 sends', async () => {
    const { verifier, challenge } = pkce()
    const asked = { client_id: 'native', code_challenge: challenge, code_challenge_method: 'S256' }
    const native = { client_id: 'native', client_secret: undefined, code_verifier: verifier }
    const { refresh_token } = await tokensFor(host, asked, native)
    const refresh = `grant_type=refresh_token&refresh_token=${refresh_token}`
    expect((await post(host, refresh).auth('native', '')).status).toBe(200)
    expect((await post(host, `${refresh}&client_id=native`).auth('native', '')).status).toBe(200)
    expectError(await post(host, `${refresh}&client_id=web`).auth('native', ''), 400, 'invalid_request')
    expectError(await post(host, `${refresh}&client_secret=x`).auth('native', ''), 400, 'invalid_request')
    for (const id of ['web', 'basic', 'post']) {
      const refused = await post(host, own).auth(id, '')
      expectError(refused, 401, 'invalid_client')
      expect(refused.headers['www-authenticate']).toMatch(/^Basic /)
    }
  })

  test('takes the scheme of HTTP Basic in any letter case', async () => {
    const credentials = Buffer.from(`basic:${secret}`).toString('base64')
    const res = await post(host, 'grant_type=refresh_token&refresh_token=x').set(
      'Authorization',
      `bAsIc ${credentials}`,
    )
    expectError(res, 400, 'invalid_grant')
  })

  test('introspection is refused to a public client, with a challenge where it used the header', async () => {
    const refused = await introspect(host, 'x', { client_id: undefined, client_secret: undefined }).auth(
      'native',
      '',
    )
    expectError(refused, 401, 'invalid_client')
    expect(refused.headers['www-authenticate']).toMatch(/^Basic /)
  })
})

describe('parameters', () => {
  const code = `grant_type=authorization_code&${web}`
  const right = `code=lk_ac_${'A'.repeat(43)}&redirect_uri=${encodeURIComponent(callback)}`

  test.each([
    ['no grant_type', web, 'invalid_request'],
    ['the grant_type password', `grant_type=password&username=a&password=b&${web}`, 'unsupported_grant_type'],
    ['a grant_type of others', `${own}&client_id=post&client_secret=${secret}`, 'unauthorized_client'],
    ['no redirect_uri', `${code}&code=x`, 'invalid_request'],
    ['an unknown code', `${code}&${right}`, 'invalid_grant'],
    ['no refresh_token', `grant_type=refresh_token&${web}`, 'invalid_request'],
    ['an unknown refresh_token', `grant_type=refresh_token&refresh_token=${marker}&${web}`, 'invalid_grant'],
    ['a scope outside the grammar', `${own}&scope=%22${marker}%22&${web}`, 'invalid_scope'],
    ['an unknown parameter twice', `${own}&${web}&${marker}=1&${marker}=2`, 'invalid_request'],
    ['a NUL byte in the verifier', `${code}&${right}&code_verifier=%00`, 'invalid_request'],
  ])('%s is refused', async (_, body, error) => {
    const res = await post(host, body)
    expectError(res, 400, error)
    expect(res.text).not.toContain(marker)
    expect(JSON.stringify(res.headers)).not.toContain(marker)
  })

  test.each([
    ['unknown ones', `${marker}=${marker}&__proto__=x&constructor=x&hasOwnProperty=x&toString=x`],
    ['brackets in unknown names', 'a[b]=c&a[__proto__]=d&e[]=f'],
    ['an empty value beside a given one', 'scope=notes:read&scope='],
  ])('%s do no harm', async (_, more) => {
    const res = await post(host, `${own}&${web}&${more}`)
    expect(res.status).toBe(200)
    expect(res.text).not.toContain(marker)
  })
})

describe('the request', () => {
  const send = (type: string, body: string) =>
    supertest(host.app).post('/oauth/token').set('Content-Type', type).send(body)

  test('with a charset beside the form type is read', async () => {
    const res = await send('application/x-www-form-urlencoded; charset=UTF-8', `${own}&${web}`)
    expect(res.status).toBe(200)
  })

  test('without a content type is invalid_request', async () => {
    const res = await supertest(host.app).post('/oauth/token')
    expectError(res, 400, 'invalid_request')
  })

  test('with a body of 60 kB is read', async () => {
    expect((await post(host, `${own}&${web}&x=${'x'.repeat(60_000)}`)).status).toBe(200)
  })
})

describe('a host that parses bodies before us', () => {
  const parsers = {
    'urlencoded, extended': express.urlencoded({ extended: true }),
    'urlencoded, simple': express.urlencoded({ extended: false }),
    text: express.text({ type: () => true }),
    raw: express.raw({ type: () => true }),
    json: express.json(),
  }

  describe.each(Object.entries(parsers))('%s', (_, parser) => {
    let parsed: Host
    beforeAll(async () => {
      parsed = await startHost({ before: [parser] })
    })
    afterAll(() => parsed.close())

    test('still gets tokens', async () => {
      expect((await redeem(parsed, await codeFor(parsed))).status).toBe(200)
    })
  })
})

describe('settings of the host', () => {
  test('do not reach into our answers', async () => {
    const set = await startHost()
    try {
      const replacer = (key: string, value: unknown) => (key.includes('token') ? undefined : value)
      set.app.set('json replacer', replacer)
      set.app.set('json spaces', 4)
      set.app.set('json escape', true)
      set.app.set('etag', 'strong')
      set.app.set('query parser', 'extended')
      const tokens = await tokensFor(set)
      expect(tokens).toMatchObject({ access_token: expect.any(String), refresh_token: expect.any(String) })
      const first = await userinfo(set, tokens.access_token)
      expect(first.headers).not.toHaveProperty('etag')
      const again = await userinfo(set, tokens.access_token).set('If-None-Match', '*')
      expect({ status: again.status, body: again.body }).toEqual({ status: 200, body: first.body })
    } finally {
      await set.close()
    }
  })

  test('headers of the host do not make our answers cacheable', async () => {
    const caching: express.RequestHandler = (_req, res, next) => {
      res.set({ 'Cache-Control': 'public, max-age=60' })
      next()
    }
    const set = await startHost({ before: [caching] })
    try {
      expectError(await post(set, own), 400, 'invalid_request')
    } finally {
      await set.close()
    }
  })
})

describe('an unavailable database', () => {
  test('is temporarily_unavailable, neither invalid_client nor invalid_grant, and over when it is back', async () => {
    const { knex, tablePrefix } = host.database
    const unavailable = async (table: string, body: string): Promise<void> => {
      await knex.schema.renameTable(`${tablePrefix}${table}`, `${tablePrefix}away`)
      const res = await post(host, body)
      await knex.schema.renameTable(`${tablePrefix}away`, `${tablePrefix}${table}`)
      expectError(res, 503, 'temporarily_unavailable')
      expect(res.headers['retry-after']).toBe('1')
      expect(res.text).not.toMatch(/select|insert|oauth_|no such/i)
    }
    await unavailable('clients', `${own}&${web}`)
    await unavailable('access_tokens', `${own}&${web}`)
    const refresh = `grant_type=refresh_token&refresh_token=lk_rt_${'A'.repeat(43)}`
    await unavailable('refresh_tokens', `${refresh}&${web}`)
    const exchange = `grant_type=authorization_code&code=lk_ac_${'A'.repeat(43)}`
    await unavailable('authorizations', `${exchange}&redirect_uri=x&${web}`)
  })

  test('leaves a code unredeemed when its tokens could not be written', async () => {
    const { knex, tablePrefix } = host.database
    const code = await codeFor(host)
    await knex.schema.renameTable(`${tablePrefix}refresh_tokens`, `${tablePrefix}away`)
    const res = await redeem(host, code)
    await knex.schema.renameTable(`${tablePrefix}away`, `${tablePrefix}refresh_tokens`)
    expectError(res, 503, 'temporarily_unavailable')
    expect((await redeem(host, code)).status).toBe(200)
  })

  test('leaves discovery and keys in place', async () => {
    const { knex, tablePrefix } = host.database
    await knex.schema.renameTable(`${tablePrefix}signing_keys`, `${tablePrefix}away`)
    const answers = await Promise.all(
      ['jwks', '.well-known/openid-configuration'].map((path) => supertest(host.app).get(`/oauth/${path}`)),
    )
    await knex.schema.renameTable(`${tablePrefix}away`, `${tablePrefix}signing_keys`)
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
  })
})
