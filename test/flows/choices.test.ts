import { claimsOf, codeOf, expectErrorRedirect } from '../support/outcomes.ts'
import { pageOf, type RawBrowser, textOf } from '../support/raw-browser.ts'
import { answerOf, expectError, guarded, introspect, post, redeem, refresh, web } from '../support/tokens.ts'
import {
  allow,
  api,
  asked,
  everything,
  hooks,
  host,
  ofAda,
  projects,
  requestUrl,
  scope,
  signedIn,
  these,
  tokensOf,
  withProjects,
} from './choices.ts'

withProjects()
let agent: RawBrowser
beforeEach(async () => {
  agent = await signedIn()
})

const chosenBy = async (token: string, path = '/api/projects'): Promise<unknown> =>
  (await guarded(host, token, path)).body.projects

const object = (identifiers?: readonly string[], actions = ['tasks:read', 'tasks:write']) => ({
  type: 'project',
  actions,
  ...(identifiers && { identifiers }),
})
const both = { ...these('p1', 'p2'), 'scope:tasks:write': 'on' }

describe('what the user chose', () => {
  test('is in the token response, at introspection, in a JWT and behind the guard', async () => {
    const tokens = await tokensOf(agent, both)
    expect(tokens.authorization_details).toEqual([object(['p1', 'p2'])])
    const { body } = await introspect(host, tokens.access_token)
    expect(body.authorization_details).toEqual([object(['p1', 'p2'])])
    expect(await chosenBy(tokens.access_token)).toEqual(['p1', 'p2'])
    const jwt = await tokensOf(agent, both, { resource: api, prompt: 'consent' })
    expect(claimsOf(jwt.access_token).authorization_details).toEqual([object(['p1', 'p2'])])
    expect(await chosenBy(jwt.access_token, '/api/jwt')).toEqual(['p1', 'p2'])
  })

  test('opens these projects to the guard and no other, and the challenge names the kind', async () => {
    const { access_token: token } = await tokensOf(agent, these('p1'))
    expect((await guarded(host, token, '/api/projects/p1')).body).toEqual({ id: 'p1' })
    const refused = await guarded(host, token, '/api/projects/p2')
    expectError(refused, 403, 'insufficient_scope')
    expect(refused.headers['www-authenticate']).toMatch(/scope="tasks:read", choice="project"/)
  })

  test('may be all projects, also those that come later, and then no object names any', async () => {
    const tokens = await tokensOf(agent, { ...everything, 'scope:tasks:write': 'on' })
    expect(tokens.authorization_details).toEqual([object()])
    expect(await chosenBy(tokens.access_token)).toBe('all')
    projects.set('1', [...ofAda, { id: 'p4', name: 'New' }])
    expect((await guarded(host, tokens.access_token, '/api/projects/p4')).status).toBe(200)
  })

  test('is nothing for an authorization without scopes of the kind, and its page asks nothing', async () => {
    const page = await agent.open(requestUrl({ scope: 'openid notes:read' }))
    expect(page.html).not.toContain('choice:project')
    const { authorization_details: details } = (await answerOf(
      redeem(host, codeOf(await agent.decide(page, 'allow'))),
    )) as { authorization_details?: unknown }
    expect(details).toBeUndefined()
  })

  test('is asked for a scope that implies one of the kind', async () => {
    const tokens = await tokensOf(agent, these('p3'), { scope: 'tasks:admin' })
    expect(tokens.authorization_details).toEqual([object(['p3'], ['tasks:admin'])])
    expect((await guarded(host, tokens.access_token, '/api/projects/p3')).status).toBe(200)
    expectError(await guarded(host, tokens.access_token, '/api/projects/p1'), 403, 'insufficient_scope')
  })

  test('is not in the response of a client that wants none; its token says it, and guards hold it', async () => {
    const strict = { client_id: 'strict' }
    const own = (code: string, fields: object = {}) =>
      answerOf(redeem(host, code, { ...strict, ...fields })) as Promise<object & { access_token: string }>
    const opaque = await own(codeOf(await allow(agent, these('p1'), strict)))
    expect(opaque).not.toHaveProperty('authorization_details')
    expect(await chosenBy(opaque.access_token)).toEqual(['p1'])
    const { body } = await introspect(host, opaque.access_token, strict)
    expect(body.authorization_details).toEqual([object(['p1'])])
    const code = codeOf(await allow(agent, these('p1'), { ...strict, resource: api }))
    const jwt = await own(code, { resource: api })
    expect(jwt).not.toHaveProperty('authorization_details')
    expect(claimsOf(jwt.access_token).authorization_details).toEqual([object(['p1'])])
    expect(await chosenBy(jwt.access_token, '/api/jwt')).toEqual(['p1'])
  })

  test('is none for a client that acts for itself', async () => {
    const own = await answerOf(post(host, { grant_type: 'client_credentials', scope: 'tasks:read', ...web }))
    expectError(await guarded(host, own.access_token, '/api/projects/p1'), 403, 'insufficient_scope')
  })

  test('is all for a client of the host, without a page', async () => {
    const code = codeOf(await agent.open(requestUrl({ client_id: 'ours' })))
    const tokens = await answerOf(redeem(host, code, { client_id: 'ours' }))
    expect(await chosenBy(tokens.access_token)).toBe('all')
  })

  test('stands in the receipt with names, and in the event', async () => {
    const events: unknown[] = []
    host.oauth.events.on('consent.allowed', ({ choices }) => events.push(choices))
    await tokensOf(agent, { ...these('p2'), duration: 'month' })
    const { receipts } = (await host.oauth.users.export(1)) as unknown as { receipts: object[] }
    expect(receipts[0]).toMatchObject({
      things: [{ kind: 'project', name: 'projects', chosen: [{ id: 'p2', name: 'Office move' }] }],
      until: expect.any(Number),
    })
    expect(events).toEqual([{ project: ['p2'] }])
  })
})

