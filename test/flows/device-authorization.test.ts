import { decodeJwt } from 'jose'
import supertest from 'supertest'
import { defineFeature } from '../../lib/features/feature.ts'
import { device } from '../../lib/features/index.ts'
import { type AuthEvent, OAuthError } from '../../lib/index.ts'
import { hashSecret } from '../../lib/keys/secrets.ts'
import type { Grant } from '../../lib/oauth/grants/grant.ts'
import { findClientAndCode } from '../../lib/storage/repositories/index.ts'
import { stopClock } from '../support/clock.ts'
import {
  askForCodes,
  codesFor,
  connect,
  deviceClients,
  deviceGrant,
  openCode,
  poll,
  typeCode,
} from '../support/device.ts'
import { clients, type Host, issuer, secret, startHost } from '../support/host.ts'
import { expectExpiredPage } from '../support/outcomes.ts'
import { type Answer, fieldsOf, RawBrowser, textOf } from '../support/raw-browser.ts'
import { countStatements } from '../support/statement-count.ts'
import { answerOf, bob, codeFor, expectError, guarded, refresh, userinfo } from '../support/tokens.ts'

let host: Host
/** Ada's browser. */
let ada: RawBrowser
const events: AuthEvent[] = []
beforeAll(async () => {
  host = await startHost({
    clients: [...clients, ...deviceClients],
    options: { features: [device()] },
  })
  host.oauth.events.on('*', (event) => events.push(event))
  ada = new RawBrowser(host.app)
})
afterAll(() => host.close())
afterEach(() => jest.restoreAllMocks())

const browser = () => new RawBrowser(host.app)
const headingOf = ({ html }: Answer): string =>
  (/<h1[^>]*>(.*?)<\/h1>/s.exec(html)?.[1] ?? '').replace(/<[^>]+>/g, '').trim()
const connected = 'Your device is connected'
const denied = 'Your device is not connected'

test('a device shows a code, its user allows it in a browser, and the device gets its tokens', async () => {
  const codes = await codesFor(host, { scope: 'openid profile offline_access notes:read' })
  expect(codes).toEqual({
    device_code: expect.stringMatching(/^lk_dc_[\w-]{43}$/),
    user_code: expect.stringMatching(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/),
    verification_uri: `${issuer}/device`,
    verification_uri_complete: `${issuer}/device?user_code=${codes.user_code}`,
    expires_in: 600,
    interval: 5,
  })
  expectError(await poll(host, codes), 400, 'authorization_pending')

  const agent = browser()
  const signIn = await typeCode(agent, codes.user_code.toLowerCase().replace('-', ' '))
  expect(textOf(signIn)).toContain('to continue to Television')
  const confirm = await agent.signIn(signIn)
  expect(headingOf(confirm)).toBe('Is this your device?')
  for (const said of ['Television', codes.user_code, 'ada@example.com', 'Your network'])
    expect(textOf(confirm)).toContain(said)
  const consent = await agent.decide(confirm, 'allow')
  expect(textOf(consent)).toContain('Read your notes')
  expect(textOf(consent)).toContain('Then go back to your device')
  expect(headingOf(await agent.decide(consent, 'allow'))).toBe(connected)

  const tokens = await answerOf(poll(host, codes))
  expect(tokens.scope).toBe('openid profile offline_access notes:read')
  expect(decodeJwt(tokens.id_token)).toMatchObject({ iss: issuer, aud: 'tv', sub: '1' })
  expect((await guarded(host, tokens.access_token)).body).toEqual({ subject: '1' })
  const renewed = await answerOf(
    refresh(host, tokens.refresh_token, { client_id: 'tv', client_secret: undefined }),
  )
  expect((await userinfo(host, renewed.access_token)).body).toMatchObject({ sub: '1', name: 'Ada Lovelace' })
  expect(textOf(await agent.open('/oauth/account'))).toContain('Television')

  const about = { clientId: 'tv', subject: '1', authorizationId: expect.any(String) }
  expect(events.filter(({ type }) => /^device|^tokens/.test(type))).toMatchObject([
    { type: 'device.requested', clientId: 'tv' },
    { type: 'device.authorized', ...about, deviceAddress: '127.0.0.1' },
    { type: 'tokens.issued', ...about, grantType: deviceGrant },
    { type: 'tokens.issued', ...about, grantType: 'refresh_token' },
  ])
})

