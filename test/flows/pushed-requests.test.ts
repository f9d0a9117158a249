import { SignJWT } from 'jose'
import supertest from 'supertest'
import { pushedRequests } from '../../lib/features/index.ts'
import { texts } from '../../lib/features/pushed-requests/texts/index.ts'
import type { ClientSeed } from '../../lib/index.ts'
import { ar } from '../../lib/web/pages/i18n/locales/ar.ts'
import { de } from '../../lib/web/pages/i18n/locales/de.ts'
import { en } from '../../lib/web/pages/i18n/locales/en.ts'
import { es } from '../../lib/web/pages/i18n/locales/es.ts'
import { fr } from '../../lib/web/pages/i18n/locales/fr.ts'
import { ja } from '../../lib/web/pages/i18n/locales/ja.ts'
import { stopClock } from '../support/clock.ts'
import { authorizeUrl, callback, clients, type Host, pkce, secret, startHost } from '../support/host.ts'
import { codeOf, expectErrorPage, expectErrorRedirect, expectExpiredPage } from '../support/outcomes.ts'
import { type Answer, RawBrowser } from '../support/raw-browser.ts'
import { asserted, assertion, type ClientKey, createClientKey } from '../support/signing-client.ts'

const clock = stopClock()
type Fields = Readonly<Record<string, string>>

let key: ClientKey
let host: Host
beforeAll(async () => {
  key = await createClientKey('ES256', 'ES256')
  const keyed = { redirect_uris: [callback], jwks: { keys: [key.publicJwk] } as ClientSeed['jwks'] }
  host = await startHost({
    options: { protocol: { requestObjects: true }, features: [pushedRequests()] },
    clients: [
      ...clients,
      { ...keyed, client_id: 'keyed', token_endpoint_auth_method: 'private_key_jwt' },
      { ...keyed, client_id: 'flooding', token_endpoint_auth_method: 'none' },
      { ...keyed, client_id: 'strict', client_secret: secret, require_pushed_authorization_requests: true },
    ],
  })
})
afterAll(() => host.close())

const asked = { response_type: 'code', redirect_uri: callback, scope: 'openid', state: 's' }
const byForm = (client_id = 'web') => ({ client_id, client_secret: secret })
const post = (fields: Fields, authorization?: string) =>
  supertest(host.app)
    .post('/oauth/par')
    .set(authorization ? { authorization } : {})
    .type('form')
    .send({ ...asked, ...fields })
const pushed = async (fields: Fields = {}, client_id = 'web'): Promise<string> => {
  const { status, body } = await post({ ...byForm(client_id), ...fields })
  expect({ status, body }).toMatchObject({ status: 201, body: { expires_in: 60 } })
  return body.request_uri
}
const opening = (request_uri: string, client_id = 'web', more: Fields = {}): string =>
  `/oauth/authorize?${new URLSearchParams({ client_id, request_uri, ...more })}`
const browser = (): RawBrowser => new RawBrowser(host.app)
const isCode = ({ location }: Answer): boolean => location?.searchParams.has('code') === true

test('a pushed request leads to a code and tokens; the reference has the form of RFC 9126 §2.2', async () => {
  const uri = await pushed({ nonce: 'n' })
  expect(uri).toMatch(/^urn:ietf:params:oauth:request_uri:lk_ar_[\w-]{43}$/)
  const code = codeOf(
    await browser().grant(opening(uri, 'web', { redirect_uri: 'https://evil.example/', scope: 'email' })),
  )
  const form = { ...byForm(), grant_type: 'authorization_code', code, redirect_uri: callback }
  const { body } = await supertest(host.app).post('/oauth/token').type('form').send(form)
  expect(body).toMatchObject({ token_type: 'Bearer', scope: 'openid' })
})

const basic = `Basic ${Buffer.from(`web:${secret}`).toString('base64')}`
const { challenge } = pkce()
test.each<[string, () => Promise<[Fields, string?]>, string]>([
  ['Basic', async () => [{}, basic], 'web'],
  ['an assertion', async () => [asserted(await assertion('keyed', key))], 'keyed'],
  [
    'no secret, but PKCE',
    async () => [{ client_id: 'native', code_challenge: challenge, code_challenge_method: 'S256' }],
    'native',
  ],
])('a client authenticates with %s', async (_, credentials, client_id) => {
  const { body } = await post(...(await credentials()))
  codeOf(await browser().grant(opening(body.request_uri, client_id)))
})

