import express from 'express'
import supertest from 'supertest'
import { type Host, startHost } from '../support/host.ts'
import { answerOf, bob, expectError, refresh, tokensFor, userinfo } from '../support/tokens.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host.close())
afterEach(() => jest.restoreAllMocks())

const get = () => supertest(host.app).get('/oauth/userinfo')
const postForm = (body: string) => supertest(host.app).post('/oauth/userinfo').type('form').send(body)

describe('returns', () => {
  const claimsOf = async (scope: string, as = undefined as typeof bob | undefined) =>
    (await userinfo(host, (await tokensFor(host, { scope }, {}, as ? { as } : {})).access_token)).body

  test('email_verified as a boolean, when it is false too', async () => {
    const claims = { sub: '2', email: 'bob@example.com', email_verified: false }
    expect(await claimsOf('openid email', bob)).toEqual(claims)
  })

  test('the current name, and leaves out what is empty', async () => {
    const users = () => host.database.knex(host.usersTable).where({ id: 2 })
    const { access_token } = await tokensFor(host, { scope: 'openid profile' }, {}, { as: bob })
    await users().update({ full_name: '' })
    const { body } = await userinfo(host, access_token)
    await users().update({ full_name: 'Bob Byte' })
    expect(body).toEqual({ sub: '2' })
  })

  test('JSON that no cache stores and any origin may read, without a cookie', async () => {
    const asking = userinfo(host, (await tokensFor(host)).access_token)
    const res = await asking.set('Origin', 'https://spa.example.com')
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
})

describe('refuses', () => {
  test('a token whose scope was narrowed to one without openid', async () => {
    const { refresh_token } = await tokensFor(host)
    const { access_token } = await answerOf(refresh(host, refresh_token, { scope: 'email' }))
    expectError(await userinfo(host, access_token), 403, 'insufficient_scope')
  })

  test('a NUL byte in the body', async () => {
    expectError(await postForm('access_token=lk_at_%00'), 400, 'invalid_request')
  })

  test('a JSON body', async () => {
    const { access_token } = await tokensFor(host)
    const res = await supertest(host.app).post('/oauth/userinfo').send({ access_token })
    expectError(res, 415, 'invalid_request')
  })

  test('a body of 100 kB', async () => {
    expectError(await postForm(`access_token=${'x'.repeat(100_000)}`), 413, 'invalid_request')
  })
})
