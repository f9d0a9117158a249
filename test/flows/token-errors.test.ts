import express, { type RequestHandler } from 'express'
import supertest from 'supertest'
import { registration } from '../../lib/features/index.ts'
import { type ClientSeed, seedClients } from '../../lib/index.ts'
import { stopClock } from '../support/clock.ts'
import { callback, clients, type Host, pkce, secret, startHost } from '../support/host.ts'
import {
  answerOf,
  bob,
  codeFor,
  expectError,
  introspect,
  post,
  redeem,
  tokensFor,
  userinfo,
} from '../support/tokens.ts'

// What the token endpoint and UserInfo read, and what they refuse.

let host: Host
const confidential = { client_secret: secret, redirect_uris: [callback] }
/** Secrets with characters that have a meaning in a form; the second is not valid in a form. */
const signs: Readonly<Record<string, string>> = {
  signs: 'a+b/c%2Fd=e&f-of-more-than-32-characters',
  halves: '100%+another%zz-of-more-than-32-characters',
}

beforeAll(async () => {
  const policy = () => ({ client_secret_expires_at: Math.floor(Date.now() / 1000) + 60 })
  host = await startHost({
    options: { features: [registration({ allow: policy })] },
    clients: [
      ...clients,
      { ...confidential, client_id: 'basic', token_endpoint_auth_method: 'client_secret_basic' },
      { ...confidential, client_id: 'post', token_endpoint_auth_method: 'client_secret_post' },
      ...Object.entries(signs).map(([client_id, client_secret]) => ({
        client_id,
        client_secret,
        grant_types: ['client_credentials' as const],
        scope: 'notes:read',
      })),
    ],
  })
})
afterAll(() => host.close())
afterEach(() => jest.restoreAllMocks())

const own = 'grant_type=client_credentials'
const web = `client_id=web&client_secret=${secret}`
/** Part of every value that an attacker chooses; no answer may repeat it. */
const marker = 'xss-marker'

/** Another app of the host, with this middleware before the router. */
const behind = (...before: RequestHandler[]): Pick<Host, 'app'> => {
  const app = express()
  if (before.length > 0) app.use(...(before as [RequestHandler]))
  app.use('/oauth', host.oauth)
  return { app }
}

