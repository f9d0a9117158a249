import type { Organization } from '../../lib/index.ts'
import { stopClock } from '../support/clock.ts'
import { authorizeUrl } from '../support/host.ts'
import {
  acme,
  aliveIn,
  asked,
  browser,
  choicesOf,
  consentPage,
  events,
  globex,
  guarded,
  host,
  initech,
  introspect,
  isConsent,
  members,
  pick,
  request,
  scope,
  table,
  textOf,
  tokensFor,
  told,
  visit,
  withOrganizations,
} from '../support/organizations.ts'
import { claimsOf, codeOf, expectErrorPage, expectErrorRedirect } from '../support/outcomes.ts'
import { type Answer, fieldsOf, type RawBrowser } from '../support/raw-browser.ts'
import { ada, answerOf, bob, redeem, refresh, userinfo } from '../support/tokens.ts'

withOrganizations()

describe('the choice', () => {
  test('is among the names of all workspaces, none of which is ticked', async () => {
    const { page } = await asked()
    expect(choicesOf(page)).toEqual([
      { id: 'acme', name: 'Acme &amp; Sons', checked: false },
      { id: '7f0c-globex', name: 'Globex', checked: false },
    ])
    expect(page.html).toMatch(/<fieldset id="organizations"[^>]*>\s*<legend>Choose a workspace</)
  })

  test('is in the ID token, UserInfo, introspection and req.auth', async () => {
    const { tokens } = await tokensFor(globex)
    expect(claimsOf(tokens.id_token)).toMatchObject({ sub: '1', org_id: globex.id })
    expect((await userinfo(host, tokens.access_token)).body).toMatchObject({ sub: '1', org_id: globex.id })
    for (const token of [tokens.access_token, tokens.refresh_token])
      expect((await introspect(token)).body).toMatchObject({ active: true, org_id: globex.id })
    expect((await guarded(tokens)).body).toEqual({ organization: globex.id })
    const next = await answerOf(refresh(host, tokens.refresh_token))
    expect(claimsOf(next.id_token)).toMatchObject({ org_id: globex.id })
    expect((await guarded(next)).body).toEqual({ organization: globex.id })
  })

  test('is in the events', async () => {
    await tokensFor(globex)
    const about = { subject: '1', organization: globex.id }
    for (const type of ['consent.allowed', 'authorization.issued', 'tokens.issued'])
      expect(events.filter((event) => event.type === type)).toMatchObject([about])
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
    expect(await table('consents')).toEqual([])
    expect(events.map(({ type }) => type)).not.toContain('consent.allowed')
    const done = await answerOf(redeem(host, codeOf(await pick(agent, again, acme))))
    expect([done.scope, claimsOf(done.id_token).org_id]).toEqual(['openid', 'acme'])
  })

  test.each<[string, readonly [string, string][]]>([
    ['of another user', [['organization', initech.id]]],
    ['with a space at its end, which MariaDB does not see', [['organization', 'acme ']]],
    ['by its name', [['organization', 'Globex']]],
  ])('is not one %s', async (_, extra) => {
    const { agent, page } = await asked()
    const fields = Object.entries({ ...fieldsOf(page, 'value="allow"'), decision: 'allow' })
    const again = await agent.post('/oauth/consent', [...fields, ...extra])
    expect([again.status, again.headers.location]).toEqual([400, undefined])
    expect(textOf(again)).toContain('You no longer have access to that workspace')
    expect(choicesOf(again).map(({ checked }) => checked)).toEqual([false, false])
    expect(await table('authorizations')).toEqual([])
  })

  test('is one: two in a form are no answer', async () => {
    const { agent, page } = await asked()
    const fields = Object.entries({ ...fieldsOf(page, 'value="allow"'), decision: 'allow' })
    const two: [string, string][] = [
      ['organization', 'acme'],
      ['organization', globex.id],
    ]
    expectErrorPage(await agent.post('/oauth/consent', [...fields, ...two]), 400)
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
    expect(fieldsOf(page, 'value="allow"').organization).toBe(initech.id)
    const { id_token } = await answerOf(redeem(host, codeOf(await agent.decide(page, 'allow'))))
    expect(claimsOf(id_token).org_id).toBe(initech.id)
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
    expect(claimsOf(id_token).org_id).toBe(globex.id)
  })

  test.each([
    [{}],
    [{ prompt: 'none' }],
    [{ organization: 'acme' }],
    [{ client_id: 'ours', scope: 'openid' }],
  ])('is impossible for a user without organizations: the client gets access_denied, %j', async (change) => {
    const { agent } = await visit()
    members.set('1', [])
    const answer = await agent.open(authorizeUrl({ ...request, ...change }))
    expectErrorRedirect(answer, 'access_denied', { state: 's' })
    expect(answer.location?.searchParams.get('error_description')).toContain('belongs to no organization')
  })

  test('is impossible for a user who loses all organizations while reading: the client gets access_denied', async () => {
    const { agent, page } = await asked()
    members.set('1', [])
    expectErrorRedirect(await pick(agent, page, acme), 'access_denied', { state: 's' })
    const other = await visit(request, bob)
    members.set('2', [])
    expectErrorRedirect(await other.agent.open(other.answer.url.href), 'access_denied', { state: 's' })
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
    const choices = choicesOf(page).map(({ id, checked }) => `${id} ${checked}`)
    expect(choices).toEqual(['acme false', 'initech false'])
  })
})

