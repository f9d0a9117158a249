import supertest from 'supertest'
import type { AuthEvent, AuthRouterOptions, HostUser, Tenant } from '../../lib/index.ts'
import { actingAs } from '../../lib/testing.ts'
import { stopClock } from '../support/clock.ts'
import { authorizeUrl, callback, clients, type Host, secret, startHost } from '../support/host.ts'
import {
  claimsOf,
  codeOf,
  expectErrorPage,
  expectErrorRedirect,
  expectExpiredPage,
} from '../support/outcomes.ts'
import { type Answer, fieldsOf, RawBrowser } from '../support/raw-browser.ts'
import { countStatements } from '../support/statement-count.ts'
import {
  ada,
  answerOf,
  bob,
  expectError,
  redeem,
  refresh,
  type TokenAnswer,
  userinfo,
  web,
} from '../support/tokens.ts'

const acme: Tenant = { id: 'acme', name: 'Acme & Sons' }
const globex: Tenant = { id: '7f0c-globex', name: 'Globex' }
const initech: Tenant = { id: 'initech', name: 'Initech' }

/** Who belongs where, by subject; what stands here is what the host answers. */
const members = new Map<string, unknown>()
const told: { user: HostUser; hasRequest: boolean }[] = []
const logged: unknown[][] = []

const options: Partial<AuthRouterOptions> = {
  throttle: false,
  tenants: async (user, req) => {
    told.push({ user, hasRequest: req !== undefined })
    const answer = members.get(String(user.id))
    if (answer instanceof Error) throw answer
    return answer as Tenant[]
  },
  logger: { info: () => {}, warn: () => {}, error: (...words) => void logged.push(words) },
}

let host: Host
const events: AuthEvent[] = []
beforeAll(async () => {
  host = await startHost({
    options,
    clients: [
      ...clients,
      {
        client_id: 'ours',
        client_name: 'Ours',
        client_secret: secret,
        redirect_uris: [callback],
        scope: 'openid',
        first_party: true,
      },
    ],
  })
  host.app.get(
    '/api/tenant',
    host.oauth.requireToken(),
    (req, res) => void res.json({ tenant: req.token.tenant ?? null }),
  )
  host.oauth.events.on('event', (event) => events.push(event))
})
afterAll(() => host.close())
afterEach(() => jest.restoreAllMocks())
beforeEach(async () => {
  members.clear()
  members.set('1', [acme, globex])
  members.set('2', [initech])
  for (const list of [told, logged, events]) list.length = 0
  for (const name of ['consents', 'consent_receipts', 'authorizations']) await table(name).delete()
})

const table = (name: string) => host.database.knex(`${host.database.tablePrefix}${name}`)
const browser = () => new RawBrowser(host.app)
const scope = 'openid email notes:read offline_access'
const request = { client_id: 'web', scope, state: 's' }
const isConsent = ({ status, url }: Answer) => ({ status, path: url.pathname })
const consentPage = { status: 200, path: '/oauth/consent' }
const textOf = ({ html }: Answer): string =>
  html
    .replace(/<\/?bdi>/g, '')
    .replace(/<[^>]+>/g, ' ')
    .replace(/\s+/g, ' ')
/** What of a hostile name a browser would act upon. */
const aliveIn = ({ html }: Answer): string[] =>
  ['<script', '<img', "onfocus='", '\u202e', '\0'].filter((text) => html.includes(text))

/** A browser in which somebody is signed in, where the request has led them. */
const visit = async (parameters: Record<string, string> = request, as = ada, agent = browser()) => {
  const page = await agent.open(authorizeUrl(parameters))
  const answer = page.url.pathname.endsWith('/login') ? await agent.signIn(page, as.email, as.password) : page
  return { agent, answer }
}
const asked = async (parameters: Record<string, string> = request, as = ada, agent = browser()) => {
  const { answer: page } = await visit(parameters, as, agent)
  expect(isConsent(page)).toEqual(consentPage)
  return { agent, page }
}
/** The workspaces of a page, each with whether it is ticked. */
const choicesOf = ({ html }: Answer) =>
  [
    ...html.matchAll(
      /<input type="radio"[^>]*value="([^"]*)"([^>]*)>\s*<span class="scope-text"><bdi>([^<]*)</g,
    ),
  ].map(([, id, rest = '', name]) => ({ id, name, checked: /\bchecked\b/.test(rest) }))
const pick = (agent: RawBrowser, page: Answer, tenant: Tenant) =>
  agent.decide(page, 'allow', { tenant: tenant.id })
/** Tokens for a workspace that is chosen on the page. */
const tokensFor = async (
  tenant: Tenant,
  agent = browser(),
): Promise<{ agent: RawBrowser; tokens: TokenAnswer }> => {
  const { page } = await asked(request, ada, agent)
  return { agent, tokens: await answerOf(redeem(host, codeOf(await pick(agent, page, tenant)))) }
}
const introspect = (token: string) =>
  supertest(host.app)
    .post('/oauth/introspect')
    .type('form')
    .send({ ...web, token })
const guarded = ({ access_token }: TokenAnswer) =>
  supertest(host.app).get('/api/tenant').set('Authorization', `Bearer ${access_token}`)