describe('the page', () => {
  test('shows an error if no project is ticked, and keeps the other ticks', async () => {
    const answer = await allow(agent, { 'choice:project': 'these', 'scope:tasks:write': 'on' })
    expect(pageOf(answer)).toBe('200 /consent')
    expect(textOf(answer)).toContain('Choose what Web client may use.')
    expect(answer.html).toMatch(/value="these" checked/)
    expect(answer.html).toMatch(/name="scope:tasks:write"[^>]* checked/)
  })

  test('selects again what was chosen before', async () => {
    await tokensOf(agent, these('p2'))
    const page = await agent.open(requestUrl({ prompt: 'consent' }))
    expect(page.html).toMatch(/name="thing:project:p2" value="on" checked/)
    expect(page.html).not.toMatch(/name="thing:project:p1" value="on" checked/)
  })

  test('selects what the client suggests, and the user decides', async () => {
    const details = JSON.stringify([{ type: 'project', identifiers: ['p3', 'unknown'] }])
    const page = await agent.open(requestUrl({ authorization_details: details }))
    expect(page.html).toMatch(/name="thing:project:p3" value="on" checked/)
    const code = codeOf(await agent.decide(page, 'allow', these('p1')))
    const tokens = await answerOf(redeem(host, code))
    expect(await chosenBy(tokens.access_token)).toEqual(['p3', 'p1'])
  })

  test('is not shown again for the same request, and the choice stays', async () => {
    await tokensOf(agent, { ...these('p1'), 'scope:tasks:write': 'on' })
    const again = await answerOf(redeem(host, codeOf(await agent.open(requestUrl()))))
    expect(await chosenBy(again.access_token)).toEqual(['p1'])
  })

  test('says in German what the host calls the things', async () => {
    const page = await agent.open(requestUrl({ ui_locales: 'de' }))
    expect(textOf(page)).toContain('Welche Projekte')
  })
})

