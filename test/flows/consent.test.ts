import type { AuthRouterOptions } from '../../lib/index.ts'
import { authorizeUrl, callback, clients, type Host, pkce, secret, startHost } from '../support/host.ts'
import {
  claimsOf,
  codeOf,
  expectErrorPage,
  expectErrorRedirect,
  expectExpiredPage,
} from '../support/outcomes.ts'
import { type Answer, fieldsOf, pageOf, RawBrowser } from '../support/raw-browser.ts'
import { bob, redeem, refresh } from '../support/tokens.ts'

type Scopes = NonNullable<AuthRouterOptions['scopes']>

const elsewhere = 'https://elsewhere.example.com/callback'
const confidential = { client_secret: secret, redirect_uris: [callback] }
const seeds = [
  ...clients,
  { ...confidential, client_id: 'desk', redirect_uris: ['http://127.0.0.1/desk'], scope: 'openid' },
  { ...confidential, client_id: 'ours', scope: 'openid profile', first_party: true },
  {
    ...confidential,
    client_id: 'shop',
    client_name: 'Shop',
    redirect_uris: [callback, `${callback}/other`, elsewhere, 'http://127.0.0.1/desk'],
    scope: 'openid email notes:read notes:write roles profile',
    policy_uri: 'https://client.example.com/privacy',
    tos_uri: 'https://client.example.com/terms',
  },
]
const scopes = {
  'notes:read': 'Read your notes',
  'notes:write': { description: 'Write notes for you', optional: true },
  roles: { description: 'Know your roles', claims: ['roles', 'rank'], optional: true },
} satisfies Scopes

const appearance = { name: 'Acme' }

let host: Host
const deployments: Host[] = []
beforeAll(async () => {
  host = await startHost({ clients: seeds, options: { scopes, pages: appearance } })
})
afterAll(async () => {
  for (const one of deployments) await one.oauth.close()
  await host.close()
})
beforeEach(async () => {
  for (const name of ['consents', 'consent_receipts']) await host.table(name).delete()
})

const logins = () => host.table('logins').whereNull('ended_at')
const web = { client_id: 'web', scope: 'openid', state: 's' }
const shop = { client_id: 'shop', scope: 'openid email notes:read notes:write roles', state: 's' }
const browser = () => new RawBrowser(host.app)

/** A browser in which Ada is signed in and is asked. */
const asked = async (parameters: Record<string, string> = web) => {
  const agent = browser()
  const page = await agent.signIn(await agent.open(authorizeUrl(parameters)))
  expect(pageOf(page)).toBe('200 /consent')
  return { agent, page }
}
/** The same, after Allow. */
const allowed = async (parameters: Record<string, string> = web) => {
  const { agent, page } = await asked(parameters)
  return { agent, code: codeOf(await agent.decide(page, 'allow')) }
}
/** Allow with the box of `notes:write` unticked. */
const allowUnticked = async (agent: RawBrowser, page: Answer): Promise<Answer> => {
  const { 'scope:notes:write': ticked, ...fields } = fieldsOf(page, 'value="allow"')
  expect(ticked).toBe('on')
  return agent.follow(await agent.post('/oauth/consent', { ...fields, decision: 'allow' }))
}
const expectAsked = async (agent: RawBrowser, parameters: Record<string, string>): Promise<void> => {
  const { state, redirect_uri: redirectUri } = parameters
  const silent = await agent.get(authorizeUrl({ ...parameters, prompt: 'none' }))
  expectErrorRedirect(silent, 'consent_required', { state, ...(redirectUri && { redirectUri }) })
}
const grantedBy = async (done: Answer) => (await redeem(host, codeOf(done))).body.scope
/** The lines of the page, each with the tags it has. */
const linesOf = (page: Answer) =>
  [...page.html.matchAll(/<\/svg>\s*<span>([\s\S]*?)<\/span>\s*(?:<input|<\/)/g)].map(([, text = '']) =>
    text
      .replace(/<[^>]+>/g, ' ')
      .replace(/\s+/g, ' ')
      .trim(),
  )
/** The scopes that a consent page marks as new. */
const newOnes = (page: Answer): string[] =>
  [...page.html.matchAll(/<\/svg>\s*<span><bdi>(.*?)<\/bdi>\s*<span class="tag plain">New/g)].map(
    ([, text = '']) => text,
  )