test.each<[string, Fields, number, string]>([
  ['a wrong secret', { ...byForm(), client_secret: 'w'.repeat(43) }, 401, 'invalid_client'],
  ['a request_uri', { ...byForm(), request_uri: 'https://client.example.com/o' }, 400, 'invalid_request'],
  [
    'an unregistered redirect_uri',
    { ...byForm(), redirect_uri: `${callback}/other` },
    400,
    'invalid_request',
  ],
  ['no redirect_uri', { ...byForm(), redirect_uri: '' }, 400, 'invalid_request'],
  ['a scope it may not have', { ...byForm(), scope: 'admin' }, 400, 'invalid_scope'],
  ['a value that is too long', { ...byForm(), claims: 'c'.repeat(2049) }, 400, 'invalid_request'],
  ['a body that is too large', { ...byForm(), more: 'm'.repeat(65_536) }, 413, 'invalid_request'],
  ['the client_id of another', { client_id: 'native' }, 400, 'invalid_request'],
])('%s is refused as JSON', async (what, fields, status, error) => {
  const answer = await post(fields, what.startsWith('the client_id') ? basic : undefined)
  expect({ status: answer.status, error: answer.body.error }).toEqual({ status, error })
  expect(answer.headers.location).toBeUndefined()
})

test('a signed request object is pushed; only what it says counts', async () => {
  const inside = { ...asked, client_id: 'strict', state: 'signed', prompt: 'none' }
  const request = await new SignJWT(inside).setProtectedHeader({ alg: 'ES256' }).sign(key.privateKey)
  const { body } = await post({ ...byForm('strict'), request, max_age: 'wrong', state: 'outside' })
  const answer = await browser().get(opening(body.request_uri, 'strict'))
  expectErrorRedirect(answer, 'login_required', { state: 'signed' })
  const tampered = { ...byForm('strict'), request: `${request.slice(0, -9)}AAAAAAAAA` }
  expect((await post(tampered)).body.error).toBe('invalid_request_object')
})

describe('belongs to one browser and one code:', () => {
  test('the same browser may open it again, until it has led to a code', async () => {
    const [agent, uri] = [browser(), await pushed()]
    const page = await agent.open(opening(uri))
    for (const again of [page.url.href, opening(uri)])
      expect((await agent.open(again)).html).toContain('name="password"')
    expectExpiredPage(await agent.get(opening(uri, 'native')), 'expired')
    codeOf(await agent.grant(page.url.href))
    expectExpiredPage(await agent.get(opening(uri)), 'used')
    expectExpiredPage(await browser().get(opening(uri)), 'expired')
  })

  test('in a browser that needs no page, it is used at once', async () => {
    const agent = browser()
    codeOf(await agent.grant(opening(await pushed())))
    const uri = await pushed()
    codeOf(await agent.get(opening(uri)))
    expectExpiredPage(await agent.get(opening(uri)), 'used')
  })

  test('of browsers that open it at once, one gets it', async () => {
    const strangers = [browser(), browser(), browser()]
    const users = [browser(), browser(), browser()]
    for (const agent of users) codeOf(await agent.grant(authorizeUrl({ client_id: 'web', scope: 'openid' })))
    for (const agents of [users, strangers]) {
      const uri = await pushed()
      const answers = await Promise.all(agents.map((agent) => agent.get(opening(uri))))
      const refused = answers.filter(({ status }) => status !== 303)
      expect(refused).toHaveLength(2)
      for (const answer of refused) expectExpiredPage(answer, 'expired')
      expect(answers.filter(isCode)).toHaveLength(agents === users ? 1 : 0)
    }
  })

  test('one browser that opens it twice at once gets one code', async () => {
    const agent = browser()
    codeOf(await agent.grant(opening(await pushed())))
    const uri = await pushed()
    const answers = await Promise.all([1, 2, 3, 4].map(() => agent.get(opening(uri))))
    expect(answers.filter(isCode)).toHaveLength(1)
  })

  test('a HEAD request does not open it', async () => {
    const uri = await pushed()
    const { status, headers } = await browser().send('HEAD', opening(uri))
    expect({ status, cookie: headers['set-cookie'] }).toEqual({ status: 200, cookie: undefined })
    codeOf(await browser().grant(opening(uri)))
  })
})