describe('the end that the user sets', () => {
  test('is the end of the authorization, and of the consent', async () => {
    const tokens = await tokensOf(agent, { ...both, duration: 'day' })
    const [row] = await host.table('authorizations').select('expires_at', 'created_at')
    expect(Number(row.expires_at) - Number(row.created_at)).toBe(86_400)
    expect((await introspect(host, tokens.refresh_token)).body.exp).toBe(Number(row.expires_at))
    // A request without a page does not extend it.
    const silent = await answerOf(redeem(host, codeOf(await agent.open(requestUrl({ prompt: 'none' })))))
    expect((await introspect(host, silent.refresh_token)).body.exp).toBe(Number(row.expires_at))
    const terms = { place: 'client.example.com', entries: {}, until: 1 }
    await host.table('consents').update({ terms: JSON.stringify(terms) })
    expectErrorRedirect(await agent.open(requestUrl({ prompt: 'none' })), 'consent_required')
  })
})

describe('a refresh', () => {
  test('keeps the choice, and may ask for less but never for more', async () => {
    const tokens = await tokensOf(agent, both)
    const less = JSON.stringify([{ type: 'project', identifiers: ['p2'] }])
    const narrow = await answerOf(refresh(host, tokens.refresh_token, { authorization_details: less }))
    expect(await chosenBy(narrow.access_token)).toEqual(['p2'])
    expect((await introspect(host, narrow.access_token)).body.authorization_details).toEqual([object(['p2'])])
    const whole = await answerOf(refresh(host, narrow.refresh_token))
    expect(await chosenBy(whole.access_token)).toEqual(['p1', 'p2'])
    const more = JSON.stringify([{ type: 'project', identifiers: ['p2', 'p3'] }])
    const refused = await refresh(host, whole.refresh_token, { authorization_details: more })
    expectError(refused, 400, 'invalid_authorization_details')
  })

  test('loses a project that the user has lost, and gets it back with the user', async () => {
    const tokens = await tokensOf(agent, both)
    projects.set('1', ofAda.slice(1))
    const without = await answerOf(refresh(host, tokens.refresh_token))
    expect(without).toHaveProperty('authorization_details', [object(['p2'])])
    expect(await chosenBy(without.access_token)).toEqual(['p2'])
    projects.set('1', ofAda)
    const back = await answerOf(refresh(host, without.refresh_token))
    expect(await chosenBy(back.access_token)).toEqual(['p1', 'p2'])
  })

  test('says nothing about projects if all of them are lost, and the guard refuses each', async () => {
    const tokens = await tokensOf(agent, these('p1'))
    projects.set('1', [])
    const left = await answerOf(refresh(host, tokens.refresh_token))
    expect(left).not.toHaveProperty('authorization_details')
    expectError(await guarded(host, left.access_token, '/api/projects/p1'), 403, 'insufficient_scope')
  })

  test('answers 500 and uses nothing up if find fails', async () => {
    const tokens = await tokensOf(agent, these('p1'))
    hooks.before = () => {
      throw new Error('broken')
    }
    expect((await refresh(host, tokens.refresh_token)).status).toBe(500)
    hooks.before = undefined
    expect((await refresh(host, tokens.refresh_token)).status).toBe(200)
  })
})

test('a token exchange never widens the choice, also of a token that was for less', async () => {
  const wide = await tokensOf(agent, both)
  const less = JSON.stringify([{ type: 'project', identifiers: ['p2'] }])
  const narrow = await answerOf(refresh(host, wide.refresh_token, { authorization_details: less }))
  const exchange = (subject: string, fields: Record<string, string> = {}) =>
    post(host, {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: subject,
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      ...web,
      ...fields,
    })
  const opaque = await answerOf(exchange(narrow.access_token))
  expect(await chosenBy(opaque.access_token)).toEqual(['p2'])
  const jwt = await answerOf(exchange(opaque.access_token, { resource: api }))
  expect(claimsOf(jwt.access_token).authorization_details).toEqual([object(['p2'])])
  const again = await answerOf(exchange(jwt.access_token, { resource: api }))
  expect(await chosenBy(again.access_token, '/api/jwt')).toEqual(['p2'])
})

