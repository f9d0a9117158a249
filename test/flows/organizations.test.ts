import type { Organization } from '../../lib/index.ts'
import { toldApart } from '../../lib/oauth/authorization/organization-list.ts'
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
  change,
  choicesOf,
  choose,
  events,
  globex,
  guarded,
  host,
  initech,
  members,
  pick,
  request,
  scope,
  shownIn,
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
const names = ({ name }: Organization): string => name.replaceAll('&', '&amp;')
const listed = (...organizations: Organization[]) => organizations.map(names)
/** So many workspaces that the list has a search and several pages. */
const many = (count: number): Organization[] =>
  Array.from({ length: count }, (_, number) => ({
    id: `org-${number}`,
    name: `Fjörd ${number}`,
    detail: `${number}.example.no`,
  }))

describe('the choice', () => {
  test('is in the ID token, UserInfo, introspection, req.auth and the events', async () => {
    const { agent, page } = await asked()
    expect(choicesOf(page)).toEqual(listed(acme, globex))
    expect(textOf(page)).toMatch(/Choose a workspace to continue to Web client \(client\.example/)
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

  test('comes before what the client asks for, which one short page says for the chosen one', async () => {
    const pageFor = async (count: number) => {
      members.set('1', many(count))
      const { agent, page } = await asked(request, ada, browser())
      return count === 1 ? page : choose(agent, page, { id: 'org-0', name: '' })
    }
    const one = await pageFor(1)
    const short = await pageFor(2000)
    expect(short.html.length).toBeLessThan(one.html.length + 300)
    expect(textOf(short)).toMatch(/Workspace Fjörd 0 0\.example\.no Change .* will be able to .* Allow/)
    expect(shownIn(short)).toBe('Fjörd 0')
  })

  test('of many is by search and by page, with the last used ones first', async () => {
    members.set('1', many(120))
    const { agent, page } = await asked()
    expect([choicesOf(page).length, textOf(page)]).toEqual([50, expect.stringContaining('1–50 of 120')])
    expect(page.html.length).toBeLessThan(14_000)
    const find = async (q: string, number = '1') => {
      const query = new URLSearchParams({ ...Object.fromEntries(page.url.searchParams), q, page: number })
      return choicesOf(await agent.open(`/oauth/organization?${query}`))
    }
    expect(await find('FJORD 119')).toEqual(['Fjörd 119'])
    expect((await find(' no 17.example ')).slice(0, 2)).toEqual(['Fjörd 17', 'Fjörd 117'])
    expect(await find('')).toEqual(choicesOf(page))
    expect(await find('fjord', '3')).toHaveLength(20)
    expect(await find('fjord', '999')).toHaveLength(20)
    expect(await find('<script>')).toEqual([])
    const next = /<a href="([^"]*)">Next page/.exec(page.html)?.[1]?.replaceAll('&amp;', '&') ?? ''
    expect(choicesOf(await agent.open(next))[0]).toBe('Fjörd 50')
    codeOf(await pick(agent, page, { id: 'org-77', name: '' }))
    const again = await change(agent, (await asked(request, ada, agent)).page)
    expect(choicesOf(again).slice(0, 3)).toEqual(['Fjörd 77', 'Fjörd 0', 'Fjörd 1'])
  })

  test('can be changed on the consent page, where what was unticked stays unticked', async () => {
    const wider = { ...request, scope: 'openid notes:read notes:write' }
    const { agent, page } = await asked(wider)
    const first = await choose(agent, page, acme)
    const { 'scope:notes:write': tick, ...fields } = fieldsOf(first, 'value="allow"')
    expect(tick).toBe('on')
    const list = await agent.follow(
      await agent.post('/oauth/consent', { ...fields, decision: 'organization' }),
    )
    const second = await choose(agent, list, globex)
    expect(shownIn(second)).toBe('Globex')
    expect(fieldsOf(second, 'value="allow"')).not.toHaveProperty('scope:notes:write')
    const done = await answerOf(redeem(host, codeOf(await agent.decide(second, 'allow'))))
    expect([done.scope, claimsOf(done.id_token).org_id]).toEqual(['openid notes:read', globex.id])
  })

  test('must be one of the user, by its id', async () => {
    const { agent, page } = await asked()
    const fields = Object.entries(fieldsOf(page, 'name="organization"'))
    const post = async (...ids: string[]) =>
      agent.follow(
        await agent.post('/oauth/organization', [
          ...fields,
          ...ids.map((id): [string, string] => ['organization', id]),
        ]),
      )
    // MariaDB does not see the space at the end.
    for (const id of [initech.id, 'acme ', 'Globex']) {
      const again = await post(id)
      expect(textOf(again)).toContain('You no longer have access to that workspace')
      expect(choicesOf(again)).toEqual(listed(acme, globex))
    }
    expectErrorPage(await post('acme', globex.id), 400)
    expectErrorPage(await post(), 400)
    expect(await host.table('authorizations')).toEqual([])
  })

  test('is not necessary for Cancel and for "Not you?"', async () => {
    const one = await asked()
    expectErrorRedirect(await one.agent.decide(one.page, 'deny'), 'access_denied', { state: 's' })
    expect(events.map(({ type }) => type)).toContain('consent.denied')
    const two = await asked()
    expect((await two.agent.decide(two.page, 'switch')).url.pathname).toBe('/oauth/login')
  })

  test('counts only for the page that named it', async () => {
    const { agent, page } = await asked()
    const consent = await choose(agent, page, acme)
    const again = await agent.decide(consent, 'allow', { organization: globex.id })
    expect(textOf(again)).toContain('This page has changed since you opened it')
    expect(await host.table('consents')).toEqual([])
    // Another tab of the same request has gone on to another workspace meanwhile.
    await choose(agent, again, globex)
    const { id_token } = await answerOf(redeem(host, codeOf(await agent.decide(consent, 'allow'))))
    expect(claimsOf(id_token).org_id).toBe('acme')
  })

  test('is the choice of the user whom the page names', async () => {
    members.set('2', [acme, globex])
    const { agent: hers, page } = await asked()
    const agent = hers.clone()
    const other = await agent.decide(page, 'switch')
    await agent.signIn(other, bob.email, bob.password)
    const again = await choose(agent, page, acme)
    expect(pageOf(again)).toBe('200 /organization')
    expect(textOf(again)).toContain(`You’re now signed in as ${bob.email}`)
  })

  test('is shown as text if there is only one, and is accepted for that one only', async () => {
    const { agent, page } = await asked(request, bob)
    expect(choicesOf(page)).toEqual([])
    expect(textOf(page)).toMatch(/Workspace Initech/)
    expect(fieldsOf(page, 'value="allow"').organization).toBe(initech.id)
    expect(page.html).not.toContain('value="organization"')
    members.set('2', [globex])
    const again = await agent.decide(page, 'allow')
    expect(textOf(again)).toMatch(/You no longer have access to that workspace\. .*Workspace Globex/)
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
      {
        id: "' autofocus onfocus='x",
        name: '\u202eevil\u0000<img src=x onerror=y> {client} <%= 1 %>',
        detail: '</bdi><script>alert("y")</script>',
      },
      { id: 'twin \u202e1', name: 'Twin' },
      { id: 'twin&amp;2', name: 'Twin' },
    ]
    members.set('1', hostile)
    const { agent, page } = await asked()
    expect(aliveIn(page)).toEqual([])
    expect(textOf(page)).toContain('{client} &lt;%= 1 %&gt;')
    // Two of one name are distinguishable, and no other one has its id beside it.
    expect(textOf(page)).toMatch(/Twin twin 1.*Twin twin&amp;amp;2/)
    const twins = [acme, globex, initech].flatMap((one) => [one, { ...one, id: `${one.id}-2` }])
    const alone = { id: 'alone', name: 'Alone' }
    expect(toldApart([...twins, alone]).flatMap(({ detail }) => detail ?? [])).toHaveLength(6)
    for (const organization of hostile) {
      const { answer: first } = await visit(request, ada, agent)
      const answer = pageOf(first) === '200 /consent' ? await change(agent, first) : first
      expect(aliveIn(answer)).toEqual([])
      const values = [...answer.html.matchAll(/<button[^>]* name="organization" value="([^"]*)"/g)].map(
        ([, value = '']) =>
          value.replace(/&(?:#(\d+)|(\w+));/g, (_, code, name) =>
            code
              ? String.fromCodePoint(Number(code))
              : ({ amp: '&', lt: '<', gt: '>', quot: '"' }[String(name)] ?? ''),
          ),
      )
      expect(values).toContain(organization.id)
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

  test('is suggested next time, for the same client and user, while the user belongs to it', async () => {
    const { agent } = await tokensFor(globex)
    const { page } = await asked(request, ada, agent)
    expect(shownIn(page)).toBe('Globex')
    const other = await asked({ client_id: 'ours', scope: 'openid' }, ada, agent)
    expect(choicesOf(other.page)).toEqual(listed(acme, globex))
    members.set('2', [acme, globex])
    expect(choicesOf((await asked(request, bob)).page)).toEqual(listed(acme, globex))
    members.set('1', [acme, initech])
    expect(choicesOf((await asked(request, ada, agent)).page)).toEqual(listed(acme, initech))
  })

  test('needs one press where the client was allowed before, and the whole page elsewhere', async () => {
    const { agent } = await tokensFor(globex)
    const receipts = await host.table('consent_receipts')
    const { page } = await asked(request, ada, agent)
    expect(textOf(page)).toMatch(/Continue to Web client .*Workspace Globex Change .*Continue/)
    expect(textOf(page)).not.toMatch(/Allow|will be able to/)
    const other = await choose(agent, page, acme)
    expect(shownIn(other)).toBe('Acme &amp; Sons')
    expect(textOf(other)).toMatch(/will be able to .* Allow/)
    codeOf(await agent.submit(page, 'value="choose"', { decision: 'choose' }))
    expect(await host.table('consent_receipts')).toHaveLength(receipts.length)
    // What is new is asked for, and marked as new, in the workspace that was used last.
    const wider = await asked({ ...request, scope: `${scope} notes:write` }, ada, agent)
    expect(shownIn(wider.page)).toBe('Globex')
    expect(textOf(wider.page)).toMatch(/Write notes for you New .*can already do/)
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
    expect(textOf(again)).toContain('You no longer have access to that workspace')
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
    expect(shownIn(page)).toBe('Acme &amp; Sons')
    codeOf(await agent.get(authorizeUrl({ ...request, organization: globex.id })))
    expectErrorRedirect(await agent.get(authorizeUrl(silent)), 'interaction_required', { state: 's' })
  })
})

describe('where nothing else is left to ask', () => {
  const ours = { client_id: 'ours', scope: 'openid', state: 's' }
  /** The page where Ours was used before. */
  const continuePage = async (agent: RawBrowser) => {
    const { page } = await asked(ours, ada, agent)
    expect(textOf(page)).toContain('Continue to Ours')
    expect(textOf(page)).not.toMatch(/Allow|Sign you in|will be able to/)
    return page
  }
  const proceed = (agent: RawBrowser, page: Answer) =>
    agent.submit(page, 'value="choose"', { decision: 'choose' })

  test('a first-party client gets its answer with the choice, and the next time with one press', async () => {
    const { agent, page } = await asked(ours)
    expect(choicesOf(page)).toEqual(listed(acme, globex))
    expect(await organizationOf(await choose(agent, page, globex), 'ours')).toBe(globex.id)
    expect(events.map(({ type }) => type)).not.toContain('consent.allowed')
    expect(await host.table('consent_receipts')).toEqual([])
    // The choice is remembered, and was not more than a choice.
    const again = await continuePage(agent)
    expect(shownIn(again)).toBe('Globex')
    expect(await organizationOf(await proceed(agent, again), 'ours')).toBe(globex.id)
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

  test('another workspace where the client was allowed needs only the choice', async () => {
    const clock = stopClock()
    const { agent } = await tokensFor(acme)
    clock.travel(1)
    await tokensFor(globex, agent)
    const receipts = await host.table('consent_receipts')
    clock.travel(1)
    const { page } = await asked(request, ada, agent)
    const { id_token, scope: granted } = await answerOf(redeem(host, codeOf(await choose(agent, page, acme))))
    expect([granted, claimsOf(id_token).org_id]).toEqual([scope, 'acme'])
    expect(await host.table('consent_receipts')).toHaveLength(receipts.length)
    for (const more of [{ scope: `${scope} profile` }, { prompt: 'consent' }] as Record<string, string>[])
      expect((await asked({ ...request, ...more }, ada, agent)).page.html).toContain('value="allow"')
  })

  test('who goes to choose another one has chosen nothing until then', async () => {
    const { agent } = await tokensFor(globex)
    const { page } = await asked(request, ada, agent)
    await change(agent, page)
    const query = new URLSearchParams([...page.url.searchParams].slice(0, 1))
    expect(pageOf(await agent.open(`/oauth/authorize?${query}`))).toBe('200 /consent')
    expect(await host.table('authorizations')).toHaveLength(1)
  })

  test('if the last used one is gone, the page says so and the others are there to choose', async () => {
    const { agent, page } = await asked(ours)
    await choose(agent, page, globex)
    const again = await continuePage(agent)
    members.set('1', [acme, initech])
    const other = await proceed(agent, again)
    expect(textOf(other)).toContain('You no longer have access to that workspace')
    expect(choicesOf(other)).toEqual(listed(acme, initech))
    codeOf(await choose(agent, other, initech))
  })

  test('a choice alone allows nothing: a page that asks for more is shown again', async () => {
    const { agent, page } = await asked()
    const consent = await choose(agent, page, globex)
    const again = await agent.submit(consent, 'value="allow"', { decision: 'choose' })
    expect(pageOf(again)).toBe('200 /consent')
    expect(again.html).toContain('value="allow"')
    expect(shownIn(again)).toBe('Globex')
    expect(await host.table('authorizations')).toEqual([])
  })

  test('the choice alone gives no code to a client that the user has removed meanwhile', async () => {
    const { agent } = await tokensFor(globex)
    const { page } = await asked(request, ada, agent)
    await host.table('consents').where({ organization: globex.id }).delete()
    const again = await proceed(agent, page)
    expect(pageOf(again)).toBe('200 /consent')
    expect(again.html).toContain('value="allow"')
  })
})
