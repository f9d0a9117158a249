import { hash } from '@node-rs/bcrypt'
import supertest from 'supertest'
import { registration } from '../../lib/features/index.ts'
import { importedMark } from '../../lib/keys/secrets.ts'
import { serverBehind } from '../../lib/router.ts'
import { createDpopKey, type DpopKey, dpopProof } from '../support/dpop-client.ts'
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
import { codeOf, expectErrorRedirect, expectExpiredPage } from '../support/outcomes.ts'
import { type Answer, RawBrowser } from '../support/raw-browser.ts'
import {
  ada,
  answerOf,
  expectError,
  introspect,
  post,
  redeem,
  refresh,
  tokensFor,
  web,
} from '../support/tokens.ts'

// Something changes after a code, a token or a request was read, and before it is used. The host's function that finds
// the user is called in between; here it makes the change.

let host: Host
/** Makes the change when the host is next asked for a user, or about a registration. */
let meanwhile: (() => PromiseLike<unknown>) | undefined
const change = async (): Promise<void> => {
  const made = meanwhile
  meanwhile = undefined
  await made?.()
}
const kept = { client_id: 'kept', client_secret: secret }

beforeAll(async () => {
  const user = { id: 1, username: ada.email }
  host = await startHost({
    clients: [...clients, { ...kept, redirect_uris: [callback], refresh_token_rotation: false }],
    options: {
      protocol: { dpop: true },
      features: [registration({ allow: () => change().then(() => true) })],
      limits: false,
      users: {
        find: async (id) => {
          await change()
          return id === '1' ? user : undefined
        },
        authenticate: ({ password }) => (password === ada.password ? user : undefined),
      },
    },
  })
})
afterAll(() => host.close())

/** How many tokens and authorizations are stored. */
const stored = async (): Promise<number[]> => {
  const names = ['access_tokens', 'refresh_tokens', 'authorizations', 'consents', 'consent_receipts']
  const rows = await Promise.all(names.map((name) => host.table(name)))
  return rows.map(({ length }) => length)
}

const consentPage = async (browser: RawBrowser, parameters: Record<string, string>): Promise<Answer> => {
  const page = await browser.open(authorizeUrl({ client_id: 'web', prompt: 'consent', ...parameters }))
  return page.url.pathname.endsWith('/login') ? browser.signIn(page) : page
}

test('a code that another request redeems meanwhile ends every token', async () => {
  const code = codeOf(await new RawBrowser(host.app).grant(authorizeUrl({ client_id: 'web' })))
  const before = await stored()
  let first = ''
  meanwhile = async () => {
    first = (await answerOf(redeem(host, code))).access_token
  }
  expectError(await redeem(host, code), 400, 'invalid_grant')
  expect((await introspect(host, first)).body).toEqual({ active: false })
  const [tokens = 0, refreshTokens = 0, ...others] = before
  // Only those of the first request.
  expect(await stored()).toEqual([tokens + 1, refreshTokens + 1, ...others])
})

test('a code that is revoked meanwhile is not called redeemed (L20)', async () => {
  const code = codeOf(await new RawBrowser(host.app).grant(authorizeUrl({ client_id: 'web' })))
  const announced = jest.fn()
  host.oauth.events.on('authorization.revoked', announced)
  meanwhile = () => host.table('authorizations').update({ revoked_at: 1 })
  const answer = await redeem(host, code)
  expectError(answer, 400, 'invalid_grant')
  expect(answer.body.error_description).toBe('code is revoked')
  expect(announced).not.toHaveBeenCalled()
})

test.each([
  ['with rotation', web],
  ['without rotation', kept],
])('a refresh token %s that is used up meanwhile ends every token', async (_, client) => {
  const tokens = await tokensFor(host, { client_id: client.client_id }, client)
  const before = await stored()
  meanwhile = () => host.table('refresh_tokens').update({ consumed_at: 1 })
  expectError(await refresh(host, tokens.refresh_token, client), 400, 'invalid_grant')
  expect(await stored()).toEqual(before)
  expect((await introspect(host, tokens.access_token)).body).toEqual({ active: false })
})

test.each([
  ['with rotation', web],
  ['without rotation', kept],
])('a refresh token %s whose family is revoked meanwhile gets no tokens', async (_, client) => {
  const tokens = await tokensFor(host, { client_id: client.client_id }, client)
  const before = await stored()
  meanwhile = () => host.table('authorizations').update({ revoked_at: 1 })
  expectError(await refresh(host, tokens.refresh_token, client), 400, 'invalid_grant')
  expect(await stored()).toEqual(before)
})