describe('attacks', () => {
  test.each([
    ['of another user', 'b1'],
    ['that does not exist', 'p9'],
    ['with a space around it', ' p2'],
  ])('a form with an id %s grants nothing of it', async (_, id) => {
    const first = await allow(agent, these('p1', id))
    // The page says that some of it is lost; an id that cannot be one is no choice at all.
    const answer = first.location ? first : await agent.decide(first, 'allow')
    const tokens = await answerOf(redeem(host, codeOf(answer)))
    expect(await chosenBy(tokens.access_token)).toEqual(['p1'])
  })

  test('a form for another kind grants nothing', async () => {
    const answer = await allow(agent, {
      'choice:account': 'all',
      'thing:account:p1': 'on',
      'choice:project': 'these',
    })
    expect(pageOf(answer)).toBe('200 /consent')
  })

  test('prompt=none does not widen: ids beyond the choice need the page, fewer are granted alone', async () => {
    await tokensOf(agent, both)
    const named = (...identifiers: string[]) => ({
      prompt: 'none',
      authorization_details: JSON.stringify([{ type: 'project', identifiers }]),
    })
    expectErrorRedirect(await agent.open(requestUrl(named('p1', 'p3'))), 'consent_required')
    const fewer = await answerOf(redeem(host, codeOf(await agent.open(requestUrl(named('p1'))))))
    expect(await chosenBy(fewer.access_token)).toEqual(['p1'])
  })

  test('prompt=none does not widen a scope by the choice that was made for another one', async () => {
    await tokensOf(agent, these('p1'), { scope: 'openid tasks:write', prompt: 'consent' })
    await tokensOf(agent, everything, { scope: 'openid tasks:read', prompt: 'consent' })
    const silent = requestUrl({ scope: 'openid tasks:read tasks:write', prompt: 'none' })
    expectErrorRedirect(await agent.open(silent), 'consent_required')
    const read = codeOf(await agent.open(requestUrl({ scope: 'openid tasks:read', prompt: 'none' })))
    expect(await chosenBy((await answerOf(redeem(host, read))).access_token)).toBe('all')
  })

  test.each<[string, string]>([
    ['no JSON', '[{'],
    ['an unknown type', '[{"type":"planet"}]'],
    ['an unknown member', '[{"type":"project","privileges":["admin"]}]'],
    ['an empty list', '[{"type":"project","identifiers":[]}]'],
    ['a nested id', '[{"type":"project","identifiers":[{"$ne":null}]}]'],
    ['bidi characters', '[{"type":"project","identifiers":["p1\u202e"]}]'],
    ['actions beyond the scopes', '[{"type":"project","actions":["tasks:admin"]}]'],
  ])('strange authorization_details are refused: %s', async (_, details) => {
    const answer = await agent.open(requestUrl({ authorization_details: details }))
    expectErrorRedirect(answer, 'invalid_authorization_details')
  })

  test('a forged form of another site allows nothing', async () => {
    const page = await agent.open(requestUrl())
    const answer = await agent.submit(page, 'value="allow"', {
      decision: 'allow',
      ...everything,
      csrf_token: 'x'.repeat(49),
    })
    expect(answer.status).not.toBe(303)
    expect(await host.table('authorizations')).toEqual([])
  })

  test('names with markup and direction characters are shown as text', async () => {
    projects.set('1', [{ id: 'p1', name: '<img src=x onerror=alert(1)>\u202etxt.exe' }])
    const page = await agent.open(requestUrl())
    expect(page.html).toContain('&lt;img src=x onerror=alert(1)&gt;txt.exe')
    expect(page.html).not.toContain('<img src=x')
    expect(page.html).not.toContain('\u202e')
  })

  test('more ids than a page shows are refused, and grant nothing', async () => {
    const many = Array.from({ length: 300 }, (_, n) => ({ id: `p${n}`, name: `Project ${n}` }))
    projects.set('1', many)
    const page = await agent.open(requestUrl())
    const fields = { ...these(...many.map(({ id }) => id)), listed: 'project' }
    expect(pageOf(await agent.decide(page, 'allow', fields))).toBe('400 /consent')
    expect(await host.table('authorizations')).toEqual([])
    for (const { 2: given } of asked) expect(given).not.toHaveProperty('ids.200')
  })

  test('a form that is sent twice at once grants one thing once', async () => {
    const page = await agent.open(requestUrl())
    const press = () => agent.clone().decide(page, 'allow', { ...these('p1'), preset: 'all' })
    const answers = await Promise.all([press(), press(), press()])
    const codes = answers.flatMap(({ location }) => location?.searchParams.get('code') ?? [])
    expect(codes).toHaveLength(1)
    expect(await host.table('authorizations')).toHaveLength(1)
  })

  test('the form of a request whose scopes mean something else now is asked again', async () => {
    const page = await agent.open(requestUrl())
    const shown = page.html.replace(/(name="shown" value=")[^"]*/, '$1x'.padEnd(45, 'x'))
    const answer = await agent.decide({ ...page, html: shown }, 'allow', these('p1'))
    expect(pageOf(answer)).toBe('200 /consent')
    expect(await host.table('authorizations')).toEqual([])
  })

  test.each(['list', 'find'])('a slow %s has a bound: the page says that it is unavailable', async (slow) => {
    const page = await agent.open(requestUrl())
    hooks.before = (name) => (name === slow ? new Promise(() => {}) : undefined)
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'Date'] })
    try {
      const calls = asked.length
      const begun = slow === 'list' ? agent.open(requestUrl()) : agent.decide(page, 'allow', these('p1'))
      const isAsked = () => asked.length > calls && asked.at(-1)?.[0] === slow
      while (!isAsked()) await new Promise(setImmediate)
      jest.advanceTimersByTime(10_000)
      expect((await begun).status).toBe(503)
    } finally {
      jest.useRealTimers()
    }
    expect(await host.table('authorizations')).toEqual([])
  })

  test('a list that throws is an error page, and allows nothing', async () => {
    hooks.before = () => Promise.reject(new Error('broken'))
    const answer = await agent.open(requestUrl())
    expect(answer.status).toBe(500)
  })

  test('a list without end or with the same id twice is read as far as it is shown', async () => {
    projects.set('1', [ofAda[0]!, ofAda[0]!, ofAda[1]!])
    const page = await agent.open(requestUrl())
    expect(page.html.match(/name="thing:project:p1"/g)).toHaveLength(1)
    projects.set(
      '1',
      Array.from({ length: 100_000 }, (_, n) => ({ id: `p${n}`, name: `Project ${n}` })),
    )
    const many = await agent.open(requestUrl())
    expect(many.html).toContain('value="things:project"')
    expect(many.html).not.toContain('thing:project:')
  })
})

