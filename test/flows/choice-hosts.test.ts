// Three hosts of different kind whose users choose things: projects, the accounts of a bank with RFC 9396, and boards of
// workspaces. Each does the same, on every database.
import type { AuthRouterOptions } from '../../lib/index.ts'
import {
  type DatabaseKind,
  describeOnSampled,
  type FaultDatabase,
  openFaultDatabase,
} from '../support/fault-databases.ts'
import { authorizeUrl, clients, createUsers, type Host, startHost } from '../support/host.ts'
import { codeOf } from '../support/outcomes.ts'
import { type Answer, pageOf, RawBrowser, textOf } from '../support/raw-browser.ts'
import { answerOf, expectError, guarded, introspect, redeem, refresh } from '../support/tokens.ts'

interface Thing {
  readonly id: string
  readonly name: string
}
/** What the host answers for the organization of the request. */
let things: readonly Thing[]

interface Kind {
  readonly kind: string
  readonly scope: string
  readonly organization?: string
  /** What its requests have more. */
  readonly request: Readonly<Record<string, string>>
  readonly options: Partial<AuthRouterOptions>
}

const payment = { type: 'payment', amount: '12.50' }
const kinds: readonly Kind[] = [
  { kind: 'project', scope: 'tasks:read', request: {}, options: {} },
  {
    kind: 'account',
    scope: 'accounts:read',
    request: { authorization_details: JSON.stringify([payment, { type: 'account' }]) },
    options: {
      protocol: { authorizationDetails: { payment: { description: 'Pay', remember: true } } },
    },
  },
  {
    kind: 'board',
    scope: 'boards:read',
    organization: 'north',
    request: { organization: 'north' },
    options: { organizations: () => ['north', 'south'].map((id) => ({ id, name: `The ${id}` })) },
  },
]

const some = (count: number): readonly Thing[] =>
  Array.from({ length: count }, (_, n) => ({ id: `t${n}`, name: `Thing ${n}` }))

