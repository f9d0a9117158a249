import { gzipSync } from 'node:zlib'
import express from 'express'
import supertest from 'supertest'
import { callback, clients, type Host, secret, startHost } from '../support/host.ts'
import { codeFor, expectError, post, redeem, tokensFor, userinfo } from '../support/tokens.ts'

let host: Host
const confidential = { client_secret: secret, redirect_uris: [callback] }

beforeAll(async () => {
  host = await startHost({
    clients: [
      ...clients,
      { ...confidential, client_id: 'basic', token_endpoint_auth_method: 'client_secret_basic' },
      { ...confidential, client_id: 'post', token_endpoint_auth_method: 'client_secret_post' },
      { ...confidential, client_id: 'off', grant_types: ['authorization_code', 'client_credentials'] },
    ],
  })
  await host.database
    .knex(`${host.database.tablePrefix}clients`)
    .where({ client_id: 'off' })
    .update({ disabled_at: 1 })
})
afterAll(() => host.close())

const own = 'grant_type=client_credentials'
const web = `client_id=web&client_secret=${secret}`
const basic = (credentials: string): string => `Basic ${Buffer.from(credentials).toString('base64')}`
/** Stands in every value that an attacker chooses; no answer may repeat it. */
const marker = 'xss-marker'

/** Everything that a client could tell two answers apart by. */
const comparable = ({ status, text, headers: { date: _, ...headers } }: supertest.Response) => ({
  status,
  text,
  headers,
})

afterEach(async () => {
  // Whatever was sent before, the next request is served.
  expect((await post(host, `${own}&${web}`)).status).toBe(200)
})

describe('client authentication', () => {
  test.each([
    ['an unknown client', `client_id=${marker}&client_secret=${secret}`],
    ['a wrong secret', `client_id=web&client_secret=${marker}-${secret}`],
    ['a secret in other letters', `client_id=web&client_secret=${secret.toUpperCase()}`],
    ['an empty secret', 'client_id=web&client_secret='],
    ['no secret', 'client_id=web'],
    ['a client_id in other letters', `client_id=WEB&client_secret=${secret}`],
    ['a client_id with a space more', `client_id=web+&client_secret=${secret}`],
    ['a secret without a client_id', `client_secret=${secret}`],
    ['a secret for a public client', `client_id=native&client_secret=${secret}`],
    ['an unknown client without a secret', `client_id=${marker}`],
    ['the name of a property of every object', `client_id=__proto__&client_secret=${secret}`],
    ['a disabled client', `client_id=off&client_secret=${secret}`],
    ['a client registered for Basic that uses the form body', `client_id=basic&client_secret=${secret}`],
    ['a client_id outside ASCII', `client_id=w%C3%A9b&client_secret=${secret}`],
  ])('%s in the form body is invalid_client without a challenge', async (_, body) => {
    const res = await post(host, `${own}&${body}`)
    expectError(res, 401, 'invalid_client')
    expect(res.headers).not.toHaveProperty('www-authenticate')
    expect(res.text).not.toContain(marker)
  })

  test.each([
    ['an unknown client', basic(`${marker}:${secret}`)],
    ['a wrong secret', basic(`web:${marker}`)],
    ['an empty secret', basic('web:')],
    ['no colon', basic('web')],
    ['an empty client_id', basic(`:${secret}`)],
    ['a public client', basic('native:')],
    ['a disabled client', basic(`off:${secret}`)],
    ['a client registered for the form body', basic(`post:${secret}`)],
    ['a percent sign that encodes nothing', basic('web:%zz')],
    ['a NUL byte', basic(`web\0:${secret}`)],
    ['bytes that are no UTF-8', `Basic ${Buffer.from([0xff, 0x3a, 0xff]).toString('base64')}`],
    ['characters outside base64', 'Basic web:secret'],
    ['no credentials', 'Basic'],
    ['another scheme', `Bearer ${secret}`],
  ])('%s in the Authorization header is invalid_client with a challenge', async (_, header) => {
    const res = await post(host, own).set('Authorization', header)
    expectError(res, 401, 'invalid_client')
    expect(res.headers['www-authenticate']).toBe('Basic realm="token", charset="UTF-8"')
    expect(res.text).not.toContain(marker)
  })

  test('an unknown client and a wrong secret are indistinguishable', async () => {
    const inForm = (client: string) =>
      post(host, `${own}&client_id=${client}&client_secret=${'w'.repeat(40)}`)
    expect(comparable(await inForm('nobody'))).toEqual(comparable(await inForm('web')))
    expect(comparable(await inForm('off'))).toEqual(comparable(await inForm('web')))
    const inHeader = (client: string) => post(host, own).auth(client, 'w'.repeat(40))
    expect(comparable(await inHeader('nobody'))).toEqual(comparable(await inHeader('web')))
  })

  test.each([
    ['Basic and the form body', `${own}&${web}`, basic(`web:${secret}`)],
    ['Basic and a wrong secret in the form body', `${own}&client_secret=x`, basic(`web:${secret}`)],
    ['another scheme and the form body', `${own}&${web}`, `Bearer ${secret}`],
    ['two client_ids that differ', `${own}&client_id=native`, basic(`web:${secret}`)],
  ])('%s is invalid_request', async (_, body, header) => {
    expectError(await post(host, body).set('Authorization', header), 400, 'invalid_request')
  })

  test('no client at all is invalid_request', async () => {
    expectError(await post(host, own), 400, 'invalid_request')
  })

  test('comes before everything that a stranger could ask about a grant', async () => {
    const res = await post(host, 'grant_type=password&client_id=web&client_secret=wrong')
    expectError(res, 401, 'invalid_client')
  })

  test('by the registered method passes', async () => {
    const inHeader = await post(host, 'grant_type=refresh_token&refresh_token=x').auth('basic', secret)
    expectError(inHeader, 400, 'invalid_grant')
    const inForm = `grant_type=refresh_token&refresh_token=x&client_id=post&client_secret=${secret}`
    expectError(await post(host, inForm), 400, 'invalid_grant')
  })
})

