import supertest from 'supertest'
import { admin, registration } from '../../lib/features/index.ts'
import type { AuthEvent } from '../../lib/index.ts'
import { authorizeUrl, callback, type Host, pkce, startHost } from '../support/host.ts'
import { codeOf } from '../support/outcomes.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { answerOf, post, userinfo } from '../support/tokens.ts'

const account = '/oauth/account'
const asOperator = { 'x-admin': 'yes' }

let host: Host
const events: AuthEvent[] = []
beforeAll(async () => {
  host = await startHost({
    options: {
      features: [registration(), admin({ allow: ({ req }) => req.get('x-admin') ?? false })],
      limits: false,
    },
  })
  host.oauth.events.on('consent.removed', (event) => void events.push(event))
})
afterAll(() => host.close())

let browser: RawBrowser
beforeEach(async () => {
  events.length = 0
  for (const name of ['consents', 'authorizations', 'clients'])
    await host.table(name).where('client_id', 'like', '%-%').delete()
  browser = new RawBrowser(host.app, undefined, asOperator)
})

/** Registers a client that the user then allows something. */
const connect = async (members: object = {}, scope = 'openid') => {
  const metadata = { client_name: 'Notes', token_endpoint_auth_method: 'none', redirect_uris: [callback] }
  const { body } = await supertest(host.app)
    .post('/oauth/register')
    .send({ ...metadata, ...members })
    .expect(201)
  const { client_id, redirect_uris } = body
  const [redirect_uri = ''] = redirect_uris
  const { verifier: code_verifier, challenge: code_challenge } = pkce()
  const asked = { client_id, redirect_uri, scope, code_challenge, code_challenge_method: 'S256' }
  const code = codeOf(await browser.grant(authorizeUrl(asked)), { redirectUri: redirect_uri })
  const fields = { grant_type: 'authorization_code', redirect_uri, client_id, code_verifier }
  const { access_token } = await answerOf(post(host, { ...fields, code }))
  return { client_id: String(client_id), access_token }
}
const cardsOf = (html: string): string[] => html.match(/<details class="client"[\s\S]*?<\/details>/g) ?? []
const namesOf = (html: string): string[] =>
  cardsOf(html).map((card) => /<span class="name"><bdi>(.*?)<\/bdi>/.exec(card)?.[1] ?? '')

test('one client that registered three times is one line, and “Remove” removes all three (I5)', async () => {
  const all = [await connect(), await connect({}, 'openid email'), await connect()]
  const other = await connect({ client_name: 'Other' })
  const page = await browser.open(account)
  expect(namesOf(page.html).sort()).toEqual(['Notes', 'Other'])
  const [card = ''] = cardsOf(page.html).filter((each) => each.includes('<bdi>Notes</bdi>'))
  expect(card).toContain('email address')
  expect(card).toMatch(/<dd>3<\/dd>/)
  // Any of them names all.
  const removal = await browser.open(`${account}?client_id=${all[1]!.client_id}`)
  const done = await browser.submit(removal, 'name="client_id"')
  expect(namesOf(done.html)).toEqual(['Other'])
  for (const { access_token } of all) await userinfo(host, access_token).expect(401)
  await userinfo(host, other.access_token).expect(200)
  const consents = await host.table('consents').pluck('client_id')
  expect(consents).toEqual([other.client_id])
  const removed = all.map(({ client_id: clientId }) => expect.objectContaining({ clientId }))
  expect(events).toEqual(expect.arrayContaining(removed))
  expect(events).toHaveLength(3)
})

test('an app on the device is the same on every port (I5)', async () => {
  await connect({ application_type: 'native', redirect_uris: ['http://127.0.0.1:4000/callback'] })
  await connect({ application_type: 'native', redirect_uris: ['http://127.0.0.1:5000/callback'] })
  expect(namesOf((await browser.open(account)).html)).toEqual(['Notes'])
})

test.each<[string, object, object]>([
  ['other names', { client_name: 'Notes 2' }, {}],
  ['other hosts', { redirect_uris: ['https://other.example.com/callback'] }, {}],
  ['one host more', { redirect_uris: [callback, 'https://other.example.com/callback'] }, {}],
  ['no names', { client_name: undefined }, { client_name: undefined }],
])('clients with %s are not the same (I5)', async (_, one, another) => {
  await connect(one)
  await connect(another)
  expect(namesOf((await browser.open(account)).html)).toHaveLength(2)
})

test('a client of the host is itself, whatever its name (I5)', async () => {
  const adopted = await connect()
  await host.oauth.clients.update(adopted.client_id, { client_name: 'Notes' })
  await connect()
  expect(namesOf((await browser.open(account)).html)).toEqual(['Notes', 'Notes'])
})

test('an operator ends all of them too (I5)', async () => {
  const all = [await connect(), await connect()]
  const page = await browser.open('/oauth/admin/users?q=1')
  // The line has one of the ids; both clients may have been used in the same second.
  const shown = all.filter(({ client_id }) => page.html.includes(`value="${client_id}"`))
  expect(shown).toHaveLength(1)
  await browser.submit(page, `value="${shown[0]?.client_id}"`)
  for (const { access_token } of all) await userinfo(host, access_token).expect(401)
})