describe('the choice', () => {
  test('is among the names of all workspaces, none of which is ticked', async () => {
    const { page } = await asked()
    expect(choicesOf(page)).toEqual([
      { id: 'acme', name: 'Acme &amp; Sons', checked: false },
      { id: '7f0c-globex', name: 'Globex', checked: false },
    ])
    expect(page.html).toMatch(
      /<fieldset id="tenants"[^>]*>\s*<legend id="tenants-legend">Choose a workspace</,
    )
  })

  test('stands in the ID token, in UserInfo, in introspection and in req.token', async () => {
    const { tokens } = await tokensFor(globex)
    expect(claimsOf(tokens.id_token)).toMatchObject({ sub: '1', tenant: globex.id })
    expect((await userinfo(host, tokens.access_token)).body).toMatchObject({ sub: '1', tenant: globex.id })
    for (const token of [tokens.access_token, tokens.refresh_token])
      expect((await introspect(token)).body).toMatchObject({ active: true, tenant: globex.id })
    expect((await guarded(tokens)).body).toEqual({ tenant: globex.id })
    const next = await answerOf(refresh(host, tokens.refresh_token))
    expect(claimsOf(next.id_token)).toMatchObject({ tenant: globex.id })
    expect((await guarded(next)).body).toEqual({ tenant: globex.id })
    expect(Object.keys(tokens).sort()).toEqual(
      ['access_token', 'expires_in', 'id_token', 'refresh_token', 'scope', 'token_type'].sort(),
    )
  })

  test('is told to whoever listens', async () => {
    await tokensFor(globex)
    for (const type of ['consent.allowed', 'authorization.issued', 'tokens.issued'])
      expect(events.filter((event) => event.type === type)).toMatchObject([
        { subject: '1', tenant: globex.id },
      ])
  })

  test('must be made: the page comes back, says so, and keeps what was ticked', async () => {
    const { agent, page } = await asked({ ...request, scope: 'openid notes:write' })
    const { 'scope:notes:write': _, ...fields } = fieldsOf(page, 'value="allow"')
    const again = await agent.post('/oauth/consent', { ...fields, decision: 'allow' })
    expect(again.status).toBe(400)
    expect(again.html).toMatch(/<title>Error: /)
    expect(again.html).toMatch(/role="alert" id="error">[\s\S]*<a href="#tenant-0">/)
    expect(again.html).toMatch(
      /<fieldset [^>]*aria-describedby="tenants-text tenants-error"[^>]*aria-invalid="true"/,
    )
    expect(again.html).toContain('id="tenants-error"')
    expect(fieldsOf(again, 'value="allow"')).not.toHaveProperty('scope:notes:write')
    expect(await table('consents')).toEqual([])
    expect(events.map(({ type }) => type)).not.toContain('consent.allowed')
    const done = await answerOf(redeem(host, codeOf(await pick(agent, again, acme))))
    expect({ scope: done.scope, tenant: claimsOf(done.id_token).tenant }).toEqual({
      scope: 'openid',
      tenant: 'acme',
    })
  })

  test.each<[string, readonly [string, string][]]>([
    ['that nobody has', [['tenant', 'nobody']]],
    ['of another user', [['tenant', initech.id]]],
    ['in another case', [['tenant', 'ACME']]],
    ['with a space at its end, which MariaDB does not see', [['tenant', 'acme ']]],
    ['by its name', [['tenant', 'Globex']]],
  ])('is not one %s', async (_, extra) => {
    const { agent, page } = await asked()
    const fields = Object.entries({ ...fieldsOf(page, 'value="allow"'), decision: 'allow' })
    const again = await agent.post('/oauth/consent', [...fields, ...extra])
    expect({ status: again.status, location: again.headers.location }).toEqual({
      status: 400,
      location: undefined,
    })
    expect(textOf(again)).toContain('You no longer have access to that workspace')
    expect(choicesOf(again).map(({ checked }) => checked)).toEqual([false, false])
    expect(await table('authorizations')).toEqual([])
  })

  test('is one: two in a form are no answer', async () => {
    const { agent, page } = await asked()
    const fields = Object.entries({ ...fieldsOf(page, 'value="allow"'), decision: 'allow' })
    expectErrorPage(
      await agent.post('/oauth/consent', [...fields, ['tenant', 'acme'], ['tenant', globex.id]]),
      400,
    )
  })

  test('needs none for Cancel and for "Not you?"', async () => {
    const one = await asked()
    expectErrorRedirect(await one.agent.decide(one.page, 'deny'), 'access_denied', { state: 's' })
    const two = await asked()
    expect((await two.agent.decide(two.page, 'switch')).url.pathname).toBe('/oauth/login')
  })

  test('is shown as text where there is only one, and taken', async () => {
    const { agent, page } = await asked(request, bob)
    expect(choicesOf(page)).toEqual([])
    expect(textOf(page)).toMatch(/Workspace Initech/)
    expect(fieldsOf(page, 'value="allow"').tenant).toBe(initech.id)
    const { id_token } = await answerOf(redeem(host, codeOf(await agent.decide(page, 'allow'))))
    expect(claimsOf(id_token).tenant).toBe(initech.id)
    // Nothing is left to ask.
    codeOf(await agent.get(authorizeUrl(request)))
  })

  test('is of the only one that was shown: a new only one is not meant', async () => {
    const { agent, page } = await asked(request, bob)
    members.set('2', [globex])
    const again = await agent.decide(page, 'allow')
    expect(again.status).toBe(400)
    expect(textOf(again)).toMatch(/You no longer have access to that workspace .*Workspace Globex/)
    const { id_token } = await answerOf(redeem(host, codeOf(await agent.decide(again, 'allow'))))
    expect(claimsOf(id_token).tenant).toBe(globex.id)
  })

  test.each([[{}], [{ prompt: 'none' }], [{ tenant: 'acme' }], [{ client_id: 'ours', scope: 'openid' }]])(
    'of nobody who belongs to none: the client hears access_denied, %j',
    async (change) => {
      const { agent } = await visit()
      members.set('1', [])
      const answer = await agent.open(authorizeUrl({ ...request, ...change }))
      expectErrorRedirect(answer, 'access_denied', { state: 's' })
      expect(answer.location?.searchParams.get('error_description')).toContain('no workspace')
    },
  )

  test('of somebody who belonged to some while they read: the client hears it', async () => {
    const { agent, page } = await asked()
    members.set('1', [])
    expectErrorRedirect(await pick(agent, page, acme), 'access_denied', { state: 's' })
    const other = await visit(request, bob)
    members.set('2', [])
    expectErrorRedirect(await other.agent.open(other.answer.url.href), 'access_denied', { state: 's' })
  })

  test('is made again when the user left between the answer and the code', async () => {
    const { agent, page } = await asked()
    const fields = { ...fieldsOf(page, 'value="allow"'), decision: 'allow', tenant: 'acme' }
    const answered = await agent.post('/oauth/consent', fields)
    members.set('1', [globex, initech])
    const again = await agent.follow(answered)
    expect(isConsent(again)).toEqual(consentPage)
    expect(choicesOf(again).map(({ id }) => id)).toEqual([globex.id, initech.id])
    const { id_token } = await answerOf(redeem(host, codeOf(await pick(agent, again, initech))))
    expect(claimsOf(id_token).tenant).toBe(initech.id)
    expect((await table('consents')).map(({ tenant }) => tenant)).toEqual([initech.id])
  })

  test('counts for no other workspace, though that one is the only one left and was allowed before', async () => {
    const { agent } = await tokensFor(globex)
    const wider = { ...request, scope: `${scope} profile` }
    const { page } = await asked(wider, ada, agent)
    const fields = { ...fieldsOf(page, 'value="allow"'), decision: 'allow', tenant: 'acme' }
    const answered = await agent.post('/oauth/consent', fields)
    members.set('1', [globex])
    expect(isConsent(await agent.follow(answered))).toEqual(consentPage)
  })

  test('shows hostile names as text, and gives hostile ids back as they were', async () => {
    const hostile: Tenant[] = [
      { id: '"><script>alert(1)</script>', name: '</bdi><script>alert("x")</script>' },
      { id: "' autofocus onfocus='x", name: '\u202eevil\u0000<img src=x onerror=y> {client} <%= 1 %>' },
      { id: 'twin \u202e1', name: 'Twin' },
      { id: 'twin&amp;2', name: 'Twin' },
    ]
    members.set('1', hostile)
    const { agent, page } = await asked()
    expect(aliveIn(page)).toEqual([])
    expect(textOf(page)).toContain('{client} &lt;%= 1 %&gt;')
    // Two of one name can be told apart.
    expect(textOf(page)).toMatch(/Twin twin 1.*Twin twin&amp;amp;2/)
    for (const [number, tenant] of hostile.entries()) {
      const { answer } = await visit(request, ada, agent)
      const values = [...answer.html.matchAll(/<input type="radio"[^>]*value="([^"]*)"/g)]
      const value = values[number]?.[1]?.replace(/&(?:#(\d+)|(\w+));/g, (_, code, name) =>
        code
          ? String.fromCodePoint(Number(code))
          : ({ amp: '&', lt: '<', gt: '>', quot: '"' }[String(name)] ?? ''),
      )
      expect(value).toBe(tenant.id)
      const { id_token } = await answerOf(redeem(host, codeOf(await pick(agent, answer, tenant))))
      expect(claimsOf(id_token).tenant).toBe(tenant.id)
    }
    const list = await agent.open('/oauth/account')
    expect(aliveIn(list)).toEqual([])
    members.set('1', [])
    expect(aliveIn(await agent.open('/oauth/account'))).toEqual([])
  })

  test('an id may be 255 characters long', async () => {
    const long = { id: '長'.repeat(255), name: 'Long' }
    members.set('1', [acme, long])
    const { agent, tokens } = await tokensFor(long)
    expect(claimsOf(tokens.id_token).tenant).toBe(long.id)
    codeOf(await agent.get(authorizeUrl({ ...request, tenant: long.id })))
  })

  test('is asked of the host with its own row, and with the request on pages only', async () => {
    const { tokens } = await tokensFor(acme)
    expect(told.length).toBeGreaterThan(0)
    for (const { user } of told)
      expect(user).toMatchObject({ id: 1, email: ada.email, full_name: 'Ada Lovelace' })
    expect(new Set(told.slice(0, 3).map(({ hasRequest }) => hasRequest))).toEqual(new Set([true]))
    told.length = 0
    await guarded(tokens).expect(200)
    expect(told.map(({ hasRequest }) => hasRequest)).toEqual([false])
  })
})

describe('what was chosen before', () => {
  test('is ticked, and asked again', async () => {
    const { agent } = await tokensFor(globex)
    const { page } = await asked(request, ada, agent)
    expect(choicesOf(page).map(({ checked }) => checked)).toEqual([false, true])
    // By itself it is an answer.
    codeOf(await agent.decide(page, 'allow'))
  })

  test('for another client, or by another user, is not', async () => {
    const { agent } = await tokensFor(globex)
    const { page } = await asked({ client_id: 'ours', scope: 'openid' }, ada, agent)
    expect(choicesOf(page).map(({ checked }) => checked)).toEqual([false, false])
    members.set('2', [acme, globex])
    const bobs = await asked(request, bob)
    expect(choicesOf(bobs.page).map(({ checked }) => checked)).toEqual([false, false])
  })

  test('and left since is not', async () => {
    const { agent } = await tokensFor(globex)
    members.set('1', [acme, initech])
    const { page } = await asked(request, ada, agent)
    expect(choicesOf(page)).toMatchObject([
      { id: 'acme', checked: false },
      { id: 'initech', checked: false },
    ])
  })
})

describe('a request that names a workspace', () => {
  test('shows that one alone, and needs no page where it was allowed before', async () => {
    const agent = browser()
    for (const tenant of [acme, globex]) {
      const named = { ...request, tenant: tenant.id }
      const { page } = await asked(named, ada, agent)
      expect(choicesOf(page)).toEqual([])
      const { id_token } = await answerOf(redeem(host, codeOf(await agent.decide(page, 'allow'))))
      expect(claimsOf(id_token).tenant).toBe(tenant.id)
    }
    for (const tenant of [globex, acme]) {
      const code = codeOf(await agent.get(authorizeUrl({ ...request, tenant: tenant.id, prompt: 'none' })))
      expect(claimsOf((await answerOf(redeem(host, code))).id_token).tenant).toBe(tenant.id)
    }
    expect((await table('consents')).map(({ tenant }) => tenant).sort()).toEqual([globex.id, 'acme'].sort())
  })

  test('is heard through the sign-in too', async () => {
    const { answer } = await visit({ ...request, client_id: 'ours', scope: 'openid', tenant: globex.id })
    const { id_token } = await answerOf(redeem(host, codeOf(answer), { client_id: 'ours' }))
    expect(claimsOf(id_token).tenant).toBe(globex.id)
  })

  test.each(['initech', 'nobody', 'ACME', 'acme ', 'x'.repeat(300)])(
    'that the user does not belong to is denied: %s',
    async (tenant) => {
      const { agent, answer } = await visit({ ...request, tenant })
      expectErrorRedirect(answer, 'access_denied', { state: 's' })
      expectErrorRedirect(
        await agent.get(authorizeUrl({ ...request, tenant, prompt: 'none' })),
        'access_denied',
        {
          state: 's',
        },
      )
    },
  )

  test('with control characters, or twice, is malformed', async () => {
    const { agent } = await visit()
    expectErrorRedirect(await agent.get(authorizeUrl({ ...request, tenant: 'a\0b' })), 'invalid_request', {
      state: 's',
    })
    const twice = await agent.get(`${authorizeUrl({ ...request, tenant: 'acme' })}&tenant=${globex.id}`)
    expectErrorRedirect(twice, 'invalid_request', { state: 's' })
  })

  test('is answered for no other one, whatever the form says', async () => {
    const { agent, page } = await asked({ ...request, tenant: 'acme' })
    const again = await agent.decide(page, 'allow', { tenant: globex.id })
    expect(again.status).toBe(400)
    expect(await table('authorizations')).toEqual([])
    const { id_token } = await answerOf(redeem(host, codeOf(await agent.decide(again, 'allow'))))
    expect(claimsOf(id_token).tenant).toBe('acme')
  })

  test('by a form of another site is one too', async () => {
    const { agent } = await visit()
    const [path = '', query] = authorizeUrl({ ...request, tenant: 'initech' }).split('?')
    const sent = await agent.post(path, Object.fromEntries(new URLSearchParams(query)))
    expectErrorRedirect(await agent.follow(sent), 'access_denied', { state: 's' })
  })
})

describe('without a page (prompt=none)', () => {
  const silent = { ...request, prompt: 'none' }

  test('nobody can choose', async () => {
    const { agent } = await visit()
    expectErrorRedirect(await agent.get(authorizeUrl(silent)), 'interaction_required', { state: 's' })
  })

  test('the last choice is taken while it stands', async () => {
    const { agent } = await tokensFor(globex)
    const { id_token } = await answerOf(redeem(host, codeOf(await agent.get(authorizeUrl(silent)))))
    expect(claimsOf(id_token).tenant).toBe(globex.id)
    const wider = await agent.get(authorizeUrl({ ...silent, scope: `${scope} profile` }))
    expectErrorRedirect(wider, 'consent_required', { state: 's' })
    members.set('1', [acme, initech])
    expectErrorRedirect(await agent.get(authorizeUrl(silent)), 'interaction_required', { state: 's' })
  })

  test('the last one is the one used last; of two in one second nobody knows', async () => {
    const clock = stopClock()
    const silentTenant = async (agent: RawBrowser) => {
      const { id_token } = await answerOf(redeem(host, codeOf(await agent.get(authorizeUrl(silent)))))
      return claimsOf(id_token).tenant
    }
    const { agent } = await tokensFor(acme)
    clock.travel(1)
    await tokensFor(globex, agent)
    expect(await silentTenant(agent)).toBe(globex.id)
    clock.travel(1)
    codeOf(await agent.get(authorizeUrl({ ...request, tenant: 'acme' })))
    expect(await silentTenant(agent)).toBe('acme')
    const { page } = await asked(request, ada, agent)
    expect(choicesOf(page).map(({ checked }) => checked)).toEqual([true, false])
    codeOf(await agent.get(authorizeUrl({ ...request, tenant: globex.id })))
    expectErrorRedirect(await agent.get(authorizeUrl(silent)), 'interaction_required', { state: 's' })
  })

  test('a workspace that was never allowed is not', async () => {
    const { agent } = await tokensFor(globex)
    const named = await agent.get(authorizeUrl({ ...silent, tenant: 'acme' }))
    expectErrorRedirect(named, 'consent_required', { state: 's' })
  })
})

describe('where nothing else is left to ask', () => {
  const ours = { client_id: 'ours', scope: 'openid', state: 's' }
  const choosePage = async (parameters: Record<string, string>, agent = browser()) => {
    const { page } = await asked(parameters, ada, agent)
    expect(textOf(page)).toMatch(
      /Choose a workspace to continue to (Ours|Web client) \(client\.example\.com\)/,
    )
    expect(textOf(page)).not.toMatch(/Allow|Recognise your account|What will be shared/)
    return { agent, page }
  }
  const choose = (agent: RawBrowser, page: Answer, { id: tenant }: Tenant) =>
    agent.submit(page, 'value="choose"', { decision: 'choose', tenant })

  test('the page asks for the workspace alone: a client of the host’s own', async () => {
    const { agent, page } = await choosePage(ours)
    expect(choicesOf(page).map(({ checked }) => checked)).toEqual([false, false])
    const code = codeOf(await choose(agent, page, globex))
    expect(claimsOf((await answerOf(redeem(host, code, { client_id: 'ours' }))).id_token).tenant).toBe(
      globex.id,
    )
    expect(events.map(({ type }) => type)).not.toContain('consent.allowed')
    expect(await table('consent_receipts')).toEqual([])
    // The choice is remembered, and was not more than a choice.
    const again = await choosePage(ours, agent)
    expect(choicesOf(again.page).map(({ checked }) => checked)).toEqual([false, true])
    codeOf(await agent.get(authorizeUrl({ ...ours, prompt: 'none' })))
    codeOf(await agent.get(authorizeUrl({ ...ours, tenant: 'acme' })))
    expect(
      isConsent(await agent.open(authorizeUrl({ ...ours, prompt: 'consent', tenant: globex.id }))),
    ).toEqual(consentPage)
  })

  test('nor is there a page for a client of the host’s own where there is one', async () => {
    const { answer } = await visit(ours, bob)
    const { id_token } = await answerOf(redeem(host, codeOf(answer), { client_id: 'ours' }))
    expect(claimsOf(id_token).tenant).toBe(initech.id)
  })

  test('a client that was allowed in all of them', async () => {
    const { agent } = await tokensFor(acme)
    await tokensFor(globex, agent)
    const receipts = await table('consent_receipts')
    const { page } = await choosePage(request, agent)
    const { id_token, scope: granted } = await answerOf(redeem(host, codeOf(await choose(agent, page, acme))))
    expect({ granted, tenant: claimsOf(id_token).tenant }).toEqual({ granted: scope, tenant: 'acme' })
    expect(await table('consent_receipts')).toHaveLength(receipts.length)
    expect((await asked({ ...request, scope: `${scope} profile` }, ada, agent)).page.html).toContain(
      'value="allow"',
    )
    expect((await asked({ ...request, prompt: 'consent' }, ada, agent)).page.html).toContain('value="allow"')
  })

  test('one must be chosen, and be the user’s', async () => {
    const { agent, page } = await choosePage(ours)
    const fields = { ...fieldsOf(page, 'value="choose"'), decision: 'choose' }
    for (const tenant of ['', 'nobody', initech.id]) {
      const again = await agent.post('/oauth/consent', { ...fields, tenant })
      expect(again.status).toBe(400)
      expect(again.html).toMatch(/<title>Error: Choose a workspace/)
      expect(again.html).toContain('value="choose"')
    }
    expect(await table('authorizations')).toEqual([])
    expectErrorRedirect(await agent.decide(page, 'deny'), 'access_denied', { state: 's' })
  })

  test('the only one that is left is shown, and not taken for the one that was chosen', async () => {
    const { agent, page } = await choosePage(ours)
    members.set('1', [acme])
    const again = await choose(agent, page, globex)
    expect(again.status).toBe(400)
    expect(textOf(again)).toMatch(/You no longer have access to that workspace .*Workspace Acme/)
    codeOf(await agent.submit(again, 'value="choose"', { decision: 'choose' }))
  })

  test('a choice allows nothing: whoever makes it of a page that asked for more is asked', async () => {
    const { agent, page } = await asked()
    const fields = { ...fieldsOf(page, 'value="allow"'), decision: 'choose', tenant: globex.id }
    const again = await agent.follow(await agent.post('/oauth/consent', fields))
    expect(isConsent(again)).toEqual(consentPage)
    expect(again.html).toContain('value="allow"')
    expect(choicesOf(again).map(({ checked }) => checked)).toEqual([false, true])
    expect(await table('authorizations')).toEqual([])
  })

  test('a client that is removed meanwhile is not let in by a choice', async () => {
    const { agent } = await tokensFor(acme)
    await tokensFor(globex, agent)
    const { page } = await choosePage(request, agent)
    await table('consents').where({ tenant: 'acme' }).delete()
    const again = await choose(agent, page, acme)
    expect(isConsent(again)).toEqual(consentPage)
    expect(again.html).toContain('value="allow"')
  })
})

describe('a user who has left the workspace', () => {
  test('gets no tokens for a code, until they are back', async () => {
    const { agent, page } = await asked()
    const code = codeOf(await pick(agent, page, acme))
    members.set('1', [globex])
    expectError(await redeem(host, code), 400, 'invalid_grant')
    members.set('1', [acme, globex])
    await redeem(host, code).expect(200)
  })

  test('has no token that works, until they are back; those of other workspaces stay', async () => {
    const { agent, tokens } = await tokensFor(acme)
    const other = (await tokensFor(globex, agent)).tokens
    members.set('1', [globex])
    expectError(await refresh(host, tokens.refresh_token), 400, 'invalid_grant')
    for (const token of [tokens.access_token, tokens.refresh_token])
      expect((await introspect(token)).body).toEqual({ active: false })
    const answers = await Promise.all([userinfo(host, tokens.access_token), guarded(tokens)])
    for (const answer of answers) {
      expect({ status: answer.status, error: answer.body.error }).toEqual({
        status: 401,
        error: 'invalid_token',
      })
      expect(answer.headers['www-authenticate']).toContain('error="invalid_token"')
    }
    expect((await guarded(other)).body).toEqual({ tenant: globex.id })
    await refresh(host, other.refresh_token).expect(200)

    members.set('1', [acme])
    expect((await guarded(tokens)).body).toEqual({ tenant: 'acme' })
    await userinfo(host, tokens.access_token).expect(200)
    await refresh(host, tokens.refresh_token).expect(200)
    expect((await guarded(other)).status).toBe(401)
  })

  test('is no theft: a token that was used goes on to be one', async () => {
    const { tokens } = await tokensFor(acme)
    const next = await answerOf(refresh(host, tokens.refresh_token))
    members.set('1', [])
    expectError(await refresh(host, next.refresh_token), 400, 'invalid_grant')
    expect(events.map(({ type }) => type)).not.toContain('authorization.revoked')
    members.set('1', [acme])
    await refresh(host, next.refresh_token).expect(200)
  })
})

describe('an answer of the host’s that is a fault', () => {
  const faults: [string, unknown][] = [
    ['an error', new Error('the directory of Acme is away')],
    ['an error with a status of its own', Object.assign(new Error('the directory of Acme'), { status: 404 })],
    ['nothing', undefined],
    ['no list', { acme: 'Acme' }],
    ['an id that is no text', [{ id: 7, name: 'the directory of Acme' }]],
    ['an id twice', [acme, acme]],
    ['an empty name', [{ id: 'acme', name: '' }]],
  ]

  test.each(faults)('is logged and never shown: %s', async (_, fault) => {
    const { agent, page } = await asked()
    const { tokens } = await tokensFor(acme)
    members.set('1', fault)
    logged.length = 0
    const pages = [
      await agent.get(authorizeUrl({ ...request, prompt: 'none' })),
      await agent.get(page.url.href),
      await agent.post('/oauth/consent', {
        ...fieldsOf(page, 'value="allow"'),
        decision: 'allow',
        tenant: 'acme',
      }),
      await agent.get('/oauth/account'),
    ]
    for (const answer of pages) {
      expectErrorPage(answer, 500)
      expect(answer.html).not.toMatch(/directory|tenants must/)
    }
    const answers = [
      await refresh(host, tokens.refresh_token),
      await introspect(tokens.access_token),
      await introspect(tokens.refresh_token),
      await userinfo(host, tokens.access_token),
      await guarded(tokens),
    ]
    for (const answer of answers) {
      expect({ status: answer.status, error: answer.body.error }).toEqual({
        status: 500,
        error: 'server_error',
      })
      expect(answer.text).not.toMatch(/directory|tenants must/)
    }
    expect(logged).toHaveLength(9)
    for (const words of logged)
      expect(words).toEqual([
        expect.stringMatching(/^latchkey: server_error [0-9a-f-]{36}$/),
        expect.objectContaining({ message: 'latchkey: the option tenants failed', cause: expect.anything() }),
      ])
    members.set('1', [acme, globex])
    await refresh(host, tokens.refresh_token).expect(200)
  })
})

describe('connected apps', () => {
  const listOf = ({ html }: Answer) =>
    (html.match(/<section class="client">[\s\S]*?<\/section>/g) ?? []).map((section) => ({
      name: /<h2><bdi>(.*?)</.exec(section)?.[1],
      tenant: /<p>Workspace <bdi>(.*?)</.exec(section)?.[1],
      remove: /href="(\/oauth\/account[^"]*)"/.exec(section)?.[1]?.replaceAll('&amp;', '&') ?? '',
    }))
  const shown = async (agent: RawBrowser) => {
    const list = listOf(await agent.open('/oauth/account')).map(({ name, tenant }) => `${name}: ${tenant}`)
    return list.sort()
  }
  const removalOf = async (agent: RawBrowser, tenant: string): Promise<Answer> => {
    const entry = listOf(await agent.open('/oauth/account')).find((one) => one.tenant === tenant)
    return agent.open(entry?.remove ?? '')
  }
  const both = async () => {
    const { agent, tokens } = await tokensFor(acme)
    return { agent, acmes: tokens, globexes: (await tokensFor(globex, agent)).tokens }
  }

  test('tell a client once for each workspace, by the names; one that was left by its id', async () => {
    const { agent } = await both()
    expect(await shown(agent)).toEqual(['Web client: Acme &amp; Sons', 'Web client: Globex'])
    members.set('1', [acme])
    expect(await shown(agent)).toEqual(['Web client: 7f0c-globex', 'Web client: Acme &amp; Sons'])
  })

  test('removing one ends that one and no other', async () => {
    const { agent, acmes, globexes } = await both()
    const page = await removalOf(agent, 'Globex')
    expect(textOf(page)).toContain('Web client can no longer use the workspace Globex, on any device.')
    const done = await agent.submit(page, 'csrf_token')
    expect(textOf(done)).toContain('Access removed. Web client can no longer use the workspace Globex.')
    expect(listOf(done).map(({ tenant }) => tenant)).toEqual(['Acme &amp; Sons'])

    expect((await guarded(globexes)).status).toBe(401)
    expectError(await refresh(host, globexes.refresh_token), 400, 'invalid_grant')
    expect((await guarded(acmes)).body).toEqual({ tenant: 'acme' })
    await refresh(host, acmes.refresh_token).expect(200)
    expect(isConsent(await agent.open(authorizeUrl({ ...request, tenant: globex.id })))).toEqual(consentPage)
    codeOf(await agent.get(authorizeUrl({ ...request, tenant: 'acme' })))
    expect(events.filter(({ type }) => type === 'consent.removed')).toMatchObject([
      { subject: '1', clientId: 'web', tenant: globex.id },
    ])
  })

  test('removing one ends all of it, of more than goes in one batch', async () => {
    const { agent } = await both()
    const rows = await table('authorizations')
    for (const row of rows) {
      const copies = Array.from({ length: 130 }, (_, n) => `${row.id.slice(0, 20)}-${n}`)
      await table('authorizations').insert(copies.map((id) => ({ ...row, id, code_hash: id })))
    }
    await agent.submit(await removalOf(agent, 'Globex'), 'csrf_token')
    const standing = await table('authorizations').whereNull('revoked_at')
    expect(standing).toHaveLength(131)
    for (const { request: stored } of standing) expect(JSON.parse(stored).tenant).toBe('acme')
  })

  test('one that was left can be removed too', async () => {
    const { agent, globexes } = await both()
    members.set('1', [acme])
    await agent.submit(await removalOf(agent, globex.id), 'csrf_token')
    expect(await shown(agent)).toEqual(['Web client: Acme &amp; Sons'])
    members.set('1', [acme, globex])
    expect((await guarded(globexes)).status).toBe(401)
  })

  test('the form of one workspace removes no other', async () => {
    const { agent, acmes } = await both()
    const page = await removalOf(agent, 'Globex')
    const fields = fieldsOf(page, 'csrf_token')
    expect(fields).toEqual({ client_id: 'web', tenant: globex.id, csrf_token: expect.any(String) })
    expectErrorPage(await agent.post('/oauth/account', { ...fields, tenant: 'acme' }), 403)
    const { tenant: _, ...without } = fields
    expectErrorPage(await agent.post('/oauth/account', without), 403)
    expect((await guarded(acmes)).status).toBe(200)
    expect(await shown(agent)).toHaveLength(2)
  })

  test('an address cannot make the page say what its author wants', async () => {
    const { agent } = await both()
    for (const tenant of ['Call 555 0100', 'acme', globex.id]) {
      const page = await agent.open(`/oauth/account?${new URLSearchParams({ removed: 'web', tenant })}`)
      expect(textOf(page)).not.toMatch(/555|Access removed/)
    }
  })

  test('a removal beside a code that is being issued leaves no live token', async () => {
    const { agent } = await both()
    const page = await removalOf(agent, 'Globex')
    const [removed, ...issued] = await Promise.all([
      agent.submit(page, 'csrf_token'),
      ...[1, 2, 3].map(() => agent.clone().get(authorizeUrl({ ...request, tenant: globex.id }))),
    ])
    expect(removed.status).toBe(200)
    for (const answer of issued) {
      const code = answer.location?.searchParams.get('code')
      if (code) expectError(await redeem(host, code), 400, 'invalid_grant')
    }
    expect(await shown(agent)).toEqual(['Web client: Acme &amp; Sons'])
  })
})

