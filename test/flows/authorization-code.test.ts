import { hashSecret } from '../../lib/keys/secrets.ts'
import { stopClock } from '../support/clock.ts'
import {
  authorizeUrl,
  callback,
  clients,
  type Host,
  issuer,
  pkce,
  secret,
  startHost,
} from '../support/host.ts'
import { locationOf, RawBrowser } from '../support/raw-browser.ts'
import {
  ada,
  answerOf,
  authorize,
  bob,
  codeFor,
  expectError,
  redeem,
  refresh,
  type TokenAnswer,
  tokensFor,
  userinfo,
} from '../support/tokens.ts'

let host: Host
beforeAll(async () => {
  host = await startHost({
    clients: [
      ...clients,
      { client_id: 'other', client_secret: secret, redirect_uris: [callback] },
      {
        client_id: 'two',
        client_secret: secret,
        redirect_uris: [callback, `${callback}/two`, `${callback}?organization=a%20b`],
      },
      { client_id: 'strict', client_secret: secret, redirect_uris: [callback], require_pkce: true },
      {
        client_id: 'once',
        client_secret: secret,
        redirect_uris: [callback],
        grant_types: ['authorization_code'],
      },
      { client_id: 'switched', client_secret: secret, redirect_uris: [callback] },
    ],
  })
})
afterAll(() => host.close())
afterEach(() => jest.restoreAllMocks())

const other = { client_id: 'other', client_secret: secret }
const table = (name: string) => host.database.knex(`${host.database.tablePrefix}${name}`)

/** Whether access and refresh token still work; asking uses the refresh token up. */
const areAlive = async (tokens: TokenAnswer): Promise<{ access: number; refresh: number }> => ({
  access: (await userinfo(host, tokens.access_token)).status,
  refresh: (await refresh(host, tokens.refresh_token)).status,
})
const alive = { access: 200, refresh: 200 }
const dead = { access: 401, refresh: 400 }

describe('login and consent', () => {
  test('a wrong password is asked again, then the consent page comes', async () => {
    const agent = new RawBrowser(host.app)
    const login = await agent.open(authorizeUrl({ client_id: 'other', scope: 'openid' }))
    const failed = await agent.signIn(login, bob.email, 'wrong')
    expect(failed.status).toBe(400)
    const consent = await agent.signIn(failed, bob.email, bob.password)
    expect({ status: consent.status, path: consent.url.pathname }).toEqual({
      status: 200,
      path: '/oauth/consent',
    })
  })

  test('Deny leads back with access_denied, the state and the issuer', async () => {
    const agent = new RawBrowser(host.app)
    const login = await agent.open(
      authorizeUrl({ client_id: 'other', scope: 'openid', state: 's', prompt: 'consent' }),
    )
    const location = locationOf(
      await agent.decide(await agent.signIn(login, ada.email, ada.password), 'deny'),
    )
    expect(Object.fromEntries(location.searchParams)).toEqual({
      error: 'access_denied',
      error_description: 'the user denied the request',
      state: 's',
      iss: issuer,
    })
  })

  test('a second visit asks for neither password nor consent', async () => {
    const agent = new RawBrowser(host.app)
    await authorize(host, { scope: 'openid' }, { agent })
    const again = await agent.open(authorizeUrl({ client_id: 'web', scope: 'openid' }))
    expect(locationOf(again).searchParams.get('code')).toMatch(/^lk_ac_/)
  })

  test('a query on the registered redirect URI is kept', async () => {
    const location = await authorize(host, {
      client_id: 'two',
      scope: 'openid',
      redirect_uri: `${callback}?organization=a%20b`,
    })
    expect(location.href).toMatch(/\/callback\?organization=a%20b&code=lk_ac_/)
  })

  test('a client with require_pkce must send a challenge', async () => {
    const location = locationOf(
      await new RawBrowser(host.app).open(authorizeUrl({ client_id: 'strict', scope: 'openid' })),
    )
    expect(location.searchParams.get('error')).toBe('invalid_request')
  })
})