describe('parameters', () => {
  const code = `grant_type=authorization_code&${web}`
  const right = `code=lk_ac_${'A'.repeat(43)}&redirect_uri=${encodeURIComponent(callback)}`

  test.each([
    ['no grant_type', web, 'invalid_request'],
    ['an empty grant_type', `grant_type=&${web}`, 'invalid_request'],
    ['an unknown grant_type', `grant_type=${marker}&${web}`, 'unsupported_grant_type'],
    ['the grant_type password', `grant_type=password&username=a&password=b&${web}`, 'unsupported_grant_type'],
    ['the grant_type implicit', `grant_type=implicit&${web}`, 'unsupported_grant_type'],
    ['a grant_type in other letters', `grant_type=Client_Credentials&${web}`, 'unsupported_grant_type'],
    ['the grant_type __proto__', `grant_type=__proto__&${web}`, 'unsupported_grant_type'],
    ['the grant_type hasOwnProperty', `grant_type=hasOwnProperty&${web}`, 'unsupported_grant_type'],
    [
      'a grant_type that the client may not use',
      `${own}&client_id=post&client_secret=${secret}`,
      'unauthorized_client',
    ],
    ['no code', `${code}&redirect_uri=${encodeURIComponent(callback)}`, 'invalid_request'],
    ['an empty code', `${code}&code=&redirect_uri=${encodeURIComponent(callback)}`, 'invalid_request'],
    ['no redirect_uri', `${code}&code=x`, 'invalid_request'],
    ['an unknown code', `${code}&${right}`, 'invalid_grant'],
    ['a code of 129 characters', `${code}&code=${'x'.repeat(129)}&redirect_uri=x`, 'invalid_request'],
    [
      'a redirect_uri of 2,049 characters',
      `${code}&code=x&redirect_uri=${'x'.repeat(2049)}`,
      'invalid_request',
    ],
    [
      'a client_id of 256 characters',
      `${own}&client_id=${'x'.repeat(256)}&client_secret=x`,
      'invalid_request',
    ],
    ['no refresh_token', `grant_type=refresh_token&${web}`, 'invalid_request'],
    ['an unknown refresh_token', `grant_type=refresh_token&refresh_token=${marker}&${web}`, 'invalid_grant'],
    ['a scope that nobody knows', `${own}&scope=${marker}&${web}`, 'invalid_scope'],
    ['a scope outside the grammar', `${own}&scope=%22${marker}%22&${web}`, 'invalid_scope'],
    ['grant_type twice', `${own}&${own}&${web}`, 'invalid_request'],
    ['client_id twice', `${own}&${web}&client_id=web`, 'invalid_request'],
    ['client_secret twice', `${own}&${web}&client_secret=${secret}`, 'invalid_request'],
    ['scope twice', `${own}&scope=notes:read&scope=notes:write&${web}`, 'invalid_request'],
    ['code twice', `${code}&code=x&${right}`, 'invalid_request'],
    ['an unknown parameter twice', `${own}&${web}&${marker}=1&${marker}=2`, 'invalid_request'],
    ['a NUL byte in the client_id', `${own}&client_id=web%00&client_secret=${secret}`, 'invalid_request'],
    ['a NUL byte in the secret', `${own}&client_id=web&client_secret=${secret}%00`, 'invalid_request'],
    ['a NUL byte in the grant_type', `grant_type=client_credentials%00&${web}`, 'invalid_request'],
    ['a NUL byte in the code', `${code}&code=x%00&redirect_uri=x`, 'invalid_request'],
    ['a NUL byte in the redirect_uri', `${code}&code=x&redirect_uri=x%00`, 'invalid_request'],
    ['a NUL byte in the verifier', `${code}&${right}&code_verifier=%00`, 'invalid_request'],
    [
      'a NUL byte in the refresh_token',
      `grant_type=refresh_token&refresh_token=%00&${web}`,
      'invalid_request',
    ],
    ['a NUL byte in the scope', `${own}&scope=notes:read%00&${web}`, 'invalid_request'],
    ['a line break in the client_id', `${own}&client_id=web%0A&client_secret=${secret}`, 'invalid_request'],
    ['bytes that are no UTF-8', `${own}&client_id=%FF%FE&client_secret=${secret}`, 'invalid_request'],
    [
      '65 parameters',
      `${own}&${web}&${Array.from({ length: 62 }, (__, index) => `p${index}=1`).join('&')}`,
      'invalid_request',
    ],
  ])('%s is refused', async (_, body, error) => {
    const res = await post(host, body)
    expectError(res, 400, error)
    expect(res.text).not.toContain(marker)
    expect(JSON.stringify(res.headers)).not.toContain(marker)
  })

  test.each([
    ['64 parameters', Array.from({ length: 61 }, (_, index) => `p${index}=1`).join('&')],
    ['unknown ones', `${marker}=${marker}&__proto__=x&constructor=x&hasOwnProperty=x&toString=x`],
    ['brackets in unknown names', 'a[b]=c&a[__proto__]=d&e[]=f'],
    ['an empty value beside a given one', 'scope=notes:read&scope='],
  ])('%s do no harm', async (_, more) => {
    const res = await post(host, `${own}&${web}&${more}`)
    expect(res.status).toBe(200)
    expect(res.text).not.toContain(marker)
  })

  test('in the query are not looked at', async () => {
    const res = await supertest(host.app).post(`/oauth/token?${own}&${web}`).type('form').send('')
    expectError(res, 400, 'invalid_request')
  })
})

