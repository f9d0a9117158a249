import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import supertest from 'supertest'
import { device } from '../../lib/features/index.ts'
import { type AuthRouterOptions, authRouter, OAuthError } from '../../lib/index.ts'
import { actingAs } from '../../lib/tools/testing/index.ts'
import { codesFor, connect, deviceClients, poll } from '../support/device.ts'
import { authorizeUrl, callback, clients, type Host, secret, startHost } from '../support/host.ts'
import { claimsOf, codeOf, expectErrorRedirect } from '../support/outcomes.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { introspectAs } from '../support/resource-host.ts'
import { assertion, type ClientKey, createClientKey } from '../support/signing-client.ts'
import { answerOf, expectError, guarded, post, redeem, refresh, web } from '../support/tokens.ts'

const bank = 'https://bank.example/api'
const payment = { type: 'payment', amount: '12.50', to: { name: 'Shop', iban: 'DE02' } }
const account = { type: 'account', actions: ['list', 'read'], identifier: 'A-1' }
const types = ['payment', 'account', 'ledger', 'order']
const scope = 'openid notes:read offline_access'

const options: Partial<AuthRouterOptions> = {
  protocol: {
    requestObjects: true,
    authorizationDetails: {
      payment: {
        description: 'Make a payment',
        locales: { de: { description: 'Eine Zahlung ausführen' } },
        parse: (detail) => {
          if (typeof detail.amount === 'string') return { ...detail, currency: 'EUR' }
          throw new OAuthError('invalid_authorization_details', 'authorization_details: amount is required')
        },
        describe: ({ amount, to }, { language }) => [
          { label: language === 'de' ? 'Betrag' : 'Amount', value: `${amount} EUR` },
          { label: 'To', value: String((to as { name?: unknown } | undefined)?.name) },
        ],
      },
      account: { description: 'See your account', remember: true },
      ledger: { description: 'See the ledger', remember: true, resource: bank },
      order: {
        description: 'Order something',
        describe: ({ heading, button, fields = [] }) =>
          ({ heading, button, fields }) as { heading?: string; button?: string; fields: [] },
      },
    },
  },
  features: [device()],
  resources: {
    [bank]: { scopes: ['notes:read'], accessToken: 'jwt', introspection: ['bank-api'] },
  },
}

let host: Host
let key: ClientKey
/** A browser in which Ada has signed in. */
let agent: RawBrowser
beforeAll(async () => {
  key = await createClientKey('ES256', 'one')
  host = await startHost({
    options,
    clients: [
      { ...clients[0]!, scope, authorization_details_types: types },
      {
        client_id: 'ours',
        client_secret: secret,
        redirect_uris: [callback],
        scope,
        first_party: true,
        authorization_details_types: types,
      },
      { ...clients[0]!, client_id: 'plain', scope },
      { ...deviceClients[0]!, authorization_details_types: types },
      {
        ...clients[0]!,
        client_id: 'signer',
        authorization_details_types: types,
        jwks: { keys: [key.publicJwk as never] },
      },
      { client_id: 'bank-api', client_secret: secret, grant_types: [] },
    ],
  })
  const guard = host.oauth.requireToken('notes:read', { authorizationDetails: 'payment' })
  host.app.get('/pay', guard, (req, res) => void res.json(req.auth.authorizationDetails))
  const any = host.oauth.requireToken('notes:read', { resource: bank })
  host.app.get('/bank', any, (req, res) => void res.json(req.auth.authorizationDetails ?? null))
  agent = new RawBrowser(host.app)
  await agent.signIn(await agent.open('/oauth/account'))
})
afterAll(() => host.close())
beforeEach(async () => {
  for (const name of ['consents', 'authorizations']) await host.table(name).delete()
})

const asked = (details: unknown, fields: Record<string, string> = {}): string =>
  authorizeUrl({
    client_id: 'web',
    scope,
    ...fields,
    authorization_details: typeof details === 'string' ? details : JSON.stringify(details),
  })