test('the link of a QR code fills the code in, and the user must still confirm', async () => {
  const { user_code, verification_uri_complete } = await codesFor(host)
  const agent = browser()
  const form = await agent.open(verification_uri_complete.replace('http://localhost:3000', ''))
  expect(form.html).toContain(`value="${user_code}"`)
  const signIn = await agent.submit(form, 'name="user_code"')
  expect(headingOf(await agent.signIn(signIn))).toBe('Is this your device?')
})

test.each(['/oauth/device', '/oauth/consent'])('a user who says no at %s ends the polling', async (path) => {
  const codes = await codesFor(host)
  let page = await openCode(ada, codes.user_code)
  if (path === '/oauth/consent') page = await ada.decide(page, 'allow')
  expect(page.url.pathname).toBe(path)
  expect(headingOf(await ada.decide(page, 'deny'))).toBe(denied)
  expectError(await poll(host, codes), 400, 'access_denied')
  expect(events.at(-2)).toMatchObject({ type: 'device.denied', clientId: 'tv' })
})

test('a client that keeps a secret is confirmed each time, but asked for consent once', async () => {
  const box = { client_id: 'box', client_secret: secret }
  const [first, second] = [await codesFor(host, box), await codesFor(host, box)]
  const consent = await ada.decide(await openCode(ada, first.user_code), 'allow')
  expect(consent.url.pathname).toBe('/oauth/consent')
  expect(headingOf(await ada.decide(consent, 'allow'))).toBe(connected)
  const confirm = await openCode(ada, second.user_code)
  expect(headingOf(confirm)).toBe('Is this your device?')
  expect(headingOf(await ada.decide(confirm, 'allow'))).toBe(connected)
  for (const codes of [first, second]) await answerOf(poll(host, codes, box))
})

test('another user who signs in is asked again whether the device is theirs', async () => {
  const codes = await codesFor(host)
  const agent = browser()
  const consent = await agent.decide(await openCode(agent, codes.user_code), 'allow')
  const signIn = await agent.decide(consent, 'switch')
  const confirm = await agent.signIn(signIn, bob.email, bob.password)
  expect(textOf(confirm)).toContain('bob@example.com')
  await agent.decide(await agent.decide(confirm, 'allow'), 'allow')
  expect(decodeJwt((await answerOf(poll(host, codes))).id_token).sub).toBe('2')
})

test('the page that asks for an account does not answer the question of the device (L4)', async () => {
  const agent = browser()
  const confirm = await openCode(agent, (await codesFor(host)).user_code)
  const named = `authorization_request=${fieldsOf(confirm, 'value="allow"').authorization_request}`
  expect(headingOf(await agent.open(`/oauth/select-account?${named}`))).toBe('Is this your device?')
})

