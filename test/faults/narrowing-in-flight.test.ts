// A user narrows an authorization while its client is served by another process: what was read before is not issued after. The host's
// function `find` is held in the middle, so that nothing here depends on time. Two routers, each with a pool of its own, stand
// for two processes; on PostgreSQL there are two real ones as well.
import type { ServerResponse } from 'node:http'
import type { AuthRouterOptions } from '../../lib/index.ts'
import { listen, type TestServer } from '../support/client-server.ts'
import {
  type DatabaseKind,
  describeOnSampled,
  type FaultDatabase,
  openFaultDatabase,
} from '../support/fault-databases.ts'
import { postToken, prepareDatabase, redemption, refreshing, sharedOptions } from '../support/fault-family.ts'
import { postForm } from '../support/fault-load.ts'
import { forkServers } from '../support/fault-servers.ts'
import { createGate } from '../support/gate.ts'
import { authorizeUrl, clients, createUsers, type Host, startHost } from '../support/host.ts'
import { codeOf, expectErrorRedirect } from '../support/outcomes.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { describeWith } from '../support/services.ts'
import {
  answerOf,
  expectError,
  guarded,
  introspect,
  redeem,
  refresh,
  type TokenAnswer,
  web,
} from '../support/tokens.ts'

const things = [
  { id: 'p1', name: 'Hiring plan' },
  { id: 'p2', name: 'Office move' },
]
/** Of the race of two processes. */
const rounds = 6
const scope = 'openid tasks:read offline_access'
const url = authorizeUrl({ client_id: 'web', scope })

const inFlightOn = (kind: DatabaseKind): void => {
  const gate = createGate()
  let isHeld = false
  let database: FaultDatabase
  let serving: Host
  let other: Host
  let agent: RawBrowser

  const options = (holds: boolean): Partial<AuthRouterOptions> => ({
    limits: false,
    scopes: { 'tasks:read': 'See tasks' },
    choices: {
      project: {
        name: { one: 'project', other: 'projects' },
        scopes: ['tasks:read'],
        list: () => ({ items: things }),
        find: async (_user, { ids }) => {
          if (holds && isHeld) await gate.pass()
          return things.filter(({ id }) => ids.includes(id))
        },
      },
    },
  })
  const start = (holds: boolean): Promise<Host> =>
    startHost({ database, clients: [{ ...clients[0]!, scope }], options: options(holds) })

  beforeAll(async () => {
    database = openFaultDatabase(kind)
    await createUsers(database, `${database.tablePrefix}people`)
    serving = await start(true)
    other = await start(false)
    for (const host of [serving, other])
      host.app.get('/api/projects', host.oauth.requireToken('tasks:read'), (req, res) => {
        res.json({ projects: req.auth.chosen('project') })
      })
  })
  afterAll(async () => {
    for (const host of [serving, other]) await host.oauth.close()
    await database.close()
  })
  beforeEach(async () => {
    for (const name of ['consents', 'authorizations']) await database.table(name).delete()
    agent = new RawBrowser(other.app)
    await agent.signIn(await agent.open('/oauth/account'))
  })

  const allowed = async (): Promise<string> => {
    const fields = { 'choice:project': 'these', 'thing:project:p1': 'on', 'thing:project:p2': 'on' }
    return codeOf(await agent.decide(await agent.open(url), 'allow', fields))
  }
  const tokens = async (): Promise<TokenAnswer> => answerOf(redeem(other, await allowed()))
  /** The user takes p1 away, in the other process. */
  const narrow = async (): Promise<void> => {
    const page = await agent.open('/oauth/account/access?client_id=web')
    const html = page.html.replace(/(name="thing:project:p1"[^>]*) checked/, '$1')
    expect((await agent.submit({ ...page, html }, 'value="narrow"')).html).toContain('Saved.')
  }
  /** Begins something, narrows while `find` is held, and finishes. */
  const meanwhile = async <T>(begin: () => PromiseLike<T>): Promise<T> => {
    const { arrival, open } = gate.hold()
    isHeld = true
    const begun = Promise.resolve(begin())
    await Promise.race([arrival, begun.then(() => Promise.reject(new Error('nothing was held')))])
    isHeld = false
    await narrow()
    open()
    return begun
  }
  const chosenBy = async (token: string): Promise<unknown> =>
    (await guarded(serving, token, '/api/projects')).body.projects

  test('a refresh that began before is refused, uses nothing up, and the next one gets what is left', async () => {
    const { refresh_token: token, access_token: early } = await tokens()
    expectError(await meanwhile(() => refresh(serving, token)), 503, 'temporarily_unavailable')
    const again = await answerOf(refresh(serving, token))
    expect(await chosenBy(again.access_token)).toEqual(['p2'])
    expect(await chosenBy(early)).toEqual(['p2'])
  })

  test('a code that is being redeemed is refused, and works afterwards for what is left', async () => {
    const code = await allowed()
    expectError(await meanwhile(() => redeem(serving, code)), 503, 'temporarily_unavailable')
    const left = await answerOf(redeem(serving, code))
    expect((await introspect(serving, left.access_token)).body.authorization_details).toMatchObject([
      { identifiers: ['p2'] },
    ])
  })

  test('two narrowings at once leave what both leave', async () => {
    const { access_token: token } = await tokens()
    const pages = await Promise.all(
      ['p1', 'p2'].map(async (id) => {
        const page = await agent.open('/oauth/account/access?client_id=web')
        return {
          ...page,
          html: page.html.replace(new RegExp(`(name="thing:project:${id}"[^>]*) checked`), '$1'),
        }
      }),
    )
    await Promise.all(pages.map((page) => agent.clone().submit(page, 'value="narrow"')))
    expect(await chosenBy(token)).toEqual([])
    expectErrorRedirect(
      await agent.open(authorizeUrl({ client_id: 'web', scope, prompt: 'none' })),
      'consent_required',
    )
  })
}