describe('the page', () => {
  test('names the client, the user, the scopes with their data, and the destination', async () => {
    const scope = 'openid profile email offline_access notes:read notes:write'
    const { page } = await asked({ ...web, scope })
    const text = page.html.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ')
    expect(text).toContain('Web client wants to access your Acme account')
    expect(text).toMatch(/ada @example\.com Not you\?/)
    expect(text).toMatch(/You’ll return to client\.example\.com/)
    expect(linesOf(page)).toEqual([
      'See who you are Ada Lovelace ada @example.com',
      'Read your notes',
      'Write notes for you Optional',
      'Keep access while you’re away, for up to 1 year',
    ])
    // Its form carries the request, a token and the boxes, and nothing of the protocol.
    expect(Object.keys(fieldsOf(page, 'value="allow"')).sort()).toEqual([
      'account',
      'authorization_request',
      'csrf_token',
      'locale',
      'scope:notes:write',
      'shown',
    ])
  })

  test('without a login asks to sign in, says why, and continues after it', async () => {
    const { agent, page } = await asked()
    agent.cookies.delete([...agent.cookies.keys()].find((name) => name.endsWith('_session')) ?? '')
    const signedOut = [await agent.open(page.url.href), await agent.decide(page, 'allow')]
    for (const { status, url, html } of signedOut) {
      expect({ status, path: url.pathname }).toEqual({ status: 200, path: '/oauth/login' })
      expect(html).toContain('You were signed out. Sign in to continue.')
    }
    const again = await agent.signIn(signedOut[1] as Answer)
    expect(again.html).not.toContain('signed out')
    codeOf(await agent.decide(again, 'allow'))
  })
})

describe('is remembered', () => {
  const challenge = { code_challenge: pkce().challenge, code_challenge_method: 'S256' }

  test.each([
    ['a confidential client on https', 'web', callback],
    ['a confidential client on loopback', 'desk', 'http://127.0.0.1:4000/desk'],
    ['a public client on https', 'native', callback],
  ])('for %s, in every browser', async (_, client_id, redirectUri) => {
    const request = authorizeUrl({ scope: 'openid', client_id, redirect_uri: redirectUri, ...challenge })
    const agent = browser()
    const page = await agent.signIn(await agent.open(request))
    expect(pageOf(page)).toBe('200 /consent')
    codeOf(await agent.decide(page, 'allow'), { redirectUri })
    const other = browser()
    codeOf(await other.signIn(await other.open(request)), { redirectUri })
  })

  test.each(['http://127.0.0.1:4000/callback', 'com.example.app:/callback'])(
    'never for a public client at %s',
    async (redirect_uri) => {
      const request = authorizeUrl({ client_id: 'native', scope: 'openid', redirect_uri, ...challenge })
      const agent = browser()
      codeOf(await agent.grant(request), { redirectUri: redirect_uri })
      expect(pageOf(await agent.open(request))).toBe('200 /consent')
    },
  )

  test('for one person and one client', async () => {
    const { agent } = await allowed()
    const other = browser()
    const page = await other.signIn(await other.open(authorizeUrl(web)), bob.email, bob.password)
    expect(pageOf(page)).toBe('200 /consent')
    const native = authorizeUrl({ client_id: 'native', scope: 'openid', ...challenge })
    expect(pageOf(await agent.open(native))).toBe('200 /consent')
  })

  test('until more is asked for; then what is new is marked, and both are remembered', async () => {
    const { agent, page } = await asked({ ...web, scope: 'openid email' })
    expect(page.html).not.toContain('>New<')
    codeOf(await agent.decide(page, 'allow'))
    codeOf(await agent.get(authorizeUrl({ ...web, scope: 'email openid' })))
    const wider = await agent.open(authorizeUrl({ ...web, scope: 'openid email profile notes:read' }))
    expect(linesOf(wider)).toEqual([
      'See who you are New ada @example.com Ada Lovelace',
      'Read your notes New',
    ])
    codeOf(await agent.decide(wider, 'allow'))
    const fewer = await agent.get(authorizeUrl({ ...web, scope: 'openid profile' }))
    expect(await grantedBy(fewer)).toBe('openid profile')
    codeOf(await agent.get(authorizeUrl({ ...web, scope: 'openid email profile notes:read' })))
  })

  test('without optional scopes that are unticked, also when they were allowed before', async () => {
    const request = { ...web, scope: 'openid notes:read notes:write' }
    const { agent, page } = await asked(request)
    expect(await grantedBy(await allowUnticked(agent, page))).toBe('openid notes:read')
    expect(await host.table('consents').where({ subject: '1' })).toMatchObject([
      { scopes: 'openid notes:read' },
    ])
    codeOf(await agent.get(authorizeUrl({ ...web, scope: 'openid notes:read' })))
    const again = await agent.open(authorizeUrl(request))
    expect(linesOf(again)[0]).toBe('Write notes for you New Optional')
    codeOf(await agent.decide(again, 'allow'))
    const third = await agent.open(authorizeUrl({ ...request, prompt: 'consent' }))
    expect(await grantedBy(await allowUnticked(agent, third))).toBe('openid notes:read')
    await expectAsked(agent, request)
  })
})