const flipped = (uri: string): string => uri.slice(0, -2) + (uri.at(-2) === 'A' ? 'B' : 'A') + uri.at(-1)
test('a wrong reference ends on a page, and the request stays usable', async () => {
  const uri = await pushed()
  for (const wrong of [
    opening(uri, 'native'),
    opening(uri, ''),
    opening(flipped(uri)),
    opening('urn:ietf:params:oauth:request_uri:'),
    `${opening(uri)}&request_uri=x`,
  ])
    expectErrorPage(await browser().get(wrong), 400, /<h1>/)
  codeOf(await browser().grant(opening(uri)))
})

test('a request expires after expires_in, also in its browser, but an open page continues', async () => {
  const [agent, uri, never] = [browser(), await pushed(), await pushed()]
  const page = await agent.open(opening(uri))
  clock.travel(60)
  expectExpiredPage(await agent.get(opening(uri)), 'expired')
  expectExpiredPage(await browser().get(opening(never)), 'expired')
  codeOf(await agent.grant(page.url.href))
})

describe('a page about an ended pushed request names the error, and no time but its own,', () => {
  const languages = Object.keys(texts)
  const pageIn = (agent: RawBrowser, uri: string, language: string) =>
    agent.get(opening(uri), { 'accept-language': language })
  const expectNamed = (answer: Answer, language: string): void => {
    expectErrorPage(answer, 400)
    expect(answer.html).toContain(`<html lang="${language}"`)
    expect(answer.html).toContain('<code>invalid_request_uri</code>')
    for (const { texts } of [en, de, es, fr, ar, ja])
      expect(answer.html).not.toContain(texts['error.expired.client'].split(/[.。]/)[0])
  }

  test.each(languages)('once it was used, in %s (C4)', async (language) => {
    const [agent, uri] = [browser(), await pushed()]
    codeOf(await agent.grant(opening(uri)))
    const page = await pageIn(agent, uri, language)
    expectNamed(page, language)
    expect(page.html).toContain(texts[language]?.['error.pushed-finished.title'])
  })

  test.each(languages)('once it has expired, in %s (C4)', async (language) => {
    const [agent, uri, never] = [browser(), await pushed(), await pushed()]
    await agent.open(opening(uri))
    clock.travel(60)
    for (const page of [await pageIn(agent, uri, language), await pageIn(browser(), never, language)]) {
      expectNamed(page, language)
      expect(page.html).toContain(texts[language]?.['error.pushed-expired.what'])
    }
  })

  test.each(languages)('if it is unknown or another browser’s, in %s (C4)', async (language) => {
    const uri = await pushed()
    await browser().open(opening(uri))
    for (const wrong of [uri, flipped(uri)]) expectNamed(await pageIn(browser(), wrong, language), language)
  })
})

test('a page that waits for sign-in is still valid for an hour, and says so (C4)', async () => {
  const [agent, uri] = [browser(), await pushed()]
  const page = await agent.open(opening(uri))
  clock.travel(3600)
  expect((await agent.get(page.url.href)).html).toContain('Sign-ins are valid for an hour.')
})

test('a client gets no answer at a redirect URI that was removed meanwhile', async () => {
  const uri = await pushed({}, 'strict')
  await host.oauth.clients.update('strict', { redirect_uris: [`${callback}/new`] })
  const page = await browser().get(opening(uri, 'strict'))
  expectExpiredPage(page, 'expired')
  expect(page.html).toContain('<code>invalid_request_uri</code>')
  await host.oauth.clients.update('strict', { redirect_uris: [callback] })
})