describeOnSampled('an authorization that is narrowed', inFlightOn)

describeWith('postgresql', 'two processes on PostgreSQL', () => {
  const gate = createGate()
  let isHeld = false
  let host: TestServer
  let servers: Awaited<ReturnType<typeof forkServers>>
  let database: FaultDatabase
  let serving: string
  let narrowing: string
  let agent: RawBrowser

  beforeAll(async () => {
    // What both processes ask which projects there are.
    const answers = async (res: ServerResponse): Promise<void> => {
      if (isHeld) await gate.pass()
      res.setHeader('content-type', 'application/json').end(JSON.stringify(things))
    }
    host = await listen((_req, res) => void answers(res))
    database = openFaultDatabase('PostgreSQL')
    await prepareDatabase(database)
    servers = await forkServers(2)
    const scopes = { 'notes:read': 'Read your notes' }
    const options = { ...sharedOptions(database, { scopes }), projectsAt: host.origin }
    const [one = '', two = ''] = await servers.start(options)
    serving = one
    narrowing = two
    agent = new RawBrowser(narrowing)
    await agent.signIn(await agent.open('/oauth/account'))
  })
  afterAll(async () => {
    await servers.close()
    await host.close()
    await database.close()
  })

  const of = (answer: { body: Record<string, unknown> }): unknown =>
    (answer.body.authorization_details as { identifiers?: unknown }[] | undefined)?.[0]?.identifiers ?? []
  const says = async (origin: string, token: unknown): Promise<unknown> =>
    of(await postForm(`${origin}/oauth/introspect`, { token: String(token), ...web }))
  const tokens = async (): Promise<Record<string, unknown>> => {
    const page = await agent.open(
      authorizeUrl({ client_id: 'web', scope: 'openid notes:read offline_access', prompt: 'consent' }),
    )
    const fields = { 'choice:project': 'these', 'thing:project:p1': 'on', 'thing:project:p2': 'on' }
    return (await postToken(serving, redemption(codeOf(await agent.decide(page, 'allow', fields))))).body
  }
  const narrow = async (): Promise<void> => {
    const page = await agent.open('/oauth/account/access?client_id=web')
    const html = page.html.replace(/(name="thing:project:p1"[^>]*) checked/, '$1')
    expect((await agent.submit({ ...page, html }, 'value="narrow"')).html).toContain('Saved.')
  }

  test('a refresh that began before the other process narrowed is refused, and the next one gets the rest', async () => {
    const { refresh_token: token, access_token: early } = await tokens()
    const { arrival, open } = gate.hold()
    isHeld = true
    const begun = postToken(serving, refreshing(token))
    await arrival
    isHeld = false
    await narrow()
    open()
    expect((await begun).status).toBe(503)
    expect(await says(serving, early)).toEqual(['p2'])
    const again = await postToken(serving, refreshing(token))
    expect(of(again)).toEqual(['p2'])
    expect(await says(narrowing, again.body.access_token)).toEqual(['p2'])
  })

  test('after the narrowing no token of either process says more, whichever request came first', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const { refresh_token: token, access_token: early } = await tokens()
      const [answer] = await Promise.all([postToken(serving, refreshing(token)), narrow()])
      expect([200, 503]).toContain(answer.status)
      const last = answer.status === 200 ? answer : await postToken(serving, refreshing(token))
      for (const origin of [serving, narrowing])
        for (const each of [early, last.body.access_token]) expect(await says(origin, each)).toEqual(['p2'])
      const next = await postToken(narrowing, refreshing(last.body.refresh_token))
      expect(of(next)).toEqual(['p2'])
    }
  })
})
