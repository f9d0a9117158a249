import express from 'express'
import { decodeJwt } from 'jose'
import supertest from 'supertest'
import { stopClock } from '../support/clock.ts'
import { type Host, startHost } from '../support/host.ts'
import {
  answerOf,
  bob,
  codeFor,
  expectError,
  redeem,
  refresh,
  tokensFor,
  userinfo,
} from '../support/tokens.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host.close())
afterEach(() => jest.restoreAllMocks())

const get = () => supertest(host.app).get('/oauth/userinfo')
const postForm = (body: string) => supertest(host.app).post('/oauth/userinfo').type('form').send(body)

const challenge = (error: string): RegExp =>
  new RegExp(`^Bearer realm="api", error="${error}", error_description="[^"]+"$`)

describe('tells', () => {
  const claimsOf = async (scope: string, as = undefined as typeof bob | undefined) =>
    (await userinfo(host, (await tokensFor(host, { scope }, {}, as ? { as } : {})).access_token)).body

  test('what each scope allows', async () => {
    expect(await claimsOf('openid')).toEqual({ sub: '1' })
    expect(await claimsOf('openid profile')).toEqual({ sub: '1', name: 'Ada Lovelace' })
    expect(await claimsOf('openid email')).toEqual({
      sub: '1',
      email: 'ada@example.com',
      email_verified: true,
    })
  })

  test('email_verified as a boolean, when it is false too', async () => {
    expect(await claimsOf('openid email', bob)).toEqual({
      sub: '2',
      email: 'bob@example.com',
      email_verified: false,
    })
  })

  test('the sub of the ID token', async () => {
    const tokens = await tokensFor(host)
    expect((await userinfo(host, tokens.access_token)).body.sub).toBe(decodeJwt(tokens.id_token).sub)
  })

  test('what the user is called now, and leaves out what is empty', async () => {
    const users = () => host.database.knex(host.usersTable).where({ id: 2 })
    const { access_token } = await tokensFor(host, { scope: 'openid profile' }, {}, { as: bob })
    await users().update({ full_name: '' })
    const { body } = await userinfo(host, access_token)
    await users().update({ full_name: 'Bob Byte' })
    expect(body).toEqual({ sub: '2' })
  })

  test('JSON that nobody keeps and any origin may read, without a cookie', async () => {
    const res = await userinfo(host, (await tokensFor(host)).access_token).set(
      'Origin',
      'https://spa.example.com',
    )
    expect(res.headers).toMatchObject({
      'content-type': 'application/json',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'access-control-allow-origin': '*',
    })
    expect(res.headers).not.toHaveProperty('access-control-allow-credentials')
    expect(res.headers).not.toHaveProperty('set-cookie')
  })
})

describe('takes the token', () => {
  test.each(['Bearer', 'bearer', 'BEARER', 'bEaReR'])('after %s', async (scheme) => {
    const { access_token } = await tokensFor(host)
    const res = await get().set('Authorization', `${scheme} ${access_token}`)
    expect({ status: res.status, sub: res.body.sub }).toEqual({ status: 200, sub: '1' })
  })

  test('from the header of a POST', async () => {
    const { access_token } = await tokensFor(host)
    const res = await supertest(host.app)
      .post('/oauth/userinfo')
      .set('Authorization', `Bearer ${access_token}`)
    expect({ status: res.status, sub: res.body.sub }).toEqual({ status: 200, sub: '1' })
  })

  test('from the form body of a POST', async () => {
    const res = await postForm(`access_token=${(await tokensFor(host)).access_token}`)
    expect({ status: res.status, sub: res.body.sub }).toEqual({ status: 200, sub: '1' })
  })

  test('from a form body that the host has parsed', async () => {
    const parsed = await startHost({ before: [express.urlencoded({ extended: true })] })
    try {
      const { access_token } = await tokensFor(parsed)
      const res = await supertest(parsed.app).post('/oauth/userinfo').type('form').send({ access_token })
      expect({ status: res.status, sub: res.body.sub }).toEqual({ status: 200, sub: '1' })
    } finally {
      await parsed.close()
    }
  })
})

describe('without a token', () => {
  const expectBare = (res: supertest.Response): void => {
    expectError(res, 401, 'invalid_token')
    expect(res.headers['www-authenticate']).toBe('Bearer realm="api"')
  }

  test('challenges without an error', async () => {
    expectBare(await get())
  })

  test('ignores one in the query', async () => {
    const { access_token } = await tokensFor(host)
    expectBare(await get().query({ access_token }))
    expectBare(await postForm('').query({ access_token }))
  })

  test('ignores one in a cookie', async () => {
    expectBare(await get().set('Cookie', `access_token=${(await tokensFor(host)).access_token}`))
  })

  test('ignores one of another scheme', async () => {
    const { access_token } = await tokensFor(host)
    expectBare(await get().auth('web', access_token))
    expectBare(await get().set('Authorization', `DPoP ${access_token}`))
    expectBare(await get().set('Authorization', access_token))
  })
})

