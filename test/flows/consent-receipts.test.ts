import type { AuthRouterOptions, ClientSeed } from '../../lib/index.ts'
import { authorizeUrl, callback, type Host, secret, startHost } from '../support/host.ts'
import { codeOf, expectErrorPage, expectErrorRedirect } from '../support/outcomes.ts'
import { type Answer, fieldsOf, RawBrowser } from '../support/raw-browser.ts'
import { redeem } from '../support/tokens.ts'

type Scopes = NonNullable<AuthRouterOptions['scopes']>

const elsewhere = 'https://elsewhere.example.com/callback'
const loopback = 'http://127.0.0.1/desk'
const scope = 'openid email notes:read notes:write roles'
const seeds: ClientSeed[] = [
  {
    ...{ client_id: 'web', client_name: 'Web client', client_secret: secret },
    redirect_uris: [callback, `${callback}/other`, elsewhere, loopback],
    scope: `${scope} profile`,
    policy_uri: 'https://client.example.com/privacy',
    tos_uri: 'https://client.example.com/terms',
  },
  { client_id: 'ours', client_secret: secret, redirect_uris: [callback], scope: 'openid', first_party: true },
]
const scopes = {
  'notes:read': 'Read your notes',
  'notes:write': { description: 'Write notes for you', optional: true },
  roles: { description: 'Know your roles', claims: ['roles', 'rank'], optional: true },
} satisfies Scopes

let host: Host
const open: Host[] = []
beforeAll(async () => {
  host = await startHost({ clients: seeds, options: { scopes, branding: { name: 'Acme' } } })
})
afterAll(async () => {
  for (const one of open) await one.oauth.close()
  await host.close()
})
beforeEach(async () => {
  for (const name of ['consents', 'consent_receipts']) await table(name).delete()
})

const table = (name: string) => host.database.knex(`${host.database.tablePrefix}${name}`)
const web = { client_id: 'web', scope, state: 's' }
const asks = (answer: Answer): boolean => answer.url.pathname === '/oauth/consent' && answer.status === 200

/** The same server after a deployment: same database and secrets, but other scopes. */
const deployed = async (changed: Scopes): Promise<Host> => {
  const { database } = host
  const users = {
    table: host.usersTable,
    columns: { id: 'id', username: 'email', password: 'password_hash' },
    claims: { name: 'full_name', email: 'email', email_verified: () => true },
  }
  const options = { scopes: { ...scopes, ...changed }, branding: { name: 'Acme' }, users }
  const next = await startHost({ database, clients: seeds, options })
  open.push(next)
  return next
}
const movedTo = (next: Host, agent: RawBrowser): RawBrowser => {
  const moved = new RawBrowser(next.app)
  for (const [name, value] of agent.cookies) moved.cookies.set(name, value)
  return moved
}

/** A browser in which Ada is signed in and is asked. */
const asked = async (request: Record<string, string> = web) => {
  const agent = new RawBrowser(host.app)
  const page = await agent.signIn(await agent.open(authorizeUrl(request)))
  expect(asks(page)).toBe(true)
  return { agent, page }
}
/** The same, after Allow. */
const allowed = async (request: Record<string, string> = web) => {
  const { agent, page } = await asked(request)
  const redirectUri = request.redirect_uri ?? callback
  const code = codeOf(await agent.decide(page, 'allow'), { redirectUri })
  return { agent, code }
}
const receipts = async (): Promise<Record<string, unknown>[]> =>
  (await host.oauth.users.export(1)).receipts.map((receipt) => ({ ...receipt }))
/** The scopes that a consent page marks as new. */
const newOnes = (page: Answer): string[] =>
  [...page.html.matchAll(/<span class="scope-text"><bdi>(.*?)<\/bdi>\s*<span class="tag">New/g)].map(
    ([, text = '']) => text,
  )

