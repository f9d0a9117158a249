import { authorizeUrl, type Host, startHost } from '../support/host.ts'
import { codeOf } from '../support/outcomes.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { answerOf, redeem, refresh, userinfo } from '../support/tokens.ts'

jest.setTimeout(60_000)

// Ids that a database may take for one another: MariaDB pads texts with spaces before it compares them, and
// collations know no case. To us they are different people.

const ids = ['ada', 'ada ', 'Ada', 'ADA']
const password = 'one for all of them'
const scope = 'openid offline_access'

let host: Host
beforeEach(async () => {
  host = await startHost({
    options: {
      users: {
        find: (id) => (ids.includes(id) ? { id } : undefined),
        // People type a number; which spaces a form would keep is another question.
        authenticate: (username, given) =>
          given === password ? { id: ids[Number(username)] ?? '' } : undefined,
        claims: () => ({}),
      },
    },
  })
})
afterEach(() => host.close())

/** Somebody who has allowed the client, with the tokens that came of it. */
const visit = async (id: string) => {
  const agent = new RawBrowser(host.app)
  const done = await agent.grant(authorizeUrl({ client_id: 'web', scope }), String(ids.indexOf(id)), password)
  return { id, agent, tokens: await answerOf(redeem(host, codeOf(done))) }
}
type Visitor = Awaited<ReturnType<typeof visit>>

const everybody = async (): Promise<Visitor[]> => {
  const visitors: Visitor[] = []
  for (const id of ids) visitors.push(await visit(id))
  return visitors
}

/** The visitors who can still do what they could: use their tokens, go on without being asked, and see their client. */
const standing = async (visitors: readonly Visitor[]): Promise<string[]> => {
  const found: string[] = []
  for (const { id, agent, tokens } of visitors) {
    const { status } = await userinfo(host, tokens.access_token)
    const silent = await agent.get(authorizeUrl({ client_id: 'web', scope, prompt: 'none' }))
    const page = await agent.get('/oauth/account')
    const isServed = silent.location?.searchParams.has('code') ?? false
    const signs = [status === 200, isServed, page.html.includes('Web client')]
    expect(new Set(signs).size).toBe(1)
    if (signs[0]) found.push(id)
  }
  return found
}

const without = (id: string): string[] => ids.filter((other) => other !== id)

test('each has a consent, a login and tokens of their own, and sees no other’s', async () => {
  const visitors = await everybody()
  expect(await standing(visitors)).toEqual(ids)
  for (const { id, tokens } of visitors) {
    const { consents, receipts, authorizations, logins } = await host.oauth.users.export(id)
    const kept = [consents, receipts, logins].map((records) => records.length)
    // One that was redeemed, and one of the silent request.
    expect([id, ...kept, authorizations.length]).toEqual([id, 1, 1, 1, 2])
    expect((await userinfo(host, tokens.access_token)).body.sub).toBe(id)
  }
})

test.each([0, 1])('revokeAll() for one of them ends nothing of the others: %#', async (index) => {
  const id = ids[index] ?? ''
  const visitors = await everybody()
  await host.oauth.users.revokeAll(id)
  const tokens = visitors.map(({ tokens }) => userinfo(host, tokens.access_token))
  const statuses = (await Promise.all(tokens)).map(({ status }) => status)
  expect(statuses).toEqual(ids.map((other) => (other === id ? 401 : 200)))
  expect(await standing(visitors.filter((visitor) => visitor.id !== id))).toEqual(without(id))
})

test.each([0, 1])('erasing one of them removes nothing of the others: %#', async (index) => {
  const id = ids[index] ?? ''
  const visitors = await everybody()
  const before = await Promise.all(without(id).map((other) => host.oauth.users.export(other)))
  await host.oauth.users.erase(id)
  const nothing = { consents: [], receipts: [], authorizations: [], logins: [], passkeys: [] }
  expect(await host.oauth.users.export(id)).toEqual(nothing)
  expect(await Promise.all(without(id).map((other) => host.oauth.users.export(other)))).toEqual(before)
  for (const visitor of visitors) {
    const { status } = await refresh(host, visitor.tokens.refresh_token)
    expect([visitor.id, status]).toEqual([visitor.id, visitor.id === id ? 400 : 200])
  }
})

test.each([0, 1])('removing a client for one of them removes it for no other: %#', async (index) => {
  const id = ids[index] ?? ''
  const visitors = await everybody()
  const agent = visitors[index]?.agent ?? new RawBrowser(host.app)
  const list = await agent.get('/oauth/account')
  const [, href = ''] = /<a class="button secondary" href="(.*?)"/.exec(list.html) ?? []
  const question = await agent.get(href.replaceAll('&amp;', '&'))
  await agent.submit(question, 'type="submit"')
  const { consents } = await host.oauth.users.export(id)
  expect(consents).toEqual([])
  expect(await standing(visitors.filter((visitor) => visitor.id !== id))).toEqual(without(id))
})