describe('what is kept about a user', () => {
  test('tells the workspaces', async () => {
    await tokensFor(globex)
    const { consents, authorizations, receipts } = await host.oauth.users.export(1)
    expect(consents).toMatchObject([{ clientId: 'web', tenant: globex.id }])
    expect(authorizations).toMatchObject([{ clientId: 'web', tenant: globex.id }])
    expect(receipts).toMatchObject([{ clientId: 'web', tenant: globex }])
  })

  test('goes with the user', async () => {
    const { agent } = await tokensFor(acme)
    await tokensFor(globex, agent)
    await host.oauth.users.erase(1)
    expect(await host.oauth.users.export(1)).toEqual({
      consents: [],
      receipts: [],
      authorizations: [],
      logins: [],
    })
    expect(await table('consents').where({ subject: '1' })).toEqual([])
  })
})

describe('actingAs()', () => {
  test('takes a workspace, or the only one', async () => {
    const get = (headers: Record<string, string>) => supertest(host.app).get('/api/tenant').set(headers)
    expect((await get((await actingAs(host.oauth, 1, '', { tenant: globex.id })).headers)).body).toEqual({
      tenant: globex.id,
    })
    expect((await get((await actingAs(host.oauth, 2)).headers)).body).toEqual({ tenant: initech.id })
  })

  test('refuses what nobody could have', async () => {
    await expect(actingAs(host.oauth, 1)).rejects.toThrow('several workspaces')
    await expect(actingAs(host.oauth, 1, '', { tenant: 'initech' })).rejects.toThrow('does not belong')
    members.set('2', [])
    await expect(actingAs(host.oauth, 2)).rejects.toThrow('belongs to no workspace')
  })
})

