import type { Organization } from '../../lib/index.ts'
import { stopClock } from '../support/clock.ts'
import { authorizeUrl } from '../support/host.ts'
import { claimsOf, codeOf, expectErrorPage, expectErrorRedirect } from '../support/outcomes.ts'
import { type Answer, fieldsOf, pageOf, type RawBrowser, textOf } from '../support/raw-browser.ts'
import { ada, answerOf, bob, introspect, redeem, refresh, userinfo } from '../support/tokens.ts'
import {
  acme,
  aliveIn,
  asked,
  browser,
  choicesOf,
  events,
  globex,
  guarded,
  host,
  initech,
  members,
  pick,
  request,
  scope,
  tokensFor,
  told,
  visit,
  withOrganizations,
} from './organizations.ts'

withOrganizations()

/** The organization in the ID token for the code of an answer. */
const organizationOf = async (answer: Answer, client_id = 'web'): Promise<unknown> => {
  const { id_token } = await answerOf(redeem(host, codeOf(answer), { client_id }))
  return claimsOf(id_token).org_id
}
const ticked = (page: Answer): boolean[] => choicesOf(page).map(({ checked }) => checked)

describe('the choice', () => {
  test('is in the ID token, UserInfo, introspection, req.auth and the events', async () => {
    const { agent, page } = await asked()
    expect(choicesOf(page)).toEqual([
      { id: 'acme', name: 'Acme &amp; Sons', checked: false },
      { id: '7f0c-globex', name: 'Globex', checked: false },
    ])
    expect(page.html).toMatch(/<fieldset id="organizations"[^>]*>\s*<legend>Choose a workspace</)
    const tokens = await answerOf(redeem(host, codeOf(await pick(agent, page, globex))))
    expect(claimsOf(tokens.id_token)).toMatchObject({ sub: '1', org_id: globex.id })
    expect((await userinfo(host, tokens.access_token)).body).toMatchObject({ sub: '1', org_id: globex.id })
    for (const token of [tokens.access_token, tokens.refresh_token])
      expect((await introspect(host, token)).body).toMatchObject({ active: true, org_id: globex.id })
    expect((await guarded(tokens)).body).toEqual({ organization: globex.id })
    const about = { subject: '1', organization: globex.id }
    for (const type of ['consent.allowed', 'authorization.issued', 'tokens.issued'])
      expect(events.filter((event) => event.type === type)).toMatchObject([about])
    const next = await answerOf(refresh(host, tokens.refresh_token))
    expect(claimsOf(next.id_token)).toMatchObject({ org_id: globex.id })
    expect((await guarded(next)).body).toEqual({ organization: globex.id })
  })

  test('is required: the page comes back with an error and keeps what was ticked', async () => {
    const { agent, page } = await asked({ ...request, scope: 'openid notes:write' })
    const { 'scope:notes:write': _, ...fields } = fieldsOf(page, 'value="allow"')
    const again = await agent.post('/oauth/consent', { ...fields, decision: 'allow' })
    expect(again.status).toBe(400)
    expect(again.html).toMatch(/<title>Error: /)
    expect(again.html).toMatch(/role="alert" id="error">[\s\S]*<a href="#organization-0">/)
    expect(again.html).toMatch(/<fieldset [^>]*organizations-text error"[^>]*aria-invalid="true"/)
    expect(fieldsOf(again, 'value="allow"')).not.toHaveProperty('scope:notes:write')
    expect(await host.table('consents')).toEqual([])
    expect(events.map(({ type }) => type)).not.toContain('consent.allowed')
    const done = await answerOf(redeem(host, codeOf(await pick(agent, again, acme))))
    expect([done.scope, claimsOf(done.id_token).org_id]).toEqual(['openid', 'acme'])
  })

  test('must be one of the user, by its id', async () => {
    const { agent, page } = await asked()
    const fields = Object.entries({ ...fieldsOf(page, 'value="allow"'), decision: 'allow' })
    const post = (...ids: string[]) =>
      agent.post('/oauth/consent', [...fields, ...ids.map((id): [string, string] => ['organization', id])])
    // MariaDB does not see the space at the end.
    for (const id of [initech.id, 'acme ', 'Globex']) {
      const again = await post(id)
      expect([again.status, again.headers.location]).toEqual([400, undefined])
      expect(textOf(again)).toContain('You no longer have access to that workspace')
      expect(ticked(again)).toEqual([false, false])
    }
    expectErrorPage(await post('acme', globex.id), 400)
    expect(await host.table('authorizations')).toEqual([])
  })

  test('is not necessary for Cancel and for "Not you?"', async () => {
    const one = await asked()
    expectErrorRedirect(await one.agent.decide(one.page, 'deny'), 'access_denied', { state: 's' })
    const two = await asked()
    expect((await two.agent.decide(two.page, 'switch')).url.pathname).toBe('/oauth/login')
  })

  test('is shown as text if there is only one, and is accepted for that one only', async () => {
    const { agent, page } = await asked(request, bob)
    expect(choicesOf(page)).toEqual([])
    expect(textOf(page)).toMatch(/Workspace Initech/)
    expect(fieldsOf(page, 'value="allow"').organization).toBe(initech.id)
    members.set('2', [globex])
    const again = await agent.decide(page, 'allow')
    expect(again.status).toBe(400)
    expect(textOf(again)).toMatch(/You no longer have access to that workspace .*Workspace Globex/)
    expect(await organizationOf(await agent.decide(again, 'allow'))).toBe(globex.id)
    // Nothing is left to ask.
    codeOf(await agent.get(authorizeUrl(request)))
  })

  test.each([
    ['in none', {}, [], 'You’re not in a workspace yet', 'the user belongs to no organization'],
    [
      'in another one',
      { organization: globex.id },
      [acme],
      'You’re not in this workspace',
      'organization does not',
    ],
  ])(
    'a user who is %s is told so before the client gets access_denied',
    async (_, named, own, heading, said) => {
      const { agent, page } = await asked()
      members.set('1', own)
      if (own.length === 0) expect(textOf(await pick(agent, page, acme))).toContain(heading)
      for (const change of [{}, { client_id: 'ours', scope: 'openid' }]) {
        const told = await agent.open(authorizeUrl({ ...request, ...named, ...change }))
        expect(pageOf(told)).toBe('403 /access-denied')
        expect(textOf(told)).toMatch(new RegExp(`${heading}.*Use another account.*Back to`))
        // Another account can go on.
        const form = await agent.submit(told, 'value="switch"', { decision: 'switch' })
        expect(form.html).toContain('name="password"')
        const answer = await agent.submit(told, 'value="back"', { decision: 'back' })
        expectErrorRedirect(answer, 'access_denied', { state: 's' })
        expect(answer.location?.searchParams.get('error_description')).toContain(said)
      }
    },
  )

  test('a user who joins a workspace meanwhile goes on by a reload', async () => {
    const { agent } = await asked()
    members.set('1', [])
    const told = await agent.open(authorizeUrl(request))
    members.set('1', [acme])
    expect(textOf(await agent.open(told.url.pathname + told.url.search))).toContain('Workspace Acme')
  })

  test('shows hostile names as text, and gives hostile ids back as they were', async () => {
    const hostile: Organization[] = [
      { id: '"><script>alert(1)</script>', name: '</bdi><script>alert("x")</script>' },
      { id: "' autofocus onfocus='x", name: '\u202eevil\u0000<img src=x onerror=y> {client} <%= 1 %>' },
      { id: 'twin \u202e1', name: 'Twin' },
      { id: 'twin&amp;2', name: 'Twin' },
    ]
    members.set('1', hostile)
    const { agent, page } = await asked()
    expect(aliveIn(page)).toEqual([])
    expect(textOf(page)).toContain('{client} &lt;%= 1 %&gt;')
    // Two of one name are distinguishable.
    expect(textOf(page)).toMatch(/Twin twin 1.*Twin twin&amp;amp;2/)
    for (const [number, organization] of hostile.entries()) {
      const { answer } = await visit(request, ada, agent)
      const values = [...answer.html.matchAll(/<input type="radio"[^>]*value="([^"]*)"/g)]
      const value = values[number]?.[1]?.replace(/&(?:#(\d+)|(\w+));/g, (_, code, name) =>
        code
          ? String.fromCodePoint(Number(code))
          : ({ amp: '&', lt: '<', gt: '>', quot: '"' }[String(name)] ?? ''),
      )
      expect(value).toBe(organization.id)
      const { id_token } = await answerOf(redeem(host, codeOf(await pick(agent, answer, organization))))
      expect(claimsOf(id_token).org_id).toBe(organization.id)
    }
    const list = await agent.open('/oauth/account')
    expect(aliveIn(list)).toEqual([])
    members.set('1', [])
    expect(aliveIn(await agent.open('/oauth/account'))).toEqual([])
  })

  test('calls the host’s function with its own row, and with the request on pages only', async () => {
    const { tokens } = await tokensFor(acme)
    expect(told.length).toBeGreaterThan(0)
    for (const { user } of told)
      expect(user).toMatchObject({ id: 1, email: ada.email, full_name: 'Ada Lovelace' })
    expect(new Set(told.slice(0, 3).map(({ hasRequest }) => hasRequest))).toEqual(new Set([true]))
    told.length = 0
    await guarded(tokens).expect(200)
    expect(told.map(({ hasRequest }) => hasRequest)).toEqual([false])
  })

  test('is ticked next time, for the same client and user, while the user belongs to it', async () => {
    const { agent } = await tokensFor(globex)
    const { page } = await asked(request, ada, agent)
    expect(ticked(page)).toEqual([false, true])
    const other = await asked({ client_id: 'ours', scope: 'openid' }, ada, agent)
    expect(ticked(other.page)).toEqual([false, false])
    members.set('2', [acme, globex])
    expect(ticked((await asked(request, bob)).page)).toEqual([false, false])
    members.set('1', [acme, initech])
    expect(ticked((await asked(request, ada, agent)).page)).toEqual([false, false])
    members.set('1', [acme, globex])
    // It is an answer without a further click.
    codeOf(await agent.decide(page, 'allow'))
  })
})

describe('a request that names a workspace', () => {
  test('shows only that one, and needs no page if it was allowed before', async () => {
    const agent = browser()
    for (const { id } of [acme, globex]) {
      const { page } = await asked({ ...request, organization: id }, ada, agent)
      expect(choicesOf(page)).toEqual([])
      expect(await organizationOf(await agent.decide(page, 'allow'))).toBe(id)
    }
    for (const { id } of [globex, acme]) {
      const silent = { ...request, organization: id, prompt: 'none' }
      expect(await organizationOf(await agent.get(authorizeUrl(silent)))).toBe(id)
    }
    const kept = (await host.table('consents')).map(({ organization }) => organization)
    expect(kept.sort()).toEqual([globex.id, 'acme'])
  })

  test.each(['initech', 'x'.repeat(300)])(
    'that the user does not belong to is denied: %s',
    async (organization) => {
      const { answer } = await visit({ ...request, organization })
      expect(pageOf(answer)).toBe('403 /access-denied')
      expect(await host.table('authorizations')).toEqual([])
    },
  )

  test('does not accept another one from the form', async () => {
    const { agent, page } = await asked({ ...request, organization: 'acme' })
    const again = await agent.decide(page, 'allow', { organization: globex.id })
    expect(again.status).toBe(400)
    expect(await host.table('authorizations')).toEqual([])
    const { id_token } = await answerOf(redeem(host, codeOf(await agent.decide(again, 'allow'))))
    expect(claimsOf(id_token).org_id).toBe('acme')
  })
})

describe('without a page (prompt=none)', () => {
  const silent = { ...request, prompt: 'none' }

  test('the last choice is used while it is valid', async () => {
    const { agent } = await visit()
    expectErrorRedirect(await agent.get(authorizeUrl(silent)), 'consent_required', { state: 's' })
    await tokensFor(globex, agent)
    expect(await organizationOf(await agent.get(authorizeUrl(silent)))).toBe(globex.id)
    const wider = await agent.get(authorizeUrl({ ...silent, scope: `${scope} profile` }))
    expectErrorRedirect(wider, 'consent_required', { state: 's' })
    members.set('1', [acme, initech])
    expectErrorRedirect(await agent.get(authorizeUrl(silent)), 'interaction_required', { state: 's' })
  })

  test('the last one is the one used last; of two in one second either may be taken', async () => {
    const clock = stopClock()
    const silentOrganization = async (agent: RawBrowser) =>
      organizationOf(await agent.get(authorizeUrl(silent)))
    const { agent } = await tokensFor(acme)
    clock.travel(1)
    await tokensFor(globex, agent)
    expect(await silentOrganization(agent)).toBe(globex.id)
    clock.travel(1)
    codeOf(await agent.get(authorizeUrl({ ...request, organization: 'acme' })))
    expect(await silentOrganization(agent)).toBe('acme')
    const { page } = await asked(request, ada, agent)
    expect(choicesOf(page).map(({ checked }) => checked)).toEqual([true, false])
    codeOf(await agent.get(authorizeUrl({ ...request, organization: globex.id })))
    expectErrorRedirect(await agent.get(authorizeUrl(silent)), 'interaction_required', { state: 's' })
  })
})

describe('where nothing else is left to ask', () => {
  const ours = { client_id: 'ours', scope: 'openid', state: 's' }
  const choosePage = async (parameters: Record<string, string>, agent = browser()) => {
    const { page } = await asked(parameters, ada, agent)
    expect(textOf(page)).toMatch(/Choose a workspace to continue to (Ours|Web client) \(client\.example/)
    expect(textOf(page)).not.toMatch(/Allow|Sign you in|will be able to/)
    return { agent, page }
  }
  const choose = (agent: RawBrowser, page: Answer, { id: organization }: Organization) =>
    agent.submit(page, 'value="choose"', { decision: 'choose', organization })

  test('the page asks only for the organization: a first-party client', async () => {
    const { agent, page } = await choosePage(ours)
    expect(choicesOf(page).map(({ checked }) => checked)).toEqual([false, false])
    expect(await organizationOf(await choose(agent, page, globex), 'ours')).toBe(globex.id)
    expect(events.map(({ type }) => type)).not.toContain('consent.allowed')
    expect(await host.table('consent_receipts')).toEqual([])
    // The choice is remembered, and was not more than a choice.
    const again = await choosePage(ours, agent)
    expect(choicesOf(again.page).map(({ checked }) => checked)).toEqual([false, true])
    codeOf(await agent.get(authorizeUrl({ ...ours, prompt: 'none' })))
    codeOf(await agent.get(authorizeUrl({ ...ours, organization: 'acme' })))
    const asking = authorizeUrl({ ...ours, prompt: 'consent', organization: globex.id })
    expect(pageOf(await agent.open(asking))).toBe('200 /consent')
  })

  test('a first-party client with one organization, or that names one, gets no page', async () => {
    expect(await organizationOf((await visit(ours, bob)).answer, 'ours')).toBe(initech.id)
    const { answer } = await visit({ ...ours, organization: globex.id }, ada, browser())
    expect(await organizationOf(answer, 'ours')).toBe(globex.id)
  })

  test('a client that was allowed in all of them', async () => {
    const { agent } = await tokensFor(acme)
    await tokensFor(globex, agent)
    const receipts = await host.table('consent_receipts')
    const { page } = await choosePage(request, agent)
    const { id_token, scope: granted } = await answerOf(redeem(host, codeOf(await choose(agent, page, acme))))
    expect([granted, claimsOf(id_token).org_id]).toEqual([scope, 'acme'])
    expect(await host.table('consent_receipts')).toHaveLength(receipts.length)
    for (const more of [{ scope: `${scope} profile` }, { prompt: 'consent' }] as Record<string, string>[])
      expect((await asked({ ...request, ...more }, ada, agent)).page.html).toContain('value="allow"')
  })

  test('the user must choose one of their own', async () => {
    const { agent, page } = await choosePage(ours)
    const fields = { ...fieldsOf(page, 'value="choose"'), decision: 'choose' }
    for (const organization of ['', 'unknown-organization', initech.id]) {
      const again = await agent.post('/oauth/consent', { ...fields, organization })
      expect(again.status).toBe(400)
      expect(again.html).toMatch(/<title>Error: Choose a workspace/)
      expect(again.html).toContain('value="choose"')
    }
    expect(await host.table('authorizations')).toEqual([])
    expectErrorRedirect(await agent.decide(page, 'deny'), 'access_denied', { state: 's' })
  })

  test('if the chosen one is gone, the only one left is shown and must be accepted', async () => {
    const { agent, page } = await choosePage(ours)
    members.set('1', [acme])
    const again = await choose(agent, page, globex)
    expect(again.status).toBe(400)
    expect(textOf(again)).toMatch(/You no longer have access to that workspace .*Workspace Acme/)
    codeOf(await agent.submit(again, 'value="choose"', { decision: 'choose' }))
  })

  test('a choice alone allows nothing: a page that asks for more is shown again', async () => {
    const { agent, page } = await asked()
    const fields = { ...fieldsOf(page, 'value="allow"'), decision: 'choose', organization: globex.id }
    const again = await agent.follow(await agent.post('/oauth/consent', fields))
    expect(pageOf(again)).toBe('200 /consent')
    expect(again.html).toContain('value="allow"')
    expect(choicesOf(again).map(({ checked }) => checked)).toEqual([false, true])
    expect(await host.table('authorizations')).toEqual([])
  })

  test('the choice alone gives no code to a client that the user has removed meanwhile', async () => {
    const { agent } = await tokensFor(acme)
    await tokensFor(globex, agent)
    const { page } = await choosePage(request, agent)
    await host.table('consents').where({ organization: 'acme' }).delete()
    const again = await choose(agent, page, acme)
    expect(pageOf(again)).toBe('200 /consent')
    expect(again.html).toContain('value="allow"')
  })
})