test('a guard for a kind that the host does not have is refused at the start', () => {
  const guardFor =
    (choice: Record<string, string>, scopes = 'tasks:read') =>
    () =>
      host.oauth.requireToken(scopes, { choice })
  expect(guardFor({ planet: 'p1' })).toThrow('planet is not in the option choices')
  expect(guardFor({ project: 'p1' }, 'notes:read')).toThrow(
    "none of its scopes is in choices['project'].scopes",
  )
})

test('oauth.verify takes the ids themselves, and a call about none is refused', async () => {
  const { access_token: token } = await tokensOf(agent, everything)
  const request = new Request('http://localhost:3000/x', { headers: { authorization: `Bearer ${token}` } })
  const verify = (project: string | undefined) =>
    host.oauth.verify(request, 'tasks:read', { choice: { project } })
  expect((await verify('p1')).auth?.chosen('project')).toBe('all')
  expect((await verify(undefined)).status).toBe(403)
  expect((await verify('')).status).toBe(403)
})

test('oauth.verify asks for each call what it is about, also after the same arguments by their text', async () => {
  const { access_token: token } = await tokensOf(agent, these('p1'))
  const request = new Request('http://localhost:3000/x', { headers: { authorization: `Bearer ${token}` } })
  const about = (id: string) => ({ choice: { project: () => id } })
  expect((await host.oauth.verify(request, 'tasks:read', about('p1'))).status).toBeUndefined()
  expect((await host.oauth.verify(request, 'tasks:read', about('p2'))).status).toBe(403)
  expect((await host.oauth.verify(request, 'tasks:read', { choice: {} })).status).toBeUndefined()
  expect((await host.oauth.verify(request, 'tasks:read', { choice: { project: undefined } })).status).toBe(
    403,
  )
})