describe('a request that names a workspace', () => {
  test('shows only that one, and needs no page if it was allowed before', async () => {
    const agent = browser()
    for (const organization of [acme, globex]) {
      const named = { ...request, organization: organization.id }
      const { page } = await asked(named, ada, agent)
      expect(choicesOf(page)).toEqual([])
      const { id_token } = await answerOf(redeem(host, codeOf(await agent.decide(page, 'allow'))))
      expect(claimsOf(id_token).org_id).toBe(organization.id)
    }
    for (const organization of [globex, acme]) {
      const silent = { ...request, organization: organization.id, prompt: 'none' }
      const code = codeOf(await agent.get(authorizeUrl(silent)))
      expect(claimsOf((await answerOf(redeem(host, code))).id_token).org_id).toBe(organization.id)
    }
    const kept = (await table('consents')).map(({ organization }) => organization)
    expect(kept.sort()).toEqual([globex.id, 'acme'])
  })

  test('is heard through the sign-in too', async () => {
    const ours = { client_id: 'ours', scope: 'openid', organization: globex.id }
    const { answer } = await visit({ ...request, ...ours })
    const { id_token } = await answerOf(redeem(host, codeOf(answer), { client_id: 'ours' }))
    expect(claimsOf(id_token).org_id).toBe(globex.id)
  })

  test.each(['initech', 'x'.repeat(300)])(
    'that the user does not belong to is denied: %s',
    async (organization) => {
      const { agent, answer } = await visit({ ...request, organization })
      expectErrorRedirect(answer, 'access_denied', { state: 's' })
      const silent = await agent.get(authorizeUrl({ ...request, organization, prompt: 'none' }))
      expectErrorRedirect(silent, 'access_denied', { state: 's' })
    },
  )

  test('is answered for no other one, even if the form names it', async () => {
    const { agent, page } = await asked({ ...request, organization: 'acme' })
    const again = await agent.decide(page, 'allow', { organization: globex.id })
    expect(again.status).toBe(400)
    expect(await table('authorizations')).toEqual([])
    const { id_token } = await answerOf(redeem(host, codeOf(await agent.decide(again, 'allow'))))
    expect(claimsOf(id_token).org_id).toBe('acme')
  })
})

describe('without a page (prompt=none)', () => {
  const silent = { ...request, prompt: 'none' }

  test('no choice is possible', async () => {
    const { agent } = await visit()
    expectErrorRedirect(await agent.get(authorizeUrl(silent)), 'interaction_required', { state: 's' })
  })

  test('the last choice is used while it is valid', async () => {
    const { agent } = await tokensFor(globex)
    const { id_token } = await answerOf(redeem(host, codeOf(await agent.get(authorizeUrl(silent)))))
    expect(claimsOf(id_token).org_id).toBe(globex.id)
    const wider = await agent.get(authorizeUrl({ ...silent, scope: `${scope} profile` }))
    expectErrorRedirect(wider, 'consent_required', { state: 's' })
    members.set('1', [acme, initech])
    expectErrorRedirect(await agent.get(authorizeUrl(silent)), 'interaction_required', { state: 's' })
  })

  test('the last one is the one used last; of two in one second either may be taken', async () => {
    const clock = stopClock()
    const silentOrganization = async (agent: RawBrowser) => {
      const { id_token } = await answerOf(redeem(host, codeOf(await agent.get(authorizeUrl(silent)))))
      return claimsOf(id_token).org_id
    }
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
    const code = codeOf(await choose(agent, page, globex))
    const { id_token } = await answerOf(redeem(host, code, { client_id: 'ours' }))
    expect(claimsOf(id_token).org_id).toBe(globex.id)
    expect(events.map(({ type }) => type)).not.toContain('consent.allowed')
    expect(await table('consent_receipts')).toEqual([])
    // The choice is remembered, and was not more than a choice.
    const again = await choosePage(ours, agent)
    expect(choicesOf(again.page).map(({ checked }) => checked)).toEqual([false, true])
    codeOf(await agent.get(authorizeUrl({ ...ours, prompt: 'none' })))
    codeOf(await agent.get(authorizeUrl({ ...ours, organization: 'acme' })))
    const asking = authorizeUrl({ ...ours, prompt: 'consent', organization: globex.id })
    expect(isConsent(await agent.open(asking))).toEqual(consentPage)
  })

  test('a first-party client with one organization gets no page', async () => {
    const { answer } = await visit(ours, bob)
    const { id_token } = await answerOf(redeem(host, codeOf(answer), { client_id: 'ours' }))
    expect(claimsOf(id_token).org_id).toBe(initech.id)
  })

  test('a client that was allowed in all of them', async () => {
    const { agent } = await tokensFor(acme)
    await tokensFor(globex, agent)
    const receipts = await table('consent_receipts')
    const { page } = await choosePage(request, agent)
    const { id_token, scope: granted } = await answerOf(redeem(host, codeOf(await choose(agent, page, acme))))
    expect([granted, claimsOf(id_token).org_id]).toEqual([scope, 'acme'])
    expect(await table('consent_receipts')).toHaveLength(receipts.length)
    for (const more of [{ scope: `${scope} profile` }, { prompt: 'consent' }] as Record<string, string>[])
      expect((await asked({ ...request, ...more }, ada, agent)).page.html).toContain('value="allow"')
  })

  test('one must be chosen, and be the user’s', async () => {
    const { agent, page } = await choosePage(ours)
    const fields = { ...fieldsOf(page, 'value="choose"'), decision: 'choose' }
    for (const organization of ['', 'nobody', initech.id]) {
      const again = await agent.post('/oauth/consent', { ...fields, organization })
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

  test('a choice alone allows nothing: a page that asks for more is shown again', async () => {
    const { agent, page } = await asked()
    const fields = { ...fieldsOf(page, 'value="allow"'), decision: 'choose', organization: globex.id }
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
    await table('consents').where({ organization: 'acme' }).delete()
    const again = await choose(agent, page, acme)
    expect(isConsent(again)).toEqual(consentPage)
    expect(again.html).toContain('value="allow"')
  })
})