describe('a code', () => {
  test('is another one each time', async () => {
    const agent = new RawBrowser(host.app)
    const codes = [await codeFor(host, {}, { agent }), await codeFor(host, {}, { agent })]
    expect(new Set(codes).size).toBe(2)
  })

  test('works once', async () => {
    const code = await codeFor(host)
    expect((await redeem(host, code)).status).toBe(200)
    expectError(await redeem(host, code), 400, 'invalid_grant')
    expectError(await redeem(host, code), 400, 'invalid_grant')
  })

  test('works for 59 seconds and not for 60', async () => {
    const clock = stopClock()
    const [early, late] = [await codeFor(host), await codeFor(host)]
    clock.travel(59)
    expect((await redeem(host, early)).status).toBe(200)
    clock.travel(1)
    expectError(await redeem(host, late), 400, 'invalid_grant')
  })

  test('is unknown when nobody issued it', async () => {
    expectError(await redeem(host, `lk_ac_${'A'.repeat(43)}`), 400, 'invalid_grant')
  })

  test.each(['x', 'lk_ac_', 'lk_ac_%', "' OR 1=1 --", 'a'.repeat(128)])('is not %p', async (code) => {
    expectError(await redeem(host, code), 400, 'invalid_grant')
  })

  test('is no other kind of secret', async () => {
    const tokens = await tokensFor(host)
    expectError(await redeem(host, tokens.refresh_token), 400, 'invalid_grant')
    expectError(await redeem(host, tokens.access_token), 400, 'invalid_grant')
    expect(await areAlive(tokens)).toEqual(alive)
  })

  test('gives no refresh token to a client that may not refresh', async () => {
    const tokens = await tokensFor(host, { client_id: 'once' }, { client_id: 'once' })
    expect(tokens).not.toHaveProperty('refresh_token')
    expect((await userinfo(host, tokens.access_token)).status).toBe(200)
  })
})

const verifier = 'v'.repeat(43)
const s256 = { code_challenge: pkce(verifier).challenge, code_challenge_method: 'S256' }

/** Requests that are wrong in one binding, each beside the fields that make it right again. */
const misuses: [string, Record<string, string>, Record<string, string | undefined>, number, string][] = [
  ['another client', {}, other, 400, 'invalid_grant'],
  ['a wrong secret', {}, { client_secret: 'w'.repeat(32) }, 401, 'invalid_client'],
  ['no secret', {}, { client_secret: undefined }, 401, 'invalid_client'],
  ['another redirect URI', {}, { redirect_uri: `${callback}/two` }, 400, 'invalid_grant'],
  ['a redirect URI in other letters', {}, { redirect_uri: callback.toUpperCase() }, 400, 'invalid_grant'],
  ['a redirect URI with a slash more', {}, { redirect_uri: `${callback}/` }, 400, 'invalid_grant'],
  ['no redirect URI', {}, { redirect_uri: undefined }, 400, 'invalid_request'],
  ['a verifier nobody asked for', {}, { code_verifier: verifier }, 400, 'invalid_grant'],
  ['no verifier', s256, { code_verifier: undefined }, 400, 'invalid_grant'],
  ['an empty verifier', s256, { code_verifier: '' }, 400, 'invalid_grant'],
  ['a wrong verifier', s256, { code_verifier: 'w'.repeat(43) }, 400, 'invalid_grant'],
  ['a malformed verifier', s256, { code_verifier: 'v'.repeat(42) }, 400, 'invalid_grant'],
  ['a duplicated verifier', s256, { code_verifier: `${verifier} ${verifier}` }, 400, 'invalid_grant'],
]

describe.each(misuses)('with %s', (_, parameters, fields, status, error) => {
  const right = parameters === s256 ? { code_verifier: verifier } : {}

  test('a code is refused and stays good for its owner', async () => {
    const code = await codeFor(host, parameters)
    expectError(await redeem(host, code, { ...right, ...fields }), status, error)
    expect((await redeem(host, code, right)).status).toBe(200)
  })

  test('the replay of a code does not touch what it was redeemed for', async () => {
    const code = await codeFor(host, parameters)
    const tokens = await answerOf(redeem(host, code, right))
    expectError(await redeem(host, code, { ...right, ...fields }), status, error)
    expect(await areAlive(tokens)).toEqual(alive)
  })
})