const granted = async (details: unknown, fields: Record<string, string> = {}): Promise<string> =>
  codeOf(await agent.grant(asked(details, fields)))
const textOf = (html: string): string => html.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ')
const enriched = { ...payment, currency: 'EUR' }

test('the consent page shows each object in the words of its type, in the language of the page', async () => {
  const page = await agent.open(asked([payment, account]))
  expect(textOf(page.html)).toContain(
    'Make a payment Amount 12.50 EUR To Shop See your account Actions list, read Account A-1',
  )
  const german = await agent.open(asked([payment], { ui_locales: 'de' }))
  expect(textOf(german.html)).toContain('Eine Zahlung ausführen Betrag 12.50 EUR')
})

const buttonOf = (html: string): string | undefined =>
  /<button type="submit" name="decision" value="allow"[^>]*>(.*?)<\/button>/.exec(html)?.[1]

// A long button, and the buttons of two objects, say Allow.
test('an object may set its heading and a short button, and the receipt keeps both', async () => {
  const order = { type: 'order', heading: 'Order <b>one</b> lamp', button: 'Pay €12.50 to <b>Shop</b>' }
  const page = await agent.open(asked([order]))
  const said = textOf(page.html)
  expect(page.html).toMatch(/<h1[^>]*>[\s\S]*<bdi>Order &lt;b&gt;one&lt;\/b&gt; lamp<\/bdi><\/span><\/h1>/)
  expect(page.html.match(/Order &lt;b&gt;one&lt;\/b&gt; lamp/g)).toHaveLength(2)
  expect(said).toContain('for Web client · client.example.com')
  expect(said).not.toMatch(/Order something|wants to access/)
  const signIn = textOf((await agent.open(asked([order], { scope: 'openid' }))).html)
  expect(signIn).toContain('Web client will be able to: Sign you in with your Latchkey account')
  const both = textOf((await agent.open(asked([order, account]))).html)
  expect(both).toMatch(/Web client wants to access .* Order &lt;b&gt;one&lt;\/b&gt; lamp See your account/)
  expect(buttonOf(page.html)).toBe('<bdi>Pay €12.50 to &lt;b&gt;Shop&lt;/b&gt;</bdi>')
  for (const others of [[{ ...order, button: 'x'.repeat(61) }], [order, account], [{ type: 'order' }]])
    expect(buttonOf((await agent.open(asked(others))).html)).toBe('Allow')
  codeOf(await agent.grant(asked([order])))
  const { receipts = [] } = JSON.parse(JSON.stringify(await host.oauth.users.export('1')))
  expect(JSON.stringify(receipts)).toContain(JSON.stringify(order.button).slice(1, -1))
})

test('a description without lines is an error of the host, not a page that hides them', async () => {
  const page = await agent.open(asked([{ type: 'order', heading: 'Order', fields: 'none' }]))
  expect([page.status, buttonOf(page.html)]).toEqual([500, undefined])
})

test('the page hides no member that is empty (L5)', async () => {
  const empty = { accounts: {}, items: [{}], nested: { none: [] }, label: '' }
  const page = await agent.open(asked([{ ...account, ...empty }]))
  expect(textOf(page.html)).toContain('accounts – items · 1 – nested · none – label –')
  // Joiners that a script or an emoji needs are shown as they are.
  const spelled = await agent.open(asked([{ ...account, identifier: 'می\u200cخواهم 👩\u200d💻' }]))
  expect(textOf(spelled.html)).toContain('می\u200cخواهم 👩\u200d💻')
})

test('tokens, introspection and the guard have what the user allowed, as the host completed it', async () => {
  const tokens = await answerOf(redeem(host, await granted([payment, account])))
  const both = [enriched, account]
  expect(tokens).toMatchObject({ authorization_details: both })
  expect(await introspectAs(host, 'web', tokens.access_token)).toMatchObject({ authorization_details: both })
  expect((await guarded(host, tokens.access_token, '/pay')).body).toEqual(both)
  const next = await answerOf(refresh(host, tokens.refresh_token))
  expect(next).toMatchObject({ authorization_details: both })
})