describe('a host', () => {
  const other = (more: Partial<AuthRouterOptions>): Promise<Host> =>
    startHost({ database: host.database, options: { ...users(), ...more } })
  const users = (): Partial<AuthRouterOptions> => ({ ...options, tenants: undefined })

  test('that knows no workspaces sees nothing of them', async () => {
    const plain = await startHost()
    const agent = new RawBrowser(plain.app)
    const named = authorizeUrl({ ...request, tenant: 'a\0b' })
    const page = await agent.signIn(await agent.open(named))
    expect(page.html).not.toMatch(/tenant|workspace/i)
    const tokens = await answerOf(
      redeem(plain, codeOf(await agent.decide(page, 'allow', { tenant: 'acme' }))),
    )
    expect(claimsOf(tokens.id_token)).not.toHaveProperty('tenant')
    expect((await userinfo(plain, tokens.access_token)).body).not.toHaveProperty('tenant')
    codeOf(await agent.get(named))
    const rows = await plain.database.knex(`${plain.database.tablePrefix}consents`)
    expect(rows.map(({ tenant }) => tenant)).toEqual([''])
    const metadata = await supertest(plain.app).get('/oauth/.well-known/openid-configuration')
    expect(metadata.body.claims_supported).not.toContain('tenant')
    await expect(actingAs(plain.oauth, 1, '', { tenant: 'acme' })).rejects.toThrow(
      'without the option tenants',
    )
    await plain.close()
  })

  test('that begins to have some goes on with what it gave before, and asks for a workspace from then on', async () => {
    const before = await other({})
    const agent = new RawBrowser(before.app)
    const page = await agent.signIn(await agent.open(authorizeUrl(request)))
    const tokens = await answerOf(redeem(before, codeOf(await agent.decide(page, 'allow'))))
    expect((await guarded(tokens)).body).toEqual({ tenant: null })
    const next = await answerOf(refresh(host, tokens.refresh_token))
    expect(claimsOf(next.id_token)).not.toHaveProperty('tenant')
    const { page: now } = await asked()
    expect(choicesOf(now).map(({ checked }) => checked)).toEqual([false, false])
    // Bob has one; what he allows is allowed for that one.
    const { agent: bobs, page: first } = await asked(request, bob)
    codeOf(await bobs.decide(first, 'allow'))
    expect((await table('consents').where({ subject: '2' })).map(({ tenant }) => tenant)).toEqual([
      initech.id,
    ])
  })

  test('that has none any more goes on with what it gave, and its users see each client once', async () => {
    const { agent, tokens } = await tokensFor(acme)
    await tokensFor(globex, agent)
    const after = await other({})
    members.set('1', [])
    expect((await userinfo(after, tokens.access_token)).body).toMatchObject({ tenant: 'acme' })
    const again = new RawBrowser(after.app)
    const list = await again.signIn(await again.open('/oauth/account'))
    expect(list.html.match(/<section class="client">/g)).toHaveLength(1)
    const remove = /href="(\/oauth\/account\?[^"]*)"/.exec(list.html)?.[1] ?? ''
    await again.submit(await again.open(remove), 'csrf_token')
    expect((await userinfo(after, tokens.access_token)).status).toBe(401)
    expect(await table('consents')).toEqual([])
  })

  test('is told at once that the option must be a function', async () => {
    const wrong = { tenants: ['acme'] } as unknown as AuthRouterOptions
    await expect(startHost({ database: host.database, options: wrong })).rejects.toThrow(
      'tenants must be a function',
    )
  })

  test('publishes the claim', async () => {
    const { body } = await supertest(host.app).get('/oauth/.well-known/openid-configuration')
    expect(body.claims_supported.filter((name: string) => name === 'tenant')).toHaveLength(1)
  })
})

