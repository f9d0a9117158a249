import type supertest from 'supertest'
import { stopClock } from '../support/clock.ts'
import { callback, clients, type Host, secret, startHost } from '../support/host.ts'
import {
  answerOf,
  expectError,
  type Fields,
  guarded as guardedAt,
  introspect as introspectAt,
  post,
  refresh,
  revoke as revokeAt,
  type TokenAnswer,
  tokensFor,
  userinfo,
  web,
} from '../support/tokens.ts'

let host: Host
beforeAll(async () => {
  host = await startHost({
    clients: [
      ...clients,
      { client_id: 'kept', client_secret: secret, redirect_uris: [callback], refresh_token_rotation: false },
    ],
  })
})
afterAll(() => host.close())
afterEach(() => jest.restoreAllMocks())

const revoke = (token: string, fields?: Fields) => revokeAt(host, token, fields)
const introspect = (token: string, fields?: Fields) => introspectAt(host, token, fields)
const guarded = (token: string) => guardedAt(host, token)

const userTokens = (fields: Fields = {}): Promise<TokenAnswer> =>
  tokensFor(host, { scope: 'openid notes:read', ...fields }, fields)

/** What the whole server says of the tokens, without using either up. */
const standing = async (
  tokens: Pick<TokenAnswer, 'access_token' | 'refresh_token'>,
  fields: Fields = {},
): Promise<{ access: boolean; refresh: boolean }> => {
  const told = await introspect(tokens.access_token, fields)
  const access = told.body.active
  expect((await userinfo(host, tokens.access_token)).status).toBe(access ? 200 : 401)
  expect((await guarded(tokens.access_token)).status).toBe(access ? 200 : 401)
  return { access, refresh: (await introspect(tokens.refresh_token, fields)).body.active }
}
const neither = { access: false, refresh: false }

/** RFC 7009 §2.2: 200, whatever became of the token. */
const expectDone = (res: supertest.Response): void => {
  expect({ status: res.status, body: res.body }).toEqual({ status: 200, body: {} })
  expect(res.headers).toMatchObject({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
  expect(res.headers).not.toHaveProperty('set-cookie')
}

describe('a client revokes a token of its own (RFC 7009 §2.1)', () => {
  test('a refresh token without rotation', async () => {
    const kept = { client_id: 'kept' }
    const tokens = await userTokens(kept)
    await answerOf(refresh(host, tokens.refresh_token, kept))
    expectDone(await revoke(tokens.refresh_token, kept))
    expectError(await refresh(host, tokens.refresh_token, kept), 400, 'invalid_grant')
  })

  test("a client's own token", async () => {
    const { access_token } = await answerOf(post(host, { grant_type: 'client_credentials', ...web }))
    expect((await introspect(access_token)).body.active).toBe(true)
    expectDone(await revoke(access_token))
    expect((await introspect(access_token)).body).toEqual({ active: false })
    expect((await guarded(access_token)).status).toBe(401)
  })

  test('again and again, and the answer is the same', async () => {
    const tokens = await userTokens()
    for (const _ of [1, 2, 3]) expectDone(await revoke(tokens.access_token))
    expect(await standing(tokens)).toEqual({ access: false, refresh: true })
    for (const _ of [1, 2, 3]) expectDone(await revoke(tokens.refresh_token))
    expectDone(await revoke(tokens.access_token))
    expect(await standing(tokens)).toEqual(neither)
  })
})

describe('what is not there to be revoked is answered alike and changes nothing (RFC 7009 §2.2)', () => {
  test('expired tokens', async () => {
    const clock = stopClock()
    const tokens = await userTokens()
    clock.travel(3600)
    expectDone(await revoke(tokens.access_token))
    expect(await standing(tokens)).toEqual({ access: false, refresh: true })
    clock.travel(2_592_000)
    expectDone(await revoke(tokens.refresh_token))
  })
})