test('a token request may name fewer objects, and gets a token for these alone', async () => {
  const code = await granted([payment, account])
  const part = { authorization_details: JSON.stringify([{ ...account }]) }
  const tokens = await answerOf(redeem(host, code, part))
  expect(tokens).toMatchObject({ authorization_details: [account] })
  const { authorization_details: left } = await introspectAs(host, 'web', tokens.access_token)
  expect(left).toEqual([account])
  const refused = await guarded(host, tokens.access_token, '/pay')
  expect([refused.status, refused.body.error]).toEqual([403, 'insufficient_scope'])
  const more = JSON.stringify([{ ...enriched, amount: '13.00' }])
  const answer = await refresh(host, tokens.refresh_token, { authorization_details: more })
  expectError(answer, 400, 'invalid_authorization_details')
  const all = await answerOf(refresh(host, tokens.refresh_token))
  expect(all).toMatchObject({ authorization_details: [enriched, account] })
})

test('a JWT has the objects, and those of a resource are only in its tokens', async () => {
  const ledger = { type: 'ledger', year: 2026 }
  const code = await granted([account, ledger], { resource: bank })
  const { access_token } = await answerOf(redeem(host, code))
  expect(claimsOf(access_token).authorization_details).toEqual([account, ledger])
  expect((await guarded(host, access_token, '/bank')).body).toEqual([account, ledger])
  expect((await introspectAs(host, 'bank-api', access_token)).authorization_details).toEqual([
    account,
    ledger,
  ])
  const plain = await answerOf(redeem(host, await granted([account, ledger])))
  expect(plain).toMatchObject({ authorization_details: [account] })
})

test('a payment always needs consent, even for first-party clients; an account is remembered', async () => {
  codeOf(await agent.grant(asked([payment, account])))
  codeOf(await agent.open(asked([account])))
  for (const client_id of ['web', 'ours']) {
    expect((await agent.open(asked([payment], { client_id }))).url.pathname).toBe('/oauth/consent')
    expectErrorRedirect(await agent.open(asked([payment], { client_id, prompt: 'none' })), 'consent_required')
  }
  expect((await agent.open(asked([{ ...account, identifier: 'A-2' }]))).url.pathname).toBe('/oauth/consent')
})

test('Connected apps and the receipt name what was allowed', async () => {
  codeOf(await agent.grant(asked([payment])))
  expect(textOf((await agent.open('/oauth/account')).html)).toContain('Make a payment')
  expect(JSON.stringify(await host.oauth.users.export('1'))).toContain('12.50 EUR')
})

const many = Array.from({ length: 11 }, (_, n) => ({ ...account, n }))
const deep = (levels: number): unknown => (levels === 0 ? 1 : { a: deep(levels - 1) })
test.each<[string, unknown, client_id?: string]>([
  ['that is no JSON', '[{'],
  ['that is no array', account],
  ['without objects', []],
  ['with more than ten objects', many],
  ['without a type', [{ amount: '1' }]],
  ['with an unknown type', [{ type: 'transfer' }]],
  ['of a type that the client did not register', [account], 'plain'],
  ['that the host refuses', [{ type: 'payment' }]],
  ['with too many levels', [{ ...account, more: deep(6) }]],
  ['with too many values', [{ ...account, actions: Array(100).fill('a') }]],
  ['with direction characters', [{ ...account, identifier: 'A\u202e1' }]],
  ['with invisible characters (L6)', [{ ...account, identifier: 'A-\u200b1' }]],
  ['with a joiner between digits (L6)', [{ ...account, identifier: 'A-1\u200d2' }]],
  ['with an invisible member name (L6)', [{ ...account, '\u3164': 'x' }]],
  ['with half a character (L6)', [{ ...account, list: [{ name: '\ud800' }] }]],
  ['with __proto__', '[{"type":"account","__proto__":{"a":1}}]'],
])('authorization_details %s are refused', async (_case, details, client_id = 'web') => {
  const answer = await new RawBrowser(host.app).open(asked(details, { client_id }))
  expectErrorRedirect(answer, 'invalid_authorization_details')
})