describe('a receipt', () => {
  test('holds what was shown and what was ticked: texts, language, client, names of claims and no values', async () => {
    const { agent, page } = await asked()
    const { 'scope:notes:write': _, ...fields } = fieldsOf(page, 'value="allow"')
    codeOf(await agent.follow(await agent.post('/oauth/consent', { ...fields, decision: 'allow' })))
    const line = (name: string, text: string, group: string, more = {}) => ({
      ...{ name, text, group, optional: false, allowed: true, meaning: expect.any(String) },
      ...more,
    })
    const mine = table('authorizations').where({ subject: '1' })
    const [authorization] = await mine.orderBy('created_at', 'desc')
    expect(await receipts()).toEqual([
      {
        clientId: 'web',
        authorizationId: authorization.id,
        createdAt: Number(authorization.created_at),
        locale: 'en',
        product: 'Acme',
        client: {
          name: 'Web client',
          host: 'client.example.com',
          policyUri: 'https://client.example.com/privacy',
          tosUri: 'https://client.example.com/terms',
        },
        scopes: [
          line('openid', 'Sign you in with your Acme account', 'identity'),
          line('email', 'See your email address', 'identity'),
          line('notes:read', 'Read your notes', 'other'),
          line('notes:write', 'Write notes for you', 'other', { optional: true, allowed: false }),
          line('roles', 'Know your roles', 'other', { optional: true }),
        ],
        claims: ['email', 'email_verified'],
      },
    ])
    expect(JSON.stringify(await table('consent_receipts'))).not.toContain('ada@example.com')
  })

  test('holds the claims that were asked for one by one', async () => {
    const claims = JSON.stringify({ userinfo: { name: null } })
    const { page, agent } = await asked({ ...web, scope: 'openid', claims })
    codeOf(await agent.decide(page, 'allow'))
    const [receipt] = await receipts()
    expect(receipt?.claims).toEqual(['name'])
    const line = { name: 'claim"name', text: 'See: Name', allowed: true }
    expect(receipt?.scopes).toMatchObject([{ name: 'openid' }, line])
  })

  test('is kept for each answer, and for no other code', async () => {
    const { agent } = await allowed()
    codeOf(await agent.get(authorizeUrl({ ...web, prompt: 'none' })))
    codeOf(await agent.get(authorizeUrl({ client_id: 'ours', scope: 'openid' })))
    expect(await receipts()).toHaveLength(1)
    const again = await agent.open(authorizeUrl({ ...web, prompt: 'consent' }))
    expect(await receipts()).toHaveLength(1)
    codeOf(await agent.decide(again, 'allow'))
    expect(await receipts()).toHaveLength(2)
    const refused = await agent.open(authorizeUrl({ ...web, prompt: 'consent' }))
    expectErrorRedirect(await agent.decide(refused, 'deny'), 'access_denied', { state: 's' })
    expect(await receipts()).toHaveLength(2)
  })

  test('is there with the consent and the code, or none of them is', async () => {
    const { agent, page } = await asked()
    const { knex, tablePrefix } = host.database
    await knex.schema.renameTable(`${tablePrefix}consent_receipts`, `${tablePrefix}away`)
    const before = (await table('authorizations')).length
    const failed = await agent.decide(page, 'allow')
    await knex.schema.renameTable(`${tablePrefix}away`, `${tablePrefix}consent_receipts`)
    expectErrorPage(failed, 503)
    expect(await table('consents')).toEqual([])
    expect(await table('authorizations')).toHaveLength(before)
    codeOf(await agent.decide(page, 'allow'))
    expect(await table('consents')).toHaveLength(1)
    expect(await receipts()).toHaveLength(1)
  })
})

describe('is asked again when a scope has come to mean something else:', () => {
  test.each<[string, Scopes, string]>([
    ['its text', { 'notes:read': 'Read all of your notes' }, 'Read all of your notes'],
    [
      'whether it is optional',
      { 'notes:write': { description: 'Write notes for you' } },
      'Write notes for you',
    ],
    ['its claims', { roles: { ...scopes.roles, claims: ['roles', 'rank', 'salary'] } }, 'Know your roles'],
    ['its group', { 'notes:read': { description: 'Read your notes', group: 'change' } }, 'Read your notes'],
    ['a text for a standard one', { email: 'See where to write to you' }, 'See where to write to you'],
  ])('%s', async (_, changed, text) => {
    const { agent } = await allowed()
    const next = await deployed(changed)
    const moved = movedTo(next, agent)
    const silent = await moved.get(authorizeUrl({ ...web, prompt: 'none' }))
    expectErrorRedirect(silent, 'consent_required', { state: 's' })
    const page = await moved.open(authorizeUrl(web))
    expect(asks(page)).toBe(true)
    expect(newOnes(page)).toEqual([text])
    codeOf(await moved.decide(page, 'allow'))
    codeOf(await moved.get(authorizeUrl(web)))
    const kept = (await receipts()).map((receipt) => JSON.stringify(receipt.scopes))
    expect(kept).toHaveLength(2)
    expect(kept.filter((lines) => lines.includes(JSON.stringify(text)))).not.toEqual([])
    expect(kept[0]).not.toBe(kept[1])
  })

  test('for a single claim, whose scope says something else now', async () => {
    const single = { ...web, scope: 'openid', claims: '{"userinfo":{"rank":null}}' }
    const { agent } = await allowed(single)
    const silent = authorizeUrl({ ...single, prompt: 'none' })
    codeOf(await agent.get(silent))
    const next = await deployed({ roles: { ...scopes.roles, description: 'Know all roles' } })
    const moved = movedTo(next, agent)
    expectErrorRedirect(await moved.get(silent), 'consent_required', { state: 's' })
  })

  test('not while it is not asked for, nor because of another order or another scope', async () => {
    const { agent } = await allowed()
    const next = await deployed({
      'notes:read': { description: 'Read your notes', optional: false, group: 'other' },
      'notes:write': 'Write whatever it likes',
      roles: { ...scopes.roles, claims: ['rank', 'roles'] },
      'notes:share': 'Share your notes',
    })
    const moved = movedTo(next, agent)
    codeOf(await moved.get(authorizeUrl({ ...web, scope: 'openid email notes:read roles' })))
    expect(asks(await moved.open(authorizeUrl(web)))).toBe(true)
  })

  test('not when it means what it meant before once more', async () => {
    const { agent } = await allowed()
    const moved = movedTo(await deployed({ 'notes:read': 'Read all of your notes' }), agent)
    expect(asks(await moved.open(authorizeUrl(web)))).toBe(true)
    codeOf(await agent.get(authorizeUrl({ ...web, prompt: 'none' })))
  })
})