describe('the request', () => {
  const send = (type: string, body: string) =>
    supertest(host.app).post('/oauth/token').set('Content-Type', type).send(body)

  test.each([
    ['JSON', 'application/json', `{"grant_type":"client_credentials","client_id":"web"}`],
    ['broken JSON', 'application/json', '{'],
    ['text', 'text/plain', `${own}&${web}`],
    ['XML', 'application/xml', '<grant_type/>'],
    ['multipart', 'multipart/form-data; boundary=x', '--x--'],
    [
      'a form in a charset nobody knows',
      'application/x-www-form-urlencoded; charset=x-none',
      `${own}&${web}`,
    ],
  ])('with %s is 415', async (_, type, body) => {
    expectError(await send(type, body), 415, 'invalid_request')
  })

  test('with a charset beside the form type is read', async () => {
    const res = await send('application/x-www-form-urlencoded; charset=UTF-8', `${own}&${web}`)
    expect(res.status).toBe(200)
  })

  test('without a content type is invalid_request', async () => {
    const res = await supertest(host.app).post('/oauth/token')
    expectError(res, 400, 'invalid_request')
  })

  test('with a compressed body is 415', async () => {
    const res = await supertest(host.app)
      .post('/oauth/token')
      .type('form')
      .set('Content-Encoding', 'gzip')
      .serialize((body) => body)
      .send(gzipSync(`${own}&${web}`) as unknown as string)
    expectError(res, 415, 'invalid_request')
  })

  test('with a body of 100 kB is 413', async () => {
    expectError(await post(host, `${own}&${web}&x=${'x'.repeat(100_000)}`), 413, 'invalid_request')
  })

  test('with a body of 60 kB is read', async () => {
    expect((await post(host, `${own}&${web}&x=${'x'.repeat(60_000)}`)).status).toBe(200)
  })

  test.each(['get', 'put', 'patch', 'delete'] as const)(
    'by %s is 405 and tells what is allowed',
    async (method) => {
      const res = await supertest(host.app)[method](`/oauth/token?${own}&${web}`)
      expectError(res, 405, 'invalid_request')
      expect(res.headers.allow).toBe('POST')
    },
  )

  test('by HEAD is 405 and tells what is allowed', async () => {
    const res = await supertest(host.app).head(`/oauth/token?${own}&${web}`)
    expect({ status: res.status, allow: res.headers.allow }).toEqual({ status: 405, allow: 'POST' })
  })

  test('may come from a script of any origin, which sends no cookie', async () => {
    const preflight = await supertest(host.app).options('/oauth/token').set({
      Origin: 'https://spa.example.com',
      'Access-Control-Request-Method': 'POST',
      'Access-Control-Request-Headers': 'authorization,content-type',
    })
    expect(preflight.status).toBe(204)
    expect(preflight.headers).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers': 'Authorization, Content-Type',
    })
    for (const res of [preflight, await post(host, `${own}&${web}`), await post(host, own)]) {
      expect(res.headers['access-control-allow-origin']).toBe('*')
      expect(res.headers).not.toHaveProperty('access-control-allow-credentials')
      expect(res.headers).not.toHaveProperty('set-cookie')
    }
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

  describe.each(Object.entries(parsers))('%s', (name, parser) => {
    let parsed: Host
    beforeAll(async () => {
      parsed = await startHost({ before: [parser] })
    })
    afterAll(() => parsed.close())

    test('gets tokens as ever', async () => {
      expect((await redeem(parsed, await codeFor(parsed))).status).toBe(200)
    })

    test.each([
      ['grant_type twice', `${own}&${own}&${web}`],
      ['an unknown parameter twice', `${own}&${web}&x=1&x=2`],
      ['a NUL byte', `${own}&client_id=web%00&client_secret=${secret}`],
      ['65 parameters', `${own}&${web}&${Array.from({ length: 62 }, (__, i) => `p${i}=1`).join('&')}`],
      ['a client_id as a list', `${own}&client_id[]=web&client_id[]=web`],
    ])('%s is refused as ever', async (_, body) => {
      expectError(await post(parsed, body), 400, 'invalid_request')
    })

    test('a client_id in brackets is none', async () => {
      const res = await post(parsed, `${own}&client_id[x]=web&client_secret=${secret}`)
      if (name === 'urlencoded, extended') expectError(res, 400, 'invalid_request')
      else expectError(res, 401, 'invalid_client')
    })

    test('a JSON body is 415 as ever', async () => {
      const res = await supertest(parsed.app)
        .post('/oauth/token')
        .send({ grant_type: 'client_credentials', client_id: 'web', client_secret: secret })
      expectError(res, 415, 'invalid_request')
    })
  })
})

describe('settings of the host', () => {
  test('do not reach into our answers', async () => {
    const set = await startHost()
    try {
      set.app.set('json replacer', (key: string, value: unknown) =>
        key.includes('token') ? undefined : value,
      )
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

  test('headers that the host put on every answer do not make ours cacheable', async () => {
    const set = await startHost({
      before: [
        (_req, res, next) => void next(res.set({ 'Cache-Control': 'public, max-age=60' }) && undefined),
      ],
    })
    try {
      expectError(await post(set, own), 400, 'invalid_request')
    } finally {
      await set.close()
    }
  })
})

describe('a database that is away', () => {
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
    await unavailable(
      'refresh_tokens',
      `grant_type=refresh_token&refresh_token=lk_rt_${'A'.repeat(43)}&${web}`,
    )
    await unavailable(
      'authorizations',
      `grant_type=authorization_code&code=lk_ac_${'A'.repeat(43)}&redirect_uri=x&${web}`,
    )
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
