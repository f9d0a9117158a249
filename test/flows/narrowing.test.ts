import { claimsOf, codeOf, expectErrorRedirect } from '../support/outcomes.ts'
import { pageOf, type RawBrowser, textOf } from '../support/raw-browser.ts'
import { answerOf, expectError, guarded, introspect, redeem, refresh } from '../support/tokens.ts'
import {
  api,
  everything,
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

const both = { ...these('p1', 'p2'), 'scope:tasks:write': 'on' }
const change = '/oauth/account/access?client_id=web'
/** Opens the page and sends it, with these boxes unticked. */
const untick = async (boxes: readonly string[], fields: Record<string, string> = {}) => {
  const page = await agent.open(change)
  const without = boxes.reduce(
    (html, name) => html.replace(new RegExp(`(name="${name}"[^>]*) checked`), '$1'),
    page.html,
  )
  return agent.submit({ ...page, html: without }, 'value="narrow"', { decision: 'narrow', ...fields })
}
const chosenBy = async (token: string): Promise<unknown> =>
  (await guarded(host, token, '/api/projects')).body.projects

describe('Connected apps', () => {
  test('shows how many things a client may use, and until when', async () => {
    await tokensOf(agent, { ...both, duration: 'day' })
    const page = textOf(await agent.open('/oauth/account'))
    expect(page).toMatch(/projects 2 Ends by/)
    expect(page).toContain('Change access')
  })

  test('takes a thing away: at the next use of a token, at the next refresh, and without a page', async () => {
    const tokens = await tokensOf(agent, both)
    const jwt = await tokensOf(agent, both, { resource: api, prompt: 'consent' })
    const saved = await untick(['thing:project:p1'])
    expect(textOf(saved)).toContain('Saved. It holds from its next request on.')
    expect(await chosenBy(tokens.access_token)).toEqual(['p2'])
    expectError(await guarded(host, tokens.access_token, '/api/projects/p1'), 403, 'insufficient_scope')
    const { body } = await introspect(host, jwt.access_token)
    expect(body.authorization_details).toMatchObject([{ identifiers: ['p2'] }])
    const fresh = await answerOf(refresh(host, jwt.refresh_token, { resource: api }))
    expect(claimsOf(fresh.access_token).authorization_details).toMatchObject([{ identifiers: ['p2'] }])
    const silent = codeOf(await agent.open(requestUrl({ prompt: 'none' })))
    expect(await chosenBy((await answerOf(redeem(host, silent))).access_token)).toEqual(['p2'])
  })

  test('takes a scope away, and the next request asks for it again', async () => {
    const tokens = await tokensOf(agent, both)
    await untick(['scope:tasks:write'])
    expect((await introspect(host, tokens.access_token)).body.scope).toBe('openid tasks:read offline_access')
    expect((await answerOf(refresh(host, tokens.refresh_token))).scope).toBe(
      'openid tasks:read offline_access',
    )
    expectErrorRedirect(await agent.open(requestUrl({ prompt: 'none' })), 'consent_required')
  })

  test('takes a scope away together with those that imply it', async () => {
    const tokens = await tokensOf(agent, these('p1'), { scope: 'openid tasks:read tasks:admin' })
    await untick(['scope:tasks:read'])
    expect((await introspect(host, tokens.access_token)).body.scope).toBe('openid')
  })

  test('brings the end nearer, and never puts it off', async () => {
    const tokens = await tokensOf(agent, { ...both, duration: 'month' })
    await untick([], { duration: 'day' })
    const end = async () => Number((await introspect(host, tokens.refresh_token)).body.exp)
    const [row] = await host.table('authorizations').select('expires_at', 'created_at')
    expect(Number(row.expires_at) - Number(row.created_at)).toBeLessThanOrEqual(86_401)
    await untick([], { duration: 'month' })
    expect(await end()).toBeGreaterThan(0)
    const [later] = await host.table('authorizations').select('expires_at')
    expect(later.expires_at).toEqual(row.expires_at)
  })

  test('shows many things page by page, and those of other pages stay', async () => {
    const many = Array.from({ length: 200 }, (_, n) => ({ id: `p${n}`, name: `Project ${n}` }))
    projects.set('1', many)
    let page = await agent.submit(await agent.open(requestUrl()), 'name="decision"', {
      decision: 'things:project',
    })
    for (let turns = 0; turns < 5; turns += 1) {
      const ids = [...page.html.matchAll(/name="thing:(p\d+)"/g)].map(([, id]) => [`thing:${id}`, 'on'])
      page = await agent.submit(page, 'name="decision"', { decision: 'next', ...Object.fromEntries(ids) })
    }
    const used = await agent.submit(page, 'name="decision"', { decision: 'use' })
    const tokens = await answerOf(redeem(host, codeOf(await agent.decide(used, 'allow'))))
    const first = await agent.open(change)
    const second = await agent.open(
      String(/ href="([^"]*page=2)"/.exec(first.html)?.[1]).replaceAll('&amp;', '&'),
    )
    const [, gone] = / name="thing:project:(p\d+)"/.exec(second.html) ?? []
    expect(first.html).not.toContain(`"thing:project:${gone}"`)
    const html = second.html.replace(new RegExp(`(name="thing:project:${gone}"[^>]*) checked`), '$1')
    const saved = await agent.submit({ ...second, html }, 'value="narrow"')
    expect(textOf(saved)).toContain('Saved.')
    const left = (await chosenBy(tokens.access_token)) as string[]
    expect([left.length, left.includes(String(gone))]).toEqual([199, false])
    // Another tab still shows the first page as it was: the thing that has moved up to it stays.
    const without = first.html.replace(/( name="thing:[^>]*) checked/, '$1')
    await agent.submit({ ...first, html: without }, 'value="narrow"')
    await agent.submit(first, 'value="narrow"')
    expect(await chosenBy(tokens.access_token)).toHaveLength(198)
  })

  test('makes all things some', async () => {
    const tokens = await tokensOf(agent, { ...everything, 'scope:tasks:write': 'on' })
    await untick([], these('p3'))
    expect(await chosenBy(tokens.access_token)).toEqual(['p3'])
  })

  test('never gives anything: not a thing, not a scope, not one of another user', async () => {
    const tokens = await tokensOf(agent, these('p1'))
    await untick([], {
      ...these('p1', 'p3', 'b1'),
      ...everything,
      'scope:tasks:write': 'on',
      'scope:tasks:admin': 'on',
    })
    expect(await chosenBy(tokens.access_token)).toEqual(['p1'])
    expect((await answerOf(refresh(host, tokens.refresh_token))).scope).toBe(scope)
  })

  test('announces it once, and says what is kept', async () => {
    const events: unknown[] = []
    host.oauth.events.on('authorization.narrowed', ({ scopes, choices }) => events.push([scopes, choices]))
    await tokensOf(agent, both)
    await untick(['thing:project:p2', 'scope:tasks:write'])
    expect(events).toEqual([[['tasks:write'], { project: ['p1'] }]])
  })

  test('keeps a receipt of what was left, with names', async () => {
    await tokensOf(agent, both)
    await untick(['thing:project:p2', 'scope:tasks:write'], { duration: 'day' })
    const { receipts } = (await host.oauth.users.export(1)) as unknown as { receipts: object[] }
    expect(receipts).toHaveLength(2)
    expect(receipts).toContainEqual(
      expect.objectContaining({
        scopes: expect.arrayContaining([
          expect.objectContaining({ name: 'tasks:write', text: 'Change tasks', allowed: false }),
          expect.objectContaining({ name: 'tasks:read', text: 'See tasks', allowed: true }),
        ]),
        things: [{ kind: 'project', name: 'projects', chosen: [{ id: 'p1', name: 'Hiring plan' }] }],
        until: expect.any(Number),
      }),
    )
  })

  test('keeps no receipt and announces nothing if nothing changes', async () => {
    const events: unknown[] = []
    host.oauth.events.on('authorization.narrowed', (event) => events.push(event))
    await tokensOf(agent, both)
    expect(textOf(await untick([]))).toContain('Saved.')
    expect(events).toEqual([])
    expect(await host.table('consent_receipts').select()).toHaveLength(1)
  })

  test('changes nothing of another user, and needs the form of its own page', async () => {
    const tokens = await tokensOf(agent, both)
    const bob = new (agent.constructor as typeof RawBrowser)(host.app)
    await bob.signIn(await bob.open('/oauth/account'), 'bob@example.com', 'bob’s password')
    expect(pageOf(await bob.open(change))).toBe('200 /account')
    const page = await agent.open(change)
    const forged = await agent.submit(page, 'value="narrow"', {
      decision: 'narrow',
      csrf_token: 'x'.repeat(49),
    })
    expect(textOf(forged)).not.toContain('Saved.')
    expect(await chosenBy(tokens.access_token)).toEqual(['p1', 'p2'])
  })

  test('lists by name what the client has, and a thing that is gone is not there', async () => {
    await tokensOf(agent, both)
    projects.set('1', ofAda.slice(1))
    const page = await agent.open(change)
    expect(textOf(page)).toContain('Office move')
    expect(textOf(page)).not.toContain('Hiring plan')
  })
})

test('a code that waits is redeemed for what is left', async () => {
  await tokensOf(agent, both)
  const code = codeOf(await agent.open(requestUrl()))
  await untick(['thing:project:p1'])
  expect(await chosenBy((await answerOf(redeem(host, code))).access_token)).toEqual(['p2'])
})