test('costs no statement more', async () => {
  const { agent, tokens } = await tokensFor(acme)
  await tokensFor(globex, agent)
  const { knex, tablePrefix } = host.database
  const count = await countStatements(knex, [`${tablePrefix}sessions`, host.usersTable])
  const during = async (run: () => PromiseLike<unknown>): Promise<number> => {
    await run()
    count.reset()
    await run()
    return count.ours.length
  }
  let { refresh_token } = tokens
  expect({
    'authorize and token': await during(async () => {
      const named = authorizeUrl({ client_id: 'web', scope: 'openid email', tenant: 'acme' })
      await answerOf(redeem(host, codeOf(await agent.get(named))))
    }),
    refresh: await during(async () => {
      refresh_token = (await answerOf(refresh(host, refresh_token))).refresh_token
    }),
    userinfo: await during(() => userinfo(host, tokens.access_token).expect(200)),
    introspection: await during(() => introspect(tokens.access_token).expect(/"active":true/)),
    guard: await during(() => guarded(tokens).expect(200)),
  }).toEqual({ 'authorize and token': 8, refresh: 5, userinfo: 1, introspection: 2, guard: 1 })
})

test('a page of a request that is over says so', async () => {
  const { agent, page } = await asked()
  codeOf(await pick(agent, page, acme))
  expectExpiredPage(await pick(agent, page, globex))
})