describe('polling', () => {
  test('too early is slow_down, and each time adds five seconds', async () => {
    const clock = stopClock()
    const codes = await codesFor(host)
    const polls: [wait: number, error: string][] = [
      [0, 'authorization_pending'],
      [5, 'authorization_pending'],
      [3, 'slow_down'],
      [9, 'authorization_pending'],
      [5, 'slow_down'],
      [13, 'slow_down'],
      [20, 'authorization_pending'],
    ]
    for (const [wait, error] of polls) {
      clock.travel(wait)
      expectError(await poll(host, codes), 400, error)
    }
  })

  test('twice in a second is slow_down with any interval (L9)', async () => {
    const options = { features: [device({ interval: 1 })] }
    const hasty = await startHost({ clients: [...clients, ...deviceClients], options })
    const clock = stopClock()
    const codes = await codesFor(hasty)
    const polls: [wait: number, error: string][] = [
      [0, 'authorization_pending'],
      [1, 'authorization_pending'],
      [0, 'slow_down'],
      [4, 'slow_down'],
    ]
    for (const [wait, error] of polls) {
      clock.travel(wait)
      expectError(await poll(hasty, codes), 400, error)
    }
    await hasty.close()
  })

  test('an expired code is expired_token, and no longer accepted in the browser', async () => {
    const clock = stopClock()
    const codes = await codesFor(host)
    const confirm = await openCode(ada, codes.user_code)
    clock.travel(600)
    expectError(await poll(host, codes), 400, 'expired_token')
    expectExpiredPage(await ada.decide(confirm, 'allow'), 'expired')
    expect(textOf(await typeCode(ada, codes.user_code))).toContain('This code is wrong or has expired')
    expectError(await poll(host, codes), 400, 'expired_token')
  })

  test('an allowed code can be redeemed until it expires, and at least for a minute', async () => {
    const clock = stopClock()
    const [early, late, latest] = [await codesFor(host), await codesFor(host), await codesFor(host)]
    await connect(ada, early.user_code)
    clock.travel(599)
    await answerOf(poll(host, early))
    for (const { user_code } of [late, latest]) await connect(ada, user_code)
    clock.travel(59)
    await answerOf(poll(host, late))
    clock.travel(1)
    expectError(await poll(host, latest), 400, 'expired_token')
  })

  test('a second use of the code revokes what the first one issued', async () => {
    const codes = await codesFor(host)
    await connect(ada, codes.user_code)
    const tokens = await answerOf(poll(host, codes))
    expect((await guarded(host, tokens.access_token)).status).toBe(200)
    expectError(await poll(host, codes), 400, 'invalid_grant')
    expect((await guarded(host, tokens.access_token)).status).toBe(401)
    expect(events.at(-2)).toMatchObject({ type: 'authorization.revoked', reason: 'device_code_replayed' })
  })

  test.each([
    ['another client', { client_id: 'box', client_secret: secret }, 'invalid_grant'],
    ['a client without the grant', { client_id: 'native' }, 'unauthorized_client'],
    ['an unknown code', { device_code: `lk_dc_${'x'.repeat(43)}` }, 'invalid_grant'],
    ['no code', { device_code: undefined }, 'invalid_request'],
  ])('by %s is refused', async (_, fields, error) => {
    expectError(await poll(host, await codesFor(host), fields), 400, error)
  })

  test('after the user was disabled is refused', async () => {
    const codes = await codesFor(host)
    await connect(browser(), codes.user_code, bob)
    await host.database.knex(host.usersTable).where({ id: 2 }).update({ disabled_at: 1 })
    expectError(await poll(host, codes), 400, 'invalid_grant')
    await host.database.knex(host.usersTable).where({ id: 2 }).update({ disabled_at: null })
  })
})

describe('/device_authorization', () => {
  test.each([
    ['an unknown client', { client_id: 'nothing' }, 401, 'invalid_client'],
    ['a wrong secret', { client_id: 'box', client_secret: 'wrong' }, 401, 'invalid_client'],
    ['a client without the grant', { client_id: 'native' }, 400, 'unauthorized_client'],
    ['a scope that the client lacks', { scope: 'notes:write' }, 400, 'invalid_scope'],
    ['prompt=none', { prompt: 'none' }, 400, 'invalid_request'],
  ])('refuses %s', async (_, fields, status, error) => {
    expectError(await askForCodes(host, fields), status, error)
  })

  test('stores neither code', async () => {
    const codes = await codesFor(host)
    await openCode(ada, codes.user_code)
    const tables = ['device_codes', 'pending_requests'].map((name) => host.table(name))
    const stored = JSON.stringify(await Promise.all(tables))
    expect(stored).toContain('"tv"')
    for (const secretValue of [codes.device_code, codes.user_code, codes.user_code.replace('-', '')])
      expect(stored).not.toContain(secretValue)
  })

  test('is in the metadata only if it is on, and answers only then', async () => {
    const url = '/.well-known/oauth-authorization-server/oauth'
    const { body } = await supertest(host.app).get(url)
    expect(body.device_authorization_endpoint).toBe(`${issuer}/device_authorization`)
    expect(body.grant_types_supported).toContain(deviceGrant)
    const off = await startHost({ clients: deviceClients })
    const metadata = (await supertest(off.app).get(url)).body
    expect(metadata.device_authorization_endpoint).toBeUndefined()
    expect(metadata.grant_types_supported).not.toContain(deviceGrant)
    expect((await askForCodes(off)).status).toBe(404)
    expect((await supertest(off.app).get('/oauth/device')).status).toBe(404)
    expectError(await poll(off, { device_code: 'x' }), 400, 'unsupported_grant_type')
    await off.close()
  })
})