test('opened by a form of the client, it comes again by GET and leads to its redirect URI', async () => {
  const agent = browser()
  const answer = await agent.post('/oauth/authorize', { client_id: 'web', request_uri: await pushed() })
  expect([answer.status, answer.location?.pathname]).toEqual([303, '/oauth/authorize'])
  codeOf(await agent.grant(answer.location?.href ?? ''))
})

test('prompt=login asks a user who is signed in, once', async () => {
  const agent = browser()
  codeOf(await agent.grant(authorizeUrl({ client_id: 'web', scope: 'openid' })))
  const page = await agent.open(opening(await pushed({ prompt: 'login' })))
  codeOf(await agent.signIn(page))
})

test('a client can have 1,000 unopened requests: expired ones and then the oldest are removed', async () => {
  const client_id = 'flooding'
  const table = () => host.table('pending_requests')
  const push = () => post({ client_id, code_challenge: challenge, code_challenge_method: 'S256' })
  const count = async () => (await table().where({ client_id })).length
  await push()
  const [row] = await table().where({ client_id })
  for (let more = 0; more < 1000; more += 100)
    await table().insert(Array.from({ length: 100 }, (_, n) => ({ ...row, id: `copy-${more + n}` })))
  clock.travel(1)
  const { body } = await push()
  expect(await count()).toBe(1000)
  codeOf(await browser().grant(opening(body.request_uri, client_id)))
  clock.travel(60)
  for (let time = 0; time < 10; time += 1) await push()
  expect(await count()).toBeLessThan(20)
})

describe('a request that must be pushed', () => {
  const required = /request_uri is required/
  const expectRequired = (answer: Answer): void => {
    expectErrorRedirect(answer, 'invalid_request', { state: 's' })
    expect(answer.location?.searchParams.get('error_description')).toMatch(required)
  }

  test('because of its client is refused otherwise', async () => {
    expectRequired(await browser().get(authorizeUrl({ client_id: 'strict', scope: 'openid', state: 's' })))
    codeOf(await browser().grant(opening(await pushed({}, 'strict'), 'strict')))
  })

  test('by the server: other requests are refused, and discovery publishes it', async () => {
    const strict = await startHost({ options: { features: [pushedRequests({ required: true })] } })
    const agent = new RawBrowser(strict.app)
    expectRequired(await agent.get(authorizeUrl({ client_id: 'web', scope: 'openid', state: 's' })))
    const { body } = await supertest(strict.app).get('/oauth/.well-known/openid-configuration')
    expect(body).toMatchObject({ require_pushed_authorization_requests: true })
    const form = { ...asked, ...byForm() }
    const { body: said } = await supertest(strict.app).post('/oauth/par').type('form').send(form)
    codeOf(await agent.grant(opening(said.request_uri)))
    await strict.close()
  })
})

test('a stranger cannot push out what a public client has pushed: one address has a quota (L8)', async () => {
  const flooding = {
    ...asked,
    client_id: 'flooding',
    code_challenge: challenge,
    code_challenge_method: 'S256',
  }
  const limited = await startHost({
    options: {
      features: [pushedRequests({ limits: { pushedRequest: { max: 2, seconds: 60 } } })],
    },
    clients: [
      ...clients,
      { client_id: 'flooding', redirect_uris: [callback], token_endpoint_auth_method: 'none' },
    ],
  })
  limited.app.set('trust proxy', 1)
  const push = async (address: string, fields: Fields = flooding): Promise<number> => {
    const sent = supertest(limited.app).post('/oauth/par').set('X-Forwarded-For', address)
    return (await sent.type('form').send(fields)).status
  }
  const statuses = [await push('192.0.2.1'), await push('192.0.2.1'), await push('192.0.2.1')]
  expect(statuses).toEqual([201, 201, 429])
  const kept = limited.table('pending_requests')
  expect(await kept).toHaveLength(2)
  expect(await push('192.0.2.2')).toBe(201)
  // A client with a secret pushes for all its users from one address.
  for (let times = 0; times < 3; times += 1)
    expect(await push('192.0.2.1', { ...asked, ...byForm() })).toBe(201)
  await limited.close()
})