describe('refuses', () => {
  test.each(['Bearer', 'Bearer ', 'Bearer a b', 'Bearer lk_at_"x"', 'Bearer a,b', 'Bearer ü'])(
    'a malformed header: %p',
    async (header) => {
      const res = await get().set('Authorization', Buffer.from(header, 'utf8').toString('latin1'))
      expectError(res, 400, 'invalid_request')
      expect(res.headers['www-authenticate']).toMatch(challenge('invalid_request'))
    },
  )

  test.each([`lk_at_${'A'.repeat(43)}`, 'x', 'a.b.c', 'lk_at_', `lk_at_${'A'.repeat(4000)}`])(
    'a token that nobody issued: %.20s',
    async (token) => {
      const res = await userinfo(host, token)
      expectError(res, 401, 'invalid_token')
      expect(res.headers['www-authenticate']).toMatch(challenge('invalid_token'))
    },
  )

  test('every other kind of secret', async () => {
    const tokens = await tokensFor(host)
    for (const other of [tokens.refresh_token, tokens.id_token, await codeFor(host)]) {
      expectError(await userinfo(host, other), 401, 'invalid_token')
    }
  })

  test('a token that is expired, from its last second on', async () => {
    const clock = stopClock()
    const { access_token } = await tokensFor(host)
    clock.travel(3599)
    expect((await userinfo(host, access_token)).status).toBe(200)
    clock.travel(1)
    const res = await userinfo(host, access_token)
    expectError(res, 401, 'invalid_token')
    expect(res.headers['www-authenticate']).toMatch(challenge('invalid_token'))
  })

  test('a token that is revoked, in the same words as one that never was', async () => {
    const code = await codeFor(host)
    const { access_token } = await answerOf(redeem(host, code))
    await redeem(host, code)
    const [revoked, unknown] = [
      await userinfo(host, access_token),
      await userinfo(host, `lk_at_${'A'.repeat(43)}`),
    ]
    const comparable = ({ status, text, headers: { date: _, ...headers } }: supertest.Response) => ({
      status,
      text,
      headers,
    })
    expect(comparable(revoked)).toEqual(comparable(unknown))
  })

  test('a token without openid', async () => {
    const { access_token } = await tokensFor(host, { scope: 'profile email' })
    const res = await userinfo(host, access_token)
    expectError(res, 403, 'insufficient_scope')
    expect(res.headers['www-authenticate']).toMatch(challenge('insufficient_scope'))
  })

  test('a token whose scope was narrowed to one without openid', async () => {
    const { refresh_token } = await tokensFor(host)
    const { access_token } = await answerOf(refresh(host, refresh_token, { scope: 'email' }))
    expectError(await userinfo(host, access_token), 403, 'insufficient_scope')
  })

  test('the token of a user who is disabled or gone', async () => {
    const users = () => host.database.knex(host.usersTable).where({ id: 2 })
    const { access_token } = await tokensFor(host, {}, {}, { as: bob })
    const [row] = await users()
    await users().update({ disabled_at: 1 })
    const disabled = await userinfo(host, access_token)
    await users().delete()
    const gone = await userinfo(host, access_token)
    await host.database.knex(host.usersTable).insert(row)
    expectError(disabled, 401, 'invalid_token')
    expectError(gone, 401, 'invalid_token')
    expect((await userinfo(host, access_token)).status).toBe(200)
  })

  test('a token in header and body at once', async () => {
    const { access_token } = await tokensFor(host)
    const res = await postForm(`access_token=${access_token}`).set('Authorization', `Bearer ${access_token}`)
    expectError(res, 400, 'invalid_request')
  })

  test('two tokens in the body', async () => {
    const { access_token } = await tokensFor(host)
    const res = await postForm(`access_token=${access_token}&access_token=${access_token}`)
    expectError(res, 400, 'invalid_request')
  })

  test('a NUL byte in the body', async () => {
    expectError(await postForm('access_token=lk_at_%00'), 400, 'invalid_request')
  })

  test('a JSON body', async () => {
    const { access_token } = await tokensFor(host)
    expectError(
      await supertest(host.app).post('/oauth/userinfo').send({ access_token }),
      415,
      'invalid_request',
    )
  })

  test('a body of 100 kB', async () => {
    expectError(await postForm(`access_token=${'x'.repeat(100_000)}`), 413, 'invalid_request')
  })

  test.each(['put', 'delete', 'patch'] as const)('%s', async (method) => {
    const res = await supertest(host.app)[method]('/oauth/userinfo')
    expectError(res, 405, 'invalid_request')
    expect(res.headers.allow).toBe('GET, POST')
  })

  test('HEAD', async () => {
    const { access_token } = await tokensFor(host)
    const res = await supertest(host.app)
      .head('/oauth/userinfo')
      .set('Authorization', `Bearer ${access_token}`)
    expect({ status: res.status, allow: res.headers.allow }).toEqual({ status: 405, allow: 'GET, POST' })
  })
})

test('a preflight is answered for any origin', async () => {
  const res = await supertest(host.app)
    .options('/oauth/userinfo')
    .set({ Origin: 'https://spa.example.com', 'Access-Control-Request-Headers': 'authorization' })
  expect(res.status).toBe(204)
  expect(res.headers).toMatchObject({
    'access-control-allow-origin': '*',
    'access-control-allow-methods': 'GET, POST',
    'access-control-allow-headers': 'Authorization, Content-Type',
  })
})