describe('a device may ask for what an authorization request may ask for', () => {
  const api = 'https://notes.example/api'
  let other: Host
  beforeAll(async () => {
    other = await startHost({
      clients: [...clients, ...deviceClients],
      options: {
        features: [device({ verificationUri: 'https://example.com/tv', lifetime: 120 })],
        resources: { [api]: { scopes: ['notes:read'], accessToken: 'jwt' } },
        organizations: () => ['initech', 'globex'].map((id) => ({ id, name: id })),
      },
    })
  })
  afterAll(() => other.close())

  test('a resource, and an organization that the user chooses', async () => {
    const codes = await codesFor(other, { resource: api })
    const agent = new RawBrowser(other.app)
    const list = await agent.decide(await openCode(agent, codes.user_code), 'allow')
    const consent = await agent.submit(list, 'name="organization"', { organization: 'globex' })
    expect(headingOf(await agent.decide(consent, 'allow'))).toBe(connected)
    const { access_token, id_token } = await answerOf(poll(other, codes))
    const claims = { aud: api, client_id: 'tv', scope: 'openid notes:read', org_id: 'globex' }
    expect(decodeJwt(access_token)).toMatchObject(claims)
    expect(decodeJwt(id_token)).toMatchObject({ aud: 'tv', org_id: 'globex' })
  })

  test('a new login; the choice of an account is part of the question', async () => {
    const agent = new RawBrowser(other.app)
    await openCode(agent, (await codesFor(other)).user_code)
    for (const [prompt, path] of Object.entries({ login: '/oauth/login', select_account: '/oauth/device' })) {
      const { user_code } = await codesFor(other, { prompt })
      expect((await typeCode(agent, user_code)).url.pathname).toBe(path)
    }
  })

  test('the host chooses the address that the device shows, and how long the code is valid', async () => {
    const codes = await codesFor(other)
    expect(codes).toMatchObject({
      verification_uri: 'https://example.com/tv',
      expires_in: 120,
      verification_uri_complete: `https://example.com/tv?user_code=${codes.user_code}`,
    })
  })
})

test('a grant of a feature gets what is presented, read with the client in one statement', async () => {
  const presented: unknown[] = []
  const grant: Grant = {
    grantType: deviceGrant,
    findPresented: (database, parameters, lookup) =>
      findClientAndCode(database, { ...lookup, codeHash: hashSecret(parameters.first('device_code') ?? '') }),
    async exchange(_server, _client, _request, { authorization }) {
      presented.push(authorization?.subject)
      throw new OAuthError('authorization_pending', 'read')
    },
  }
  const activate = () => ({ oauth: { grants: [grant] } })
  const reading = defineFeature(
    { name: 'reading' },
    { name: 'reading', members: {}, complete: () => {}, activate },
  )
  const own = await startHost({
    clients: [...clients, ...deviceClients],
    // The first grant of a name is the one that is used.
    options: { features: [reading(), device()] },
  })
  const code = await codeFor(own)
  const count = await countStatements(own.database.knex, [own.usersTable])
  count.reset()
  expectError(await poll(own, { device_code: code }), 400, 'authorization_pending')
  expect(presented).toEqual(['1'])
  expect(count.ours).toHaveLength(1)
  await own.close()
})

test('the browser may go from the form to the host’s login page, and returns to the question', async () => {
  const own = await startHost({
    clients: deviceClients,
    options: {
      features: [device()],
      login: {
        url: 'https://accounts.example.com/sign-in',
        current: ({ req: { headers } }) => headers.cookie?.includes('host_user=1') && { subject: 1 },
      },
    },
  })
  const codes = await codesFor(own)
  const agent = new RawBrowser(own.app)
  const form = await agent.open('/oauth/device')
  expect(form.headers['content-security-policy']).toContain("form-action 'self' https:")
  const away = await agent.submit(form, 'user_code', { user_code: codes.user_code })
  expect(away.location?.origin).toBe('https://accounts.example.com')
  agent.cookies.set('host_user', '1')
  const back = await agent.get(away.location?.searchParams.get('return_to') ?? '')
  const [, next = ''] = /url=([^"]+)"/.exec(back.html) ?? []
  expect(headingOf(await agent.open(next.replaceAll('&amp;', '&')))).toBe('Is this your device?')
  await own.close()
})