test('a refresh token that another key uses meanwhile ends, with what that key got', async () => {
  const { verifier, challenge } = pkce()
  const native = { client_id: 'native', client_secret: undefined }
  const asked = { client_id: 'native', code_challenge: challenge, code_challenge_method: 'S256' }
  const { refresh_token } = await tokensFor(host, asked, { ...native, code_verifier: verifier })
  const [first, second] = [await createDpopKey(), await createDpopKey()]
  const by = async (key: DpopKey, token = refresh_token) =>
    refresh(host, token, native).set('DPoP', await dpopProof(key, 'POST', `${issuer}/token`))
  let winner: supertest.Response | undefined
  meanwhile = async () => {
    winner = await by(first)
  }
  expectError(await by(second), 400, 'invalid_grant')
  expect(winner?.status).toBe(200)
  expectError(await by(first, winner?.body.refresh_token), 400, 'invalid_grant')
})

test('a repeat whose successor is used meanwhile ends the family', async () => {
  const { refresh_token } = await tokensFor(host)
  const next = await answerOf(refresh(host, refresh_token))
  let last: string | undefined
  meanwhile = async () => {
    last = (await answerOf(refresh(host, next.refresh_token))).refresh_token
  }
  expectError(await refresh(host, refresh_token), 400, 'invalid_grant')
  expectError(await refresh(host, String(last)), 400, 'invalid_grant')
})

test('a request that was answered meanwhile is finished', async () => {
  const browser = new RawBrowser(host.app)
  const page = await consentPage(browser, {})
  const before = await stored()
  meanwhile = () => host.table('pending_requests').update({ consumed_at: 1 })
  expectExpiredPage(await browser.decide(page, 'allow'), 'finished')
  expect(await stored()).toEqual(before)
})

test('a client that registered itself and was removed meanwhile gets no code', async () => {
  const metadata = { token_endpoint_auth_method: 'none', redirect_uris: [callback], client_name: 'Notes' }
  const { body } = await supertest(host.app).post('/oauth/register').send(metadata).expect(201)
  const { client_id } = body
  const browser = new RawBrowser(host.app)
  const asked = { client_id, code_challenge: pkce().challenge, code_challenge_method: 'S256' }
  const page = await consentPage(browser, asked)
  const before = await stored()
  meanwhile = () => host.table('client_registrations').where({ client_id }).delete()
  expectExpiredPage(await browser.decide(page, 'allow'), 'expired')
  expect(await stored()).toEqual(before)
})

test('a client that is disabled while the host decides about its change stays as it was', async () => {
  const metadata = { token_endpoint_auth_method: 'none', redirect_uris: [callback], client_name: 'Notes' }
  const { body } = await supertest(host.app).post('/oauth/register').send(metadata).expect(201)
  const { client_id, registration_access_token: token } = body
  meanwhile = () => host.oauth.clients.disable(client_id)
  const path = new URL(body.registration_client_uri).pathname
  const changed = { ...metadata, client_id, client_name: 'Another name' }
  await supertest(host.app).put(path).set('Authorization', `Bearer ${token}`).send(changed).expect(401)
  expect(await host.oauth.clients.get(client_id)).toMatchObject({ client_name: 'Notes' })
})

test('with offline_access a login that ended meanwhile grants nothing; the user signs in again', async () => {
  const browser = new RawBrowser(host.app)
  const page = await consentPage(browser, { scope: 'openid offline_access' })
  const before = await stored()
  meanwhile = () => host.table('logins').whereNull('ended_at').update({ ended_at: 1 })
  const answer = await browser.decide(page, 'allow')
  expect([answer.status, answer.url.pathname]).toEqual([200, '/oauth/login'])
  expect(await stored()).toEqual(before)
})