test('list and find are asked for the client and with bounds', async () => {
  await tokensOf(agent, these('p1'))
  expect(asked.map(([name]) => name)).toEqual(['list', 'find', 'find'])
  expect(asked[0]?.[2]).toMatchObject({ limit: 8, client: { client_id: 'web' } })
  expect(asked[1]?.[2]).toMatchObject({ ids: ['p1'], client: { client_id: 'web' } })
})

test('two thousand projects are chosen page by page, and no tick is lost', async () => {
  projects.set(
    '1',
    Array.from({ length: 2000 }, (_, n) => ({ id: `p${n}`, name: `Project ${n}` })),
  )
  const page = await agent.open(requestUrl())
  const press = (on: typeof page, decision: string, fields: Record<string, string> = {}) =>
    agent.submit(on, 'name="decision"', { decision, ...fields })
  const first = await press(page, 'things:project', { 'scope:tasks:write': 'on' })
  expect(pageOf(first)).toBe('200 /things')
  expect(Buffer.byteLength(first.html)).toBeLessThan(14_000)
  const second = await press(first, 'next', { 'thing:p3': 'on' })
  expect(second.html).toContain('name="thing:p50"')
  const found = await press(second, 'search', { 'thing:p77': 'on', q: 'project 1999' })
  expect(found.html.match(/name="thing:/g)).toHaveLength(1)
  const all = await press(found, 'search', { 'thing:p1999': 'on', q: '' })
  // What is chosen stands above.
  expect([...all.html.matchAll(/name="thing:(p\d+)" value="on" checked/g)].map(([, id]) => id)).toEqual([
    'p3',
    'p77',
    'p1999',
  ])
  const without = await agent.submit(all, 'name="decision"', { decision: 'next' })
  const back = await press(without, 'previous')
  const used = await agent.submit(
    { ...back, html: back.html.replace(/(name="thing:p77"[^>]*) checked/, '$1') },
    'name="decision"',
    { decision: 'use' },
  )
  expect(pageOf(used)).toBe('200 /consent')
  expect(textOf(used)).toContain('Project 3')
  const tokens = await answerOf(redeem(host, codeOf(await agent.decide(used, 'allow'))))
  expect(await chosenBy(tokens.access_token)).toEqual(['p3', 'p1999'])
  expect(tokens.scope).toBe(scope)
})

test('a user chooses at most 200 projects one by one, and the page names this limit', async () => {
  projects.set(
    '1',
    Array.from({ length: 400 }, (_, n) => ({ id: `p${n}`, name: `Project ${n}` })),
  )
  let page = await agent.submit(await agent.open(requestUrl()), 'name="decision"', {
    decision: 'things:project',
  })
  for (let number = 0; number < 5; number += 1) {
    const ids = [...page.html.matchAll(/name="thing:(p\d+)"/g)].map(([, id]) => [`thing:${id}`, 'on'])
    page = await agent.submit(page, 'name="decision"', { decision: 'next', ...Object.fromEntries(ids) })
  }
  expect(textOf(page)).toContain('That’s 200, the most you can choose one by one.')
  const used = await agent.submit(page, 'name="decision"', { decision: 'use' })
  const tokens = await answerOf(redeem(host, codeOf(await agent.decide(used, 'allow'))))
  expect(await chosenBy(tokens.access_token)).toHaveLength(200)
})

test('Back keeps nothing of what was ticked there', async () => {
  projects.set(
    '1',
    Array.from({ length: 20 }, (_, n) => ({ id: `p${n}`, name: `Project ${n}` })),
  )
  const page = await agent.submit(await agent.open(requestUrl()), 'name="decision"', {
    decision: 'things:project',
  })
  const back = await agent.submit(page, 'name="decision"', { decision: 'back', 'thing:p1': 'on' })
  expect(textOf(back)).not.toContain('Project 1')
  expect(pageOf(await agent.decide(back, 'allow', { 'choice:project': 'these' }))).toBe('200 /consent')
})

test('the pages of choosing lead to the consent page when nothing is being chosen', async () => {
  const page = await agent.open(requestUrl())
  const at = page.url.searchParams.get('authorization_request')
  expect(pageOf(await agent.open(`/oauth/things?authorization_request=${at}`))).toBe('200 /consent')
})