describe('is asked again at another place of the client', () => {
  const at = (redirect_uri: string, more = {}) => authorizeUrl({ ...web, redirect_uri, ...more })

  test('on another host, as at the first time; then both are remembered', async () => {
    const { agent } = await allowed()
    const silent = await agent.get(at(elsewhere, { prompt: 'none' }))
    expectErrorRedirect(silent, 'consent_required', { state: 's', redirectUri: elsewhere })
    const page = await agent.open(at(elsewhere))
    expect(asks(page)).toBe(true)
    expect(newOnes(page)).toEqual([])
    codeOf(await agent.decide(page, 'allow'), { redirectUri: elsewhere })
    codeOf(await agent.get(at(elsewhere)), { redirectUri: elsewhere })
    codeOf(await agent.get(at(callback)))
  })

  test('for what was allowed there, not elsewhere', async () => {
    const { agent } = await allowed()
    const page = await agent.open(at(elsewhere, { scope: 'openid' }))
    codeOf(await agent.decide(page, 'allow'), { redirectUri: elsewhere })
    const more = await agent.open(at(elsewhere, { scope: 'openid email' }))
    expect(asks(more)).toBe(true)
    expect(newOnes(more)).toEqual(['See who you are'])
  })

  test('what is unticked at one place holds at none', async () => {
    const { agent } = await allowed()
    const page = await agent.open(at(elsewhere))
    const { 'scope:notes:write': _, ...fields } = fieldsOf(page, 'value="allow"')
    await agent.follow(await agent.post('/oauth/consent', { ...fields, decision: 'allow' }))
    codeOf(await agent.get(at(callback, { scope: 'openid email notes:read roles' })))
    expect(newOnes(await agent.open(at(callback)))).toEqual(['Write notes for you'])
  })

  test('not at another path, nor at another port of this machine', async () => {
    const { agent } = await allowed()
    codeOf(await agent.get(at(`${callback}/other`)), { redirectUri: `${callback}/other` })
    const here = 'http://127.0.0.1:4000/desk'
    const page = await agent.open(at(here))
    codeOf(await agent.decide(page, 'allow'), { redirectUri: here })
    const there = 'http://127.0.0.1:5000/desk'
    codeOf(await agent.get(at(there)), { redirectUri: there })
  })
})

describe('an answer is to what was shown:', () => {
  test('a page from before the text changed answers nothing, and is opened again', async () => {
    const { agent, page } = await asked()
    const moved = movedTo(await deployed({ 'notes:read': 'Read all of your notes' }), agent)
    const again = await moved.decide(page, 'allow')
    expect(await table('consents')).toEqual([])
    expect(again.html).toContain('This page has changed since you opened it.')
    expect(again.html).toContain('Read all of your notes')
    codeOf(await moved.decide(again, 'allow'))
    expect(JSON.stringify(await receipts())).toContain('Read all of your notes')
  })

  test('what was allowed just before the change holds for that code, and is asked anew for the next', async () => {
    const { agent, page } = await asked()
    const code = codeOf(await agent.decide(page, 'allow'))
    const moved = movedTo(await deployed({ 'notes:read': 'Read all of your notes' }), agent)
    expect((await redeem(host, code)).status).toBe(200)
    expect(JSON.stringify(await receipts())).not.toContain('Read all of your notes')
    expect(asks(await moved.open(authorizeUrl(web)))).toBe(true)
    codeOf(await agent.get(authorizeUrl(web)))
  })
})