test('a request without a page whose login ends meanwhile leads to the sign-in, and goes on from there', async () => {
  const browser = new RawBrowser(host.app)
  const url = authorizeUrl({ client_id: 'web', scope: 'openid offline_access' })
  codeOf(await browser.grant(url))
  const [tokens, refreshTokens, authorizations] = await stored()
  const endLogins = () => host.table('logins').whereNull('ended_at').update({ ended_at: 1 })
  meanwhile = endLogins
  const page = await browser.open(url)
  expect([page.status, page.url.pathname]).toEqual([200, '/oauth/login'])
  expect((await stored()).slice(0, 3)).toEqual([tokens, refreshTokens, authorizations])
  codeOf(await browser.signIn(page))

  meanwhile = endLogins
  expectErrorRedirect(await browser.get(`${url}&prompt=none`), 'login_required')
})

test('a consent that is removed meanwhile gives no code', async () => {
  const browser = new RawBrowser(host.app)
  codeOf(await browser.grant(authorizeUrl({ client_id: 'web' })))
  const [tokens, refreshTokens, authorizations, , receipts] = await stored()
  meanwhile = () => host.table('consents').delete()
  expectErrorRedirect(await browser.get(authorizeUrl({ client_id: 'web' })), 'access_denied')
  expect(await stored()).toEqual([tokens, refreshTokens, authorizations, 0, receipts])
})

test('what was allowed before does not come back with a new Allow after it was removed meanwhile', async () => {
  await host.table('consents').delete()
  const browser = new RawBrowser(host.app)
  codeOf(await browser.grant(authorizeUrl({ client_id: 'web', scope: 'openid email' })))
  const allowed = async () => (await host.table('consents')).map(({ scopes }) => scopes)
  expect(await allowed()).toEqual(['openid email'])
  const page = await consentPage(browser, { scope: 'openid notes:read' })
  meanwhile = () => host.table('consents').delete()
  codeOf(await browser.decide(page, 'allow'))
  expect(await allowed()).toEqual(['openid notes:read'])
  // Without a removal, it stays.
  codeOf(await browser.decide(await consentPage(browser, { scope: 'openid email' }), 'allow'))
  expect((await allowed())[0]?.split(' ').sort()).toEqual(['email', 'notes:read', 'openid'])
})

test('an imported secret that is withdrawn while its slow hash is checked is refused', async () => {
  const client_id = 'imported'
  const slow = await hash('the secret of the other server', { cost: 4 })
  const password = { client_id, client_secret: 'the secret of the other server' }
  await host.oauth.clients.create({ client_id, client_secret: secret, grant_types: ['client_credentials'] })
  await host
    .table('clients')
    .where({ client_id })
    .update({ secret_hash: importedMark(slow) })
  await host.table('imported_secrets').insert({ client_id, hash: slow })
  const { passwords } = serverBehind(host.oauth)!
  const { verifySecret } = passwords
  let next = ''
  jest.spyOn(passwords, 'verifySecret').mockImplementation(async (...checked) => {
    const isRight = await verifySecret(...checked)
    next = (await host.oauth.clients.rotateSecret(client_id, { keepPreviousFor: 0 })).client_secret ?? ''
    return isRight
  })
  const asked = { grant_type: 'client_credentials' }
  expectError(await post(host, { ...asked, ...password }), 401, 'invalid_client')
  jest.restoreAllMocks()
  expect((await post(host, { ...asked, ...password, client_secret: next })).status).toBe(200)
})

test('an imported secret in whose place another is imported meanwhile is refused, and that one works', async () => {
  const client_id = 'imported-again'
  const [first = '', second = ''] = await Promise.all(
    [secret, 'another secret of the client'].map((each) => hash(each, { cost: 4 })),
  )
  await host.oauth.clients.create({ client_id, client_secret: secret, grant_types: ['client_credentials'] })
  const put = async (hashed: string): Promise<void> => {
    await host
      .table('clients')
      .where({ client_id })
      .update({ secret_hash: importedMark(hashed) })
    await host.table('imported_secrets').where({ client_id }).delete()
    await host.table('imported_secrets').insert({ client_id, hash: hashed })
  }
  await put(first)
  const { passwords } = serverBehind(host.oauth)!
  const { verifySecret } = passwords
  jest.spyOn(passwords, 'verifySecret').mockImplementation(async (...checked) => {
    const isRight = await verifySecret(...checked)
    await put(second)
    return isRight
  })
  const asked = { grant_type: 'client_credentials', client_id }
  expectError(await post(host, { ...asked, client_secret: secret }), 401, 'invalid_client')
  jest.restoreAllMocks()
  const answer = await post(host, { ...asked, client_secret: 'another secret of the client' })
  expect(answer.status).toBe(200)
})