describe('client authentication', () => {
  test('by the registered method passes', async () => {
    const form = 'grant_type=refresh_token&refresh_token=x'
    const credentials = Buffer.from(`basic:${secret}`).toString('base64')
    for (const scheme of ['Basic', 'bAsIc']) {
      const inHeader = await post(host, form).set('Authorization', `${scheme} ${credentials}`)
      expectError(inHeader, 400, 'invalid_grant')
    }
    const inForm = await post(host, `${form}&client_id=post&client_secret=${secret}`)
    expectError(inForm, 400, 'invalid_grant')
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

  // What the request presents is read at the same time.
  test('fails first, also if the request is malformed', async () => {
    const unhandled = jest.fn()
    process.on('unhandledRejection', unhandled)
    const wrong = 'client_id=web&client_secret=wrong'
    for (const grant of ['authorization_code', 'refresh_token'])
      expectError(await post(host, `grant_type=${grant}&${wrong}`), 401, 'invalid_client')
    expectError(await post(host, wrong), 401, 'invalid_client')
    process.off('unhandledRejection', unhandled)
    expect(unhandled).not.toHaveBeenCalled()
  })

  test('introspection is refused to a public client, with a challenge where it used the header', async () => {
    const none = { client_id: undefined, client_secret: undefined }
    const refused = await introspect(host, 'x', none).auth('native', '')
    expectError(refused, 401, 'invalid_client')
    expect(refused.headers['www-authenticate']).toMatch(/^Basic /)
  })
})

describe('parameters', () => {
  const code = `grant_type=authorization_code&${web}`
  const right = `code=lk_ac_${'A'.repeat(43)}&redirect_uri=${encodeURIComponent(callback)}`

  test.each([
    ['an unknown code', `${code}&${right}`, 'invalid_grant'],
    ['no refresh_token', `grant_type=refresh_token&${web}`, 'invalid_request'],
    ['an unknown refresh_token', `grant_type=refresh_token&refresh_token=${marker}&${web}`, 'invalid_grant'],
    ['a scope outside the grammar', `${own}&scope=%22${marker}%22&${web}`, 'invalid_scope'],
    ['a NUL byte in the verifier', `${code}&${right}&code_verifier=%00`, 'invalid_request'],
  ])('%s is refused', async (_, body, error) => {
    const res = await post(host, body)
    expectError(res, 400, error)
    expect(res.text).not.toContain(marker)
    expect(JSON.stringify(res.headers)).not.toContain(marker)
  })

  test.each([
    ['unknown parameters', `${marker}=${marker}&__proto__=x&constructor=x&hasOwnProperty=x&toString=x`],
    ['brackets in unknown names', 'a[b]=c&a[__proto__]=d&e[]=f'],
    ['an empty value beside a given one', 'scope=notes:read&scope='],
  ])('a request with %s is served', async (_, more) => {
    const res = await post(host, `${own}&${web}&${more}`)
    expect(res.status).toBe(200)
    expect(res.text).not.toContain(marker)
  })
})

describe('the request', () => {
  test('may have a charset beside the form type, and 60 kB, but must have a type', async () => {
    const request = supertest(host.app).post('/oauth/token')
    const type = 'application/x-www-form-urlencoded; charset=UTF-8'
    const body = `${own}&${web}&x=${'x'.repeat(60_000)}`
    expect((await request.set('Content-Type', type).send(body)).status).toBe(200)
    expectError(await supertest(host.app).post('/oauth/token'), 400, 'invalid_request')
  })

  test.each(['ISO-8859-1', 'us-ascii', 'windows-1252'])(
    'may name the charset %s if it has only ASCII, and a line break may follow it',
    async (charset) => {
      const send = (to: Pick<Host, 'app'>, body: string) =>
        supertest(to.app)
          .post('/oauth/token')
          .set('Content-Type', `application/x-www-form-urlencoded; charset=${charset}`)
          .send(body)
      for (const end of ['', '\n', '\r\n']) expect((await send(host, `${own}&${web}${end}`)).status).toBe(200)
      const parsed = behind(express.text({ type: () => true }))
      expect((await send(parsed, `${own}&${web}\n`)).status).toBe(200)
      for (const more of ['&x=%E9', '&x=%C3%A9', '&%E9=x', '&x=é'])
        expectError(await send(host, `${own}&${web}${more}`), 415, 'invalid_request')
      expectError(await send(host, `${own}&${web}&scope=notes:read\n\n`), 400, 'invalid_request')
    },
  )

  test.each<[string, RequestHandler]>([
    ['urlencoded, extended', express.urlencoded({ extended: true })],
    ['urlencoded, simple', express.urlencoded({ extended: false })],
    ['text', express.text({ type: () => true })],
    ['raw', express.raw({ type: () => true })],
    ['json', express.json()],
  ])('is read although the host has parsed its body: %s', async (_, parser) => {
    const parsed = behind(parser)
    const { access_token } = await answerOf(redeem(parsed, await codeFor(parsed)))
    const inForm = supertest(parsed.app).post('/oauth/userinfo').type('form').send({ access_token })
    expect((await inForm).body).toMatchObject({ sub: '1' })
  })
})

test('settings and headers of the host do not change our answers', async () => {
  const caching: RequestHandler = (_req, res, next) => {
    res.set({ 'Cache-Control': 'public, max-age=60' })
    next()
  }
  const set = behind(caching)
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
  expectError(await post(set, own), 400, 'invalid_request')
})

describe('UserInfo', () => {
  test('returns current claims without empty ones, which no cache stores and any origin may read', async () => {
    const { access_token } = await tokensFor(host, {}, {}, { as: bob })
    const users = () => host.database.knex(host.usersTable).where({ id: 2 })
    await users().update({ full_name: '' })
    const res = await userinfo(host, access_token).set('Origin', 'https://spa.example.com')
    await users().update({ full_name: 'Bob Byte' })
    expect(res.body).toEqual({ sub: '2', email: 'bob@example.com', email_verified: false })
    expect(res.headers).toMatchObject({
      'content-type': 'application/json',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'access-control-allow-origin': '*',
    })
    for (const header of ['access-control-allow-credentials', 'set-cookie'])
      expect(res.headers).not.toHaveProperty(header)
  })

  test('without a token challenges without an error', async () => {
    const res = await supertest(host.app).get('/oauth/userinfo')
    expectError(res, 401, 'invalid_token')
    expect(res.headers['www-authenticate']).toBe('Bearer realm="api"')
  })

  test.each([
    ['a NUL byte', 'form', 'access_token=lk_at_%00', 400],
    ['JSON', 'json', '{"access_token":"x"}', 415],
    ['100 kB', 'form', `access_token=${'x'.repeat(100_000)}`, 413],
  ])('refuses a body with %s', async (_, type, body, status) => {
    const res = await supertest(host.app).post('/oauth/userinfo').type(type).send(body)
    expectError(res, status, 'invalid_request')
  })
})

describe('a client secret that expires', () => {
  const clock = { now: 0, travel: (_seconds: number): void => {} }
  let client_id = ''
  const seed = async (expires: number): Promise<void> => {
    const { knex, tablePrefix } = host.database
    const client: ClientSeed = {
      client_id,
      client_secret: secret,
      redirect_uris: [callback],
      scope: 'notes:read',
      grant_types: ['authorization_code', 'client_credentials'],
      client_secret_expires_at: expires,
    }
    await seedClients(knex, [client], {
      database: { tablePrefix },
      scopes: { 'notes:read': 'Read your notes' },
    })
  }
  beforeEach(async () => {
    const { now, travel } = stopClock()
    Object.assign(clock, { now: now(), travel })
    client_id = `shop-${Math.random()}`
    await seed(clock.now + 60)
  })

  const ask = async (client_secret = secret, byHeader = false) => {
    const request = post(
      host,
      byHeader ? own : { grant_type: 'client_credentials', client_id, client_secret },
    )
    if (byHeader) request.auth(client_id, client_secret)
    const { status, body, headers } = await request
    return { status, error: body.error_description, challenge: headers['www-authenticate'] }
  }
  const works = { status: 200, error: undefined, challenge: undefined }
  const expired = { status: 401, error: 'client_secret is expired', challenge: undefined }
  const wrong = { ...expired, error: 'client authentication failed' }

  test('works until then; afterwards its holder learns why, and the host gets an event', async () => {
    const refused: unknown[] = []
    host.oauth.events.on('client.refused', ({ clientId, endpoint, reason }) => {
      refused.push({ clientId, endpoint, reason })
    })
    clock.travel(59)
    expect(await ask()).toEqual(works)
    clock.travel(1)
    expect(await ask()).toEqual(expired)
    expect(await ask(secret, true)).toMatchObject({ ...expired, challenge: expect.stringMatching(/^Basic/) })
    expect(await ask('w'.repeat(43))).toEqual(wrong)
    const reasons = ['secret_expired', 'secret_expired', undefined]
    expect(refused).toEqual(reasons.map((reason) => ({ clientId: client_id, endpoint: 'token', reason })))
  })

  test('is neither revived nor prolonged by a rotation, which gives a new secret', async () => {
    const { clients: registered } = host.oauth
    const first = await registered.rotateSecret(client_id, { keepPreviousFor: 3600, expiresIn: 120 })
    expect(first).toMatchObject({
      previous_secret_expires_at: clock.now + 60,
      client_secret_expires_at: clock.now + 120,
    })
    clock.travel(60)
    expect(await ask(first.client_secret)).toEqual(works)
    expect(await ask()).toEqual(wrong)
    clock.travel(60)
    expect(await ask(first.client_secret)).toEqual(expired)
    const second = await registered.rotateSecret(client_id)
    expect(second).not.toHaveProperty('client_secret_expires_at')
    expect(await ask(first.client_secret)).toEqual(wrong)
    clock.travel(10 ** 7)
    expect(await ask(second.client_secret)).toEqual(works)
    await expect(registered.rotateSecret(client_id, { expiresIn: 0 })).rejects.toThrow(TypeError)
  })

  test('gets another time from a seed, an update or a policy, and stays the same secret', async () => {
    clock.travel(60)
    await host.oauth.clients.update(client_id, { client_name: 'Shop' })
    expect(await ask()).toEqual(expired)
    await host.oauth.clients.update(client_id, { client_secret_expires_at: null })
    expect(await ask()).toEqual(works)
    await seed(clock.now + 60)
    expect(await ask()).toEqual(expired)
    await seed(0)
    expect(await ask()).toEqual(works)
    const members = { redirect_uris: [callback], client_secret_expires_at: 0 }
    const { body } = await supertest(host.app).post('/oauth/register').send(members)
    expect(body).toMatchObject({ client_secret_expires_at: clock.now + 120 })
  })
})