describe('the answer', () => {
  test('deny is access_denied, uses the request up, remembers nothing and keeps an earlier consent', async () => {
    const { agent, page } = await asked()
    expectErrorRedirect(await agent.decide(page, 'deny'), 'access_denied', { state: 's' })
    expectExpiredPage(await agent.decide(page, 'allow'))
    expect(await host.table('consents')).toEqual([])
    const again = await agent.open(authorizeUrl(web))
    expect(pageOf(again)).toBe('200 /consent')
    codeOf(await agent.decide(again, 'allow'))
    const wider = await agent.open(authorizeUrl({ ...web, scope: 'openid email' }))
    expectErrorRedirect(await agent.decide(wider, 'deny'), 'access_denied', { state: 's' })
    codeOf(await agent.get(authorizeUrl(web)))
  })

  test('“Not you?” ends the login and its tokens once another user has signed in, and not before', async () => {
    const { agent, code } = await allowed({ ...web, scope: 'openid email' })
    const { body } = await redeem(host, code)
    const open = (await logins()).length
    const again = await agent.open(authorizeUrl({ ...web, prompt: 'consent' }))
    const thief = agent.clone()
    const login = await agent.decide(again, 'switch')
    expect({ status: login.status, path: login.url.pathname }).toEqual({ status: 200, path: '/oauth/login' })
    expect(fieldsOf(login, 'name="password"').username).toBe('')
    const wrong = await agent.signIn(login, bob.email, 'not bob’s')
    expect({ status: wrong.status, username: fieldsOf(wrong, 'name="password"').username }).toEqual({
      status: 400,
      username: bob.email,
    })
    expect(await logins()).toHaveLength(open)
    codeOf(await thief.get(authorizeUrl({ ...web, prompt: 'none' })))
    const bobs = await agent.signIn(wrong, bob.email, bob.password)
    expect(await logins()).toHaveLength(open)
    const silent = await thief.get(authorizeUrl({ ...web, prompt: 'none' }))
    expectErrorRedirect(silent, 'login_required', { state: 's' })
    expect((await refresh(host, body.refresh_token)).body.error).toBe('invalid_grant')
    expect(bobs.html).toContain('bob<wbr>@example.com')
    const { body: token } = await redeem(host, codeOf(await agent.decide(bobs, 'allow')))
    expect(claimsOf(token.id_token).sub).toBe('2')
  })

  test('a first-party client gets no consent page without prompt=consent', async () => {
    const agent = browser()
    const ours = { client_id: 'ours', scope: 'openid profile', state: 's' }
    codeOf(await agent.signIn(await agent.open(authorizeUrl(ours))))
    codeOf(await agent.get(authorizeUrl({ ...ours, prompt: 'none' })))
    expect(pageOf(await agent.open(authorizeUrl({ ...ours, prompt: 'consent' })))).toBe('200 /consent')
  })
})

const receipts = async () => (await host.oauth.users.export(1)).receipts