describe('a replay that is right in everything', () => {
  test('ends every token of the code', async () => {
    const code = await codeFor(host)
    const tokens = await answerOf(redeem(host, code))
    expectError(await redeem(host, code), 400, 'invalid_grant')
    expect(await areAlive(tokens)).toEqual(dead)
  })

  test('ends tokens that came of a refresh too', async () => {
    const code = await codeFor(host)
    const refreshed = await answerOf(refresh(host, (await answerOf(redeem(host, code))).refresh_token))
    expectError(await redeem(host, code), 400, 'invalid_grant')
    expect(await areAlive(refreshed)).toEqual(dead)
  })

  test('ends them when the code would have expired by then', async () => {
    const clock = stopClock()
    const code = await codeFor(host)
    const tokens = await answerOf(redeem(host, code))
    clock.travel(600)
    expectError(await redeem(host, code), 400, 'invalid_grant')
    expect(await areAlive(tokens)).toEqual(dead)
  })

  test('ends nothing of the same user and client that another code gave', async () => {
    const agent = new RawBrowser(host.app)
    const bystander = await tokensFor(host, {}, {}, { agent })
    const code = await codeFor(host, {}, { agent })
    await redeem(host, code)
    expectError(await redeem(host, code), 400, 'invalid_grant')
    expect(await areAlive(bystander)).toEqual(alive)
  })
})

test('the port of a loopback redirect URI may vary, yet must be the same at both ends', async () => {
  const fields = { client_id: 'native', client_secret: undefined, code_verifier: verifier }
  const redirect_uri = 'http://127.0.0.1:49152/callback'
  const code = await codeFor(host, { client_id: 'native', redirect_uri, ...s256 })
  for (const wrong of ['http://127.0.0.1:49153/callback', 'http://127.0.0.1/callback']) {
    expectError(await redeem(host, code, { ...fields, redirect_uri: wrong }), 400, 'invalid_grant')
  }
  expect((await redeem(host, code, { ...fields, redirect_uri })).status).toBe(200)
})

test('a plain challenge is not taken for an S256 one', async () => {
  const fields = { client_id: 'native', client_secret: undefined }
  const plain = { code_challenge: pkce(verifier).challenge, code_challenge_method: 'plain' }
  const code = await codeFor(host, { client_id: 'native', ...plain })
  expectError(await redeem(host, code, { ...fields, code_verifier: verifier }), 400, 'invalid_grant')
  expect((await redeem(host, code, { ...fields, code_verifier: plain.code_challenge })).status).toBe(200)
})

describe('between code and redemption', () => {
  test('a user who is disabled gets nothing, and their tokens rest', async () => {
    const users = () => host.database.knex(host.usersTable).where({ email: bob.email })
    const [code, tokens] = [await codeFor(host, {}, { as: bob }), await tokensFor(host, {}, {}, { as: bob })]
    await users().update({ disabled_at: 1 })
    const refused = await redeem(host, code)
    const rest = await userinfo(host, tokens.access_token)
    await users().update({ disabled_at: null })
    expectError(refused, 400, 'invalid_grant')
    expectError(rest, 401, 'invalid_token')
  })

  test('a client that is disabled gets nothing, and its tokens rest', async () => {
    const fields = { client_id: 'switched' }
    const [code, tokens] = [await codeFor(host, fields), await tokensFor(host, fields, fields)]
    await table('clients').where(fields).update({ disabled_at: 1 })
    expectError(await redeem(host, code, fields), 401, 'invalid_client')
    expectError(await refresh(host, tokens.refresh_token, fields), 401, 'invalid_client')
    expectError(await userinfo(host, tokens.access_token), 401, 'invalid_token')
    await table('clients').where(fields).update({ disabled_at: null })
    expect((await redeem(host, code, fields)).status).toBe(200)
  })

  test('the end of the login ends the code', async () => {
    const code = await codeFor(host)
    const { sid } = await table('authorizations')
      .where({ code_hash: hashSecret(code) })
      .first()
    await table('logins').where({ sid }).update({ ended_at: 1 })
    expectError(await redeem(host, code), 400, 'invalid_grant')
  })
})