test('a value that is too long is an invalid_request, and HTML is shown as text', async () => {
  const long = await new RawBrowser(host.app).open(asked([{ ...account, more: 'x'.repeat(8200) }]))
  expectErrorRedirect(long, 'invalid_request')
  const { html } = await agent.open(asked([{ ...account, '<i>': '<script>alert(1)</script>' }]))
  expect(html).toContain('&lt;script&gt;')
  expect(html).not.toMatch(/<i>|<script>alert/)
})

test('a grant that reads no details refuses the parameter', async () => {
  const form = { ...web, grant_type: 'client_credentials', authorization_details: JSON.stringify([account]) }
  expectError(await post(host, form), 400, 'invalid_authorization_details')
})

test('what the client is no longer registered for is not in its tokens', async () => {
  const tokens = await answerOf(redeem(host, await granted([account])))
  await host.oauth.clients.update('web', { authorization_details_types: ['payment'] })
  expect(await introspectAs(host, 'web', tokens.access_token)).not.toHaveProperty('authorization_details')
  await host.oauth.clients.update('web', { authorization_details_types: types })
})

test('clients register only types that exist, and the metadata lists them', async () => {
  const { body } = await supertest(host.app).get('/oauth/.well-known/openid-configuration')
  expect(body.authorization_details_types_supported).toEqual(types)
  const seed = { client_id: 'x', redirect_uris: [callback], authorization_details_types: ['paymnt'] }
  await expect(host.oauth.clients.create(seed)).rejects.toThrow('did you mean payment?')
})

test('a template of the host shows an object instead of its lines', async () => {
  const views = mkdtempSync(join(tmpdir(), 'views-'))
  mkdirSync(join(views, 'partials'))
  writeFileSync(join(views, 'partials/payment.eta'), '<p id="own">Pay <%= it.detail.amount %> now</p>')
  const authorizationDetails = { payment: { description: 'Make a payment', partial: 'partials/payment' } }
  const other = await startHost({
    options: { pages: { views }, protocol: { authorizationDetails } },
    clients: [{ ...clients[0]!, authorization_details_types: ['payment'] }],
  })
  const browser = new RawBrowser(other.app)
  const page = await browser.signIn(await browser.open(asked([{ ...payment, amount: '<b>1' }])))
  expect(page.html).toContain('<p id="own">Pay &lt;b&gt;1 now</p>')
  await other.close()
  const missing = { authorizationDetails: { payment: { description: 'Pay', partial: 'partials/none' } } }
  expect(() => authRouter({ protocol: missing, pages: { views }, issuer: 'http://localhost:3000' })).toThrow(
    'partials/none.eta',
  )
})

test('a device asks for details, and its user sees them', async () => {
  const codes = await codesFor(host, { authorization_details: JSON.stringify([payment]) })
  await connect(agent, codes.user_code)
  expect(await answerOf(poll(host, codes))).toMatchObject({ authorization_details: [enriched] })
})

test('a request object has details as JSON', async () => {
  const claims = { response_type: 'code', redirect_uri: callback, scope: 'openid' }
  const request = await assertion('signer', key, { ...claims, authorization_details: [account] })
  const page = await agent.open(`/oauth/authorize?${new URLSearchParams({ client_id: 'signer', request })}`)
  expect(textOf(page.html)).toContain('See your account Actions list, read')
})

test('a test token has the details that a test names', async () => {
  const { headers } = await actingAs(host.oauth, 1, 'notes:read', { authorizationDetails: [payment] })
  expect((await supertest(host.app).get('/pay').set(headers)).body).toEqual([payment])
  const unknown = actingAs(host.oauth, 1, [], { authorizationDetails: [{ type: 'paymnt' }] })
  await expect(unknown).rejects.toThrow('paymnt is not a type')
})