describe('a receipt', () => {
  test('holds what was shown and ticked: texts, language, client, names of claims and no values', async () => {
    const { agent, page } = await asked(shop)
    codeOf(await allowUnticked(agent, page))
    const line = (name: string, text: string, group: string, more = {}) => ({
      name,
      text,
      group,
      optional: false,
      allowed: true,
      meaning: expect.any(String),
      ...more,
    })
    const mine = host.table('authorizations').where({ subject: '1', client_id: 'shop' })
    const [authorization] = await mine.orderBy('created_at', 'desc')
    expect(await receipts()).toEqual([
      {
        clientId: 'shop',
        authorizationId: authorization.id,
        locale: 'en',
        product: 'Acme',
        createdAt: Number(authorization.created_at),
        client: {
          name: 'Shop',
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
    expect(JSON.stringify(await host.table('consent_receipts'))).not.toContain('ada@example.com')
  })

  test('holds the claims that were asked for one by one', async () => {
    await allowed({ ...shop, scope: 'openid', claims: JSON.stringify({ userinfo: { name: null } }) })
    const [receipt] = await receipts()
    expect(receipt?.claims).toEqual(['name'])
    const line = { name: 'claim"name', text: 'See: Name', allowed: true }
    expect(receipt?.scopes).toMatchObject([{ name: 'openid' }, line])
  })

  test('is kept for each answer, and for no other code', async () => {
    const { agent } = await allowed(shop)
    codeOf(await agent.get(authorizeUrl({ ...shop, prompt: 'none' })))
    codeOf(await agent.get(authorizeUrl({ client_id: 'ours', scope: 'openid' })))
    expect(await receipts()).toHaveLength(1)
    const again = await agent.open(authorizeUrl({ ...shop, prompt: 'consent' }))
    expect(await receipts()).toHaveLength(1)
    codeOf(await agent.decide(again, 'allow'))
    expect(await receipts()).toHaveLength(2)
    const refused = await agent.open(authorizeUrl({ ...shop, prompt: 'consent' }))
    expectErrorRedirect(await agent.decide(refused, 'deny'), 'access_denied', { state: 's' })
    expect(await receipts()).toHaveLength(2)
  })

  test('is there with the consent and the code, or none of them is', async () => {
    const { agent, page } = await asked(shop)
    const { knex, tablePrefix } = host.database
    await knex.schema.renameTable(`${tablePrefix}consent_receipts`, `${tablePrefix}moved`)
    const before = (await host.table('authorizations')).length
    const failed = await agent.decide(page, 'allow')
    await knex.schema.renameTable(`${tablePrefix}moved`, `${tablePrefix}consent_receipts`)
    expectErrorPage(failed, 503)
    expect(await host.table('consents')).toEqual([])
    expect(await host.table('authorizations')).toHaveLength(before)
    codeOf(await agent.decide(page, 'allow'))
    expect(await host.table('consents')).toHaveLength(1)
    expect(await receipts()).toHaveLength(1)
  })
})

describe('when the meaning of a scope has changed', () => {
  /** The same browser after a deployment: same database and secrets, but other scopes. */
  const deployed = async (agent: RawBrowser, changed: Scopes): Promise<RawBrowser> => {
    const next = await startHost({
      database: host.database,
      clients: seeds,
      options: { scopes: { ...scopes, ...changed }, pages: appearance },
    })
    deployments.push(next)
    return new RawBrowser(next.app, undefined, {}, agent.cookies)
  }
  const otherText = { 'notes:read': 'Read all of your notes' }

  test.each<[string, Scopes, string[]]>([
    [
      'the text, whether it is optional, the claims, or the text of a standard one',
      {
        ...otherText,
        'notes:write': { description: 'Write notes for you' },
        roles: { ...scopes.roles, claims: ['roles', 'rank', 'salary'] },
        email: 'See where to write to you',
      },
      ['See where to write to you', 'Read all of your notes', 'Write notes for you', 'Know your roles'],
    ],
    ['the group', { 'notes:read': { description: 'Read your notes', group: 'change' } }, ['Read your notes']],
  ])('the user is asked again: %s', async (_, changed, texts) => {
    const { agent } = await allowed(shop)
    const moved = await deployed(agent, changed)
    await expectAsked(moved, shop)
    const page = await moved.open(authorizeUrl(shop))
    expect(newOnes(page).sort()).toEqual([...texts].sort())
    codeOf(await moved.decide(page, 'allow'))
    codeOf(await moved.get(authorizeUrl(shop)))
    const kept = (await receipts()).map((receipt) => JSON.stringify(receipt.scopes))
    expect(kept).toHaveLength(2)
    for (const text of texts)
      expect(kept.filter((lines) => lines.includes(JSON.stringify(text)))).not.toEqual([])
    expect(kept[0]).not.toBe(kept[1])
  })

  test('the user is asked again for a single claim of this scope', async () => {
    const single = { ...shop, scope: 'openid', claims: '{"userinfo":{"rank":null}}' }
    const { agent } = await allowed(single)
    codeOf(await agent.get(authorizeUrl({ ...single, prompt: 'none' })))
    const roles = { ...scopes.roles, description: 'Know all roles' }
    await expectAsked(await deployed(agent, { roles }), single)
  })

  test('nothing is asked while the scope is not requested, nor for a new order or a new scope', async () => {
    const { agent } = await allowed(shop)
    const moved = await deployed(agent, {
      'notes:read': { description: 'Read your notes', optional: false, group: 'other' },
      'notes:write': 'Write whatever it likes',
      roles: { ...scopes.roles, claims: ['rank', 'roles'] },
      'notes:share': 'Share your notes',
    })
    codeOf(await moved.get(authorizeUrl({ ...shop, scope: 'openid email notes:read roles' })))
    expect(pageOf(await moved.open(authorizeUrl(shop)))).toBe('200 /consent')
  })

  test('an earlier code stays valid, and nothing is asked once the scope has its old meaning again', async () => {
    const { agent, code } = await allowed(shop)
    const moved = await deployed(agent, otherText)
    expect((await redeem(host, code, { client_id: 'shop' })).status).toBe(200)
    expect(JSON.stringify(await receipts())).not.toContain('Read all of your notes')
    expect(pageOf(await moved.open(authorizeUrl(shop)))).toBe('200 /consent')
    codeOf(await agent.get(authorizeUrl({ ...shop, prompt: 'none' })))
  })

  test('a page from before the change allows nothing, and is opened again', async () => {
    const { agent, page } = await asked(shop)
    const moved = await deployed(agent, otherText)
    const again = await moved.decide(page, 'allow')
    expect(await host.table('consents')).toEqual([])
    expect(again.html).toContain('This page has changed since you opened it.')
    expect(again.html).toContain('Read all of your notes')
    codeOf(await moved.decide(again, 'allow'))
    expect(JSON.stringify(await receipts())).toContain('Read all of your notes')
  })
})

describe('at another place of the client', () => {
  const at = (redirect_uri: string, scope = shop.scope) => ({ ...shop, redirect_uri, scope })

  test('on another host, the user is asked as at the first time, and again back at the first host', async () => {
    const { agent } = await allowed(shop)
    await expectAsked(agent, at(elsewhere))
    const page = await agent.open(authorizeUrl(at(elsewhere)))
    expect(newOnes(page)).toEqual([])
    codeOf(await agent.decide(page, 'allow'), { redirectUri: elsewhere })
    codeOf(await agent.get(authorizeUrl(at(elsewhere))), { redirectUri: elsewhere })
    await expectAsked(agent, shop)
  })

  test('consent is to what was allowed there, not elsewhere', async () => {
    const { agent } = await allowed(shop)
    const page = await agent.open(authorizeUrl(at(elsewhere, 'openid')))
    codeOf(await agent.decide(page, 'allow'), { redirectUri: elsewhere })
    const more = await agent.open(authorizeUrl(at(elsewhere, 'openid email')))
    expect([pageOf(more), newOnes(more)]).toEqual(['200 /consent', ['See who you are']])
  })

  test('another path, or another port of this machine, is the same place', async () => {
    const { agent } = await allowed(shop)
    codeOf(await agent.get(authorizeUrl(at(`${callback}/other`))), { redirectUri: `${callback}/other` })
    const [here, there] = ['http://127.0.0.1:4000/desk', 'http://127.0.0.1:5000/desk']
    const page = await agent.open(authorizeUrl(at(here)))
    codeOf(await agent.decide(page, 'allow'), { redirectUri: here })
    codeOf(await agent.get(authorizeUrl(at(there))), { redirectUri: there })
  })
})
