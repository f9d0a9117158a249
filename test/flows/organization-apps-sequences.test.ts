// Random orders of what administrators, members and hosts do. A model beside the server knows what the rules say: no token is
// issued or accepted against them, in whichever order they came, and by neither of two servers on one database.
import type { Host } from '../support/host.ts'
import { fc, runs } from '../support/property.ts'
import type { RawBrowser } from '../support/raw-browser.ts'
import { ada, bob, guarded, redeem, refresh } from '../support/tokens.ts'
import {
  belongs,
  host,
  nordlys,
  options,
  second,
  signedIn,
  visit,
  withOrganizationApps,
} from './organization-apps-host.ts'

let other: Host
// Before the database, which both servers use, is closed.
afterAll(() => other.oauth.close())
withOrganizationApps()

const apps = ['web', 'journal'] as const
type App = (typeof apps)[number]
const members = { 1: ada, 2: bob } as const
type Member = keyof typeof members
type Outcome = 'allowed' | 'ask' | 'blocked'

interface Token {
  readonly app: App
  readonly member: Member
  readonly value: string
  readonly refreshToken: string
  isOver: boolean
}
interface Model {
  policy: Outcome
  readonly decisions: Map<App, { outcome: Outcome; most?: 'read' | undefined }>
  readonly approved: Set<string>
  readonly waiting: Set<string>
  readonly refused: Set<string>
  readonly uses: Set<string>
  readonly joined: Set<Member>
  readonly tokens: Token[]
}
const pair = (app: App, member: Member): string => `${app} ${member}`
const outcomeOf = ({ decisions, policy }: Model, app: App): Outcome => decisions.get(app)?.outcome ?? policy
const may = (model: Model, app: App, member: Member): boolean => {
  const outcome = outcomeOf(model, app)
  return outcome === 'allowed' || (outcome === 'ask' && model.approved.has(pair(app, member)))
}
const isUsed = ({ uses }: Model, app: App): boolean =>
  [1, 2].some((member) => uses.has(pair(app, member as Member)))

const api = () => host.oauth.organizationApps!
let agents: Readonly<Record<Member, RawBrowser>>
beforeAll(async () => {
  belongs.set('1', [nordlys])
  belongs.set('2', [nordlys])
  agents = { 1: await signedIn(ada), 2: await signedIn(bob) }
  other = await second()
})

const endTokens = ({ tokens }: Model, isMeant: (token: Token) => boolean): void => {
  for (const token of tokens) if (isMeant(token)) token.isOver = true
}

const steps = {
  async policy(model: Model, policy: Outcome) {
    await api().setPolicy(nordlys.id, { apps: policy, unverified: 'same' })
    if (policy !== 'allowed')
      for (const app of apps)
        if (isUsed(model, app) && outcomeOf(model, app) === 'allowed' && !model.decisions.has(app))
          model.decisions.set(app, { outcome: 'allowed' })
    model.policy = policy
  },
  async decide(model: Model, app: App, outcome: Outcome, most?: 'read') {
    await api().decide(nordlys.id, `client:${app}`, { outcome, most })
    model.decisions.set(app, { outcome, most })
    if (outcome !== 'ask') for (const member of [1, 2] as const) model.waiting.delete(pair(app, member))
  },
  async connect(model: Model, app: App, member: Member) {
    const page = await visit(agents[member], app)
    const isAsked = page.url.pathname.endsWith('/consent')
    const answer = isAsked ? await agents[member].decide(page, 'allow') : page
    const code = answer.location?.searchParams.get('code')
    expect(Boolean(code)).toBe(model.joined.has(member) && may(model, app, member))
    if (!code) return
    const { body } = await redeem(host, code, { client_id: app })
    const scopes = ['openid', 'offline_access', 'notes:read']
    const limited = model.decisions.get(app)?.most === 'read'
    expect(body.scope.split(' ')).toEqual(limited ? scopes : [...scopes, 'notes:write'])
    model.uses.add(pair(app, member))
    const { access_token: value, refresh_token: refreshToken } = body
    model.tokens.push({ app, member, value, refreshToken, isOver: false })
  },
  async request(model: Model, app: App, member: Member) {
    const page = await visit(agents[member], app)
    if (!page.html.includes('value="request"')) return
    const key = pair(app, member)
    expect([outcomeOf(model, app), model.waiting.has(key), model.refused.has(key)]).toEqual([
      'ask',
      false,
      false,
    ])
    await agents[member].submit(page, 'value="request"', { decision: 'request' })
    model.waiting.add(key)
  },
  async answer(model: Model, kind: 'everybody' | 'person' | 'refused') {
    const [request] = await api().requests(nordlys.id)
    expect(Boolean(request)).toBe(model.waiting.size > 0)
    if (!request) return
    await api().answer(nordlys.id, request.id, kind)
    const key = pair(request.clientId as App, Number(request.subject) as Member)
    expect(model.waiting.delete(key)).toBe(true)
    const app = request.clientId as App
    if (kind === 'person') model.approved.add(key)
    if (kind === 'refused') model.refused.add(key)
    if (kind !== 'everybody') return
    model.decisions.set(app, { outcome: 'allowed', most: model.decisions.get(app)?.most })
    for (const member of [1, 2] as const) model.waiting.delete(pair(app, member))
  },
  async removeAll(model: Model, app: App, block: boolean) {
    await api().removeForEverybody(nordlys.id, `client:${app}`, { block })
    const isKnown = isUsed(model, app) || model.decisions.has(app)
    if (!isKnown) return
    if (block) model.decisions.set(app, { ...model.decisions.get(app), outcome: 'blocked' })
    for (const member of [1, 2] as const)
      for (const set of [model.uses, model.approved, model.waiting, model.refused])
        set.delete(pair(app, member))
    endTokens(model, (token) => token.app === app)
  },
  async leave(model: Model, member: Member) {
    belongs.set(String(member), [])
    model.joined.delete(member)
  },
  async join(model: Model, member: Member) {
    belongs.set(String(member), [nordlys])
    model.joined.add(member)
  },
}