const hostOf = (given: Kind, databaseKind: DatabaseKind): void => {
  const { kind, scope, organization, request, options } = given
  let database: FaultDatabase
  let host: Host
  let agent: RawBrowser
  /** Another organization has the same ids, and none of its things is of this one. */
  const of = (asked: { organization?: string }): readonly Thing[] =>
    asked.organization === organization ? things : []

  beforeAll(async () => {
    database = openFaultDatabase(databaseKind)
    await createUsers(database, `${database.tablePrefix}people`)
    host = await startHost({
      database,
      clients: [
        {
          ...clients[0]!,
          scope: `openid offline_access ${scope}`,
          ...(options.protocol && { authorization_details_types: ['payment'] }),
        },
      ],
      options: {
        ...options,
        limits: false,
        scopes: { [scope]: `See ${kind}s` },
        choices: {
          [kind]: {
            name: { one: kind, other: `${kind}s` },
            scopes: [scope],
            list: (_user, asked) => {
              const start = Number(asked.after ?? 0)
              const next = start + asked.limit
              const all = of(asked)
              return {
                items: all.slice(start, next),
                total: all.length,
                ...(next < all.length && { next: String(next) }),
              }
            },
            find: (_user, asked) => of(asked).filter(({ id }) => asked.ids.includes(id)),
          },
        },
      },
    })
    host.app.get(
      '/api/:id',
      host.oauth.requireToken(scope, { choice: { [kind]: (req) => req.params.id } }),
      (req, res) => void res.json({ chosen: req.auth.chosen(kind as never) }),
    )
    agent = new RawBrowser(host.app)
    await agent.signIn(await agent.open('/oauth/account'))
  })
  afterAll(async () => {
    await host.oauth.close()
    await database.close()
  })
  beforeEach(async () => {
    things = some(3)
    for (const name of ['consents', 'authorizations']) await database.table(name).delete()
  })

  const open = (): Promise<Answer> =>
    agent.open(
      authorizeUrl({
        client_id: 'web',
        scope: `openid offline_access ${scope}`,
        prompt: 'consent',
        ...request,
      }),
    )
  const these = (...ids: string[]) => ({
    [`choice:${kind}`]: 'these',
    ...Object.fromEntries(ids.map((id) => [`thing:${kind}:${id}`, 'on'])),
  })
  const tokens = async (fields: Record<string, string>) =>
    answerOf(redeem(host, codeOf(await agent.decide(await open(), 'allow', fields))))
  /** What a token says of the kind, beside the payment of the bank. */
  const says = (answer: object): unknown => {
    const { authorization_details: details = [] } = answer as {
      authorization_details?: { type: string; identifiers?: unknown }[]
    }
    const own = details.find(({ type }) => type === kind)
    return own && (own.identifiers ?? 'all')
  }
  const status = async (token: string, id: string) => (await guarded(host, token, `/api/${id}`)).status

  test('chosen: the token says these, and the guard opens them and no other', async () => {
    const answer = await tokens(these('t0', 't2'))
    expect(says(answer)).toEqual(['t0', 't2'])
    expect(says((await introspect(host, answer.access_token)).body)).toEqual(['t0', 't2'])
    expect([await status(answer.access_token, 't2'), await status(answer.access_token, 't1')]).toEqual([
      200, 403,
    ])
  })

  test('all: the token names none, and later ones are open too', async () => {
    const answer = await tokens({ [`choice:${kind}`]: 'all' })
    expect(says(answer)).toBe('all')
    things = some(4)
    expect(await status(answer.access_token, 't3')).toBe(200)
  })

  test('none: the page asks again, and nothing is granted', async () => {
    const answer = await agent.decide(await open(), 'allow', these())
    expect(pageOf(answer)).toBe('200 /consent')
    expect(textOf(answer)).toContain('Choose what Web client may use.')
    expect(await database.table('authorizations')).toEqual([])
  })

  test('the page says that a thing was lost meanwhile, and the rest can be allowed', async () => {
    const page = await open()
    things = some(2)
    const again = await agent.decide(page, 'allow', these('t0', 't2'))
    expect(textOf(again)).toContain('It was removed from your choice.')
    expect(says(await answerOf(redeem(host, codeOf(await agent.decide(again, 'allow')))))).toEqual(['t0'])
  })

  test('renamed: the choice stays, and the account page has the new name', async () => {
    const answer = await tokens(these('t1'))
    things = things.map(({ id }) => ({ id, name: `New ${id}` }))
    const again = await answerOf(refresh(host, answer.refresh_token))
    expect(says(again)).toEqual(['t1'])
    const named = organization === undefined ? '' : `&organization=${organization}`
    const page = await agent.open(`/oauth/account/access?client_id=web${named}`)
    expect(textOf(page)).toContain('New t1')
  })

  test('deleted: the next token lacks it, and a token of nothing opens nothing', async () => {
    const answer = await tokens(these('t0', 't1'))
    things = things.slice(1)
    const less = await answerOf(refresh(host, answer.refresh_token))
    expect(says(less)).toEqual(['t1'])
    things = []
    const nothing = await answerOf(refresh(host, less.refresh_token))
    expect(says(nothing)).toBeUndefined()
    expectError(await guarded(host, nothing.access_token, '/api/t1'), 403, 'insufficient_scope')
  })

  test('of 2,000, at most 200 are chosen one by one', async () => {
    things = some(2000)
    const first = await open()
    expect(first.html).not.toContain(`thing:${kind}:`)
    let page = await agent.submit(first, 'name="decision"', { decision: `things:${kind}` })
    expect(Buffer.byteLength(page.html)).toBeLessThan(14_000)
    for (let turns = 0; turns < 5; turns += 1) {
      const ids = [...page.html.matchAll(/name="thing:(t\d+)"/g)].map(([, id]) => [`thing:${id}`, 'on'])
      page = await agent.submit(page, 'name="decision"', { decision: 'next', ...Object.fromEntries(ids) })
    }
    expect(textOf(page)).toContain('That’s 200, the most you can choose one by one.')
    const used = await agent.submit(page, 'name="decision"', { decision: 'use' })
    const answer = await answerOf(redeem(host, codeOf(await agent.decide(used, 'allow'))))
    expect(says(answer)).toHaveLength(200)
    expect([await status(answer.access_token, 't0'), await status(answer.access_token, 't1999')]).toEqual([
      200, 403,
    ])
  })

  if (kind === 'account')
    test('the payment that the client asked for stands beside the accounts', async () => {
      const answer = await tokens(these('t0'))
      expect(answer).toMatchObject({
        authorization_details: [payment, { type: 'account', identifiers: ['t0'] }],
      })
    })

  if (kind === 'board')
    test('a choice belongs to its workspace: another one begins empty, and its ids are worth nothing', async () => {
      await tokens(these('t0'))
      const page = await open()
      const list = await agent.submit(
        await agent.open(
          authorizeUrl({ client_id: 'web', scope: `openid offline_access ${scope}`, prompt: 'consent' }),
        ),
        'value="organization"',
        { decision: 'organization' },
      )
      const south = await agent.submit(list, 'name="organization"', { organization: 'south' })
      expect(south.html).not.toContain('thing:board:t0')
      expect(textOf(south)).toContain('You changed the workspace. Choose again what Web client may use.')
      const back = await agent.submit(south, 'value="organization"', { decision: 'organization' })
      const north = await agent.submit(back, 'name="organization"', { organization: 'north' })
      expect(textOf(north)).not.toContain('You changed the workspace')
      const answer = await agent.decide(south, 'allow', these('t0'))
      expect(pageOf(answer)).toBe('200 /consent')
      // The form of one workspace, sent for the other.
      const forged = await agent.decide(page, 'allow', { ...these('t0'), organization: 'south' })
      expect(pageOf(forged)).toBe('200 /consent')
      expect(await database.table('consents').where({ organization: 'south' })).toEqual([])
    })
}

describe.each(kinds)('a host with the kind $kind', (kind) => {
  describeOnSampled('its users choose', (databaseKind) => hostOf(kind, databaseKind))
})