/** Every token works exactly as far as the rules say, at both servers. */
const check = async (model: Model): Promise<void> => {
  for (const { app, member, value, refreshToken, isOver } of model.tokens) {
    const isGood = !isOver && model.joined.has(member) && may(model, app, member)
    for (const server of [host, other])
      expect({ app, member, status: (await guarded(server, value)).status }).toEqual({
        app,
        member,
        status: isGood ? 200 : 401,
      })
    const { status, body } = await refresh(other, refreshToken, { client_id: app })
    expect({ app, member, status }).toEqual({ app, member, status: isGood ? 200 : 400 })
    if (isGood) expect(body.scope.includes('notes:write')).toBe(model.decisions.get(app)?.most !== 'read')
  }
}

const member = fc.constantFrom<Member>(1, 2)
const app = fc.constantFrom(...apps)
const outcome = fc.constantFrom<Outcome>('allowed', 'ask', 'blocked')
const step = fc.oneof(
  fc.tuple(fc.constant('policy' as const), outcome),
  fc.tuple(fc.constant('decide' as const), app, outcome, fc.constantFrom('read' as const, undefined)),
  { weight: 4, arbitrary: fc.tuple(fc.constant('connect' as const), app, member) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('request' as const), app, member) },
  {
    weight: 2,
    arbitrary: fc.tuple(fc.constant('answer' as const), fc.constantFrom('everybody', 'person', 'refused')),
  },
  fc.tuple(fc.constant('removeAll' as const), app, fc.boolean()),
  fc.tuple(fc.constant('leave' as const), member),
  { weight: 2, arbitrary: fc.tuple(fc.constant('join' as const), member) },
)

test('no order of decisions, requests, leaving and joining lets a token work against the rules', async () => {
  expect(options.limits).toBe(false)
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 8, maxLength: 16 }), async (sequence) => {
      for (const name of [
        'consents',
        'authorizations',
        'organization_app_rules',
        'organization_app_requests',
      ])
        await host.table(name).delete()
      for (const each of [1, 2]) belongs.set(String(each), [nordlys])
      const model: Model = {
        policy: 'allowed',
        decisions: new Map(),
        approved: new Set(),
        waiting: new Set(),
        refused: new Set(),
        uses: new Set(),
        joined: new Set([1, 2]),
        tokens: [],
      }
      for (const [name, ...values] of sequence) {
        const run = steps[name] as (model: Model, ...values: unknown[]) => Promise<void>
        await run(model, ...values)
        await check(model)
      }
    }),
    { numRuns: runs(12) },
  )
}, 300_000)
