// Random sequences of what users, clients, hosts and administrators do with things that users choose. A model beside the server
// keeps what was allowed, as pairs of a scope and a thing. Whatever happened: nothing ever says a pair that is not allowed.
import { personalAccessTokens } from '../../lib/features/index.ts'
import type { Choices } from '../../lib/protocol/choices.ts'
import { choicesIn } from '../../lib/protocol/choices.ts'
import { authorizeUrl, callback, clients, type Host, secret, startHost } from '../support/host.ts'
import { claimsOf } from '../support/outcomes.ts'
import { fc, runs } from '../support/property.ts'
import { type Answer, RawBrowser } from '../support/raw-browser.ts'
import { guarded, introspect, post, redeem, refresh, web } from '../support/tokens.ts'

const api = 'https://api.example.com/tasks'
const exchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange'
const kindOf = { 'tasks:read': 'project', 'tasks:write': 'project', 'money:read': 'account' } as const
type ScopeName = keyof typeof kindOf
const scopeNames = Object.keys(kindOf) as ScopeName[]
const kinds = ['project', 'account'] as const
type Kind = (typeof kinds)[number]
const organizations = ['north', 'south'] as const
type Organization = (typeof organizations)[number]
/** Every id that a form or request may name: also those of another kind, user or organization. */
const ids: Readonly<Record<Kind, readonly string[]>> = { project: ['p1', 'p2', 'p3'], account: ['a1', 'a2'] }
const everyId = [...ids.project, ...ids.account, 'strange']

/** What may be said: for each scope all things, or these. */
type Pairs = ReadonlyMap<ScopeName, 'all' | ReadonlySet<string>>
const allOf = (names: readonly ScopeName[]): Pairs => new Map(names.map((name) => [name, 'all' as const]))
const meet = (one: 'all' | ReadonlySet<string>, other: 'all' | ReadonlySet<string>) => {
  if (one === 'all') return other
  return other === 'all' ? one : new Set([...one].filter((id) => other.has(id)))
}
const both = (one: Pairs, other: Pairs): Pairs =>
  new Map(
    [...one].flatMap(([name, things]) => (other.has(name) ? [[name, meet(things, other.get(name)!)]] : [])),
  )
const show = (pairs: Pairs) =>
  [...pairs].map(([name, things]) => [name, things === 'all' ? 'all' : [...things]])

/** What the host answers. */
const world = {
  members: new Set<Organization>(),
  things: new Map<Organization, Map<string, string>>(),
}
const kindsThings = (organization: string, kind: Kind) =>
  [...(world.things.get(organization as Organization) ?? [])]
    .filter(([id]) => ids[kind].includes(id))
    .map(([id, name]) => ({ id, name }))
const foundNow = (organization: Organization): Pairs =>
  new Map(
    scopeNames.map((name) => [name, new Set(kindsThings(organization, kindOf[name]).map(({ id }) => id))]),
  )

/** An authorization of the user, from which tokens are issued. */
interface Grant {
  readonly organization: Organization
  pairs: Pairs
  refreshToken: string | undefined
}
interface Token {
  readonly value: string
  readonly grant: Grant
  readonly isJwt: boolean
  /** What it said when it was issued. */
  readonly said: Pairs
}
/** A token that the user made for themselves. */
interface PersonalToken {
  readonly value: string
  readonly organization: Organization
  readonly pairs: Pairs
}
const state = {
  clientScopes: new Set<string>(),
  /** What the user chose last, by organization. */
  remembered: new Map<Organization, Pairs>(),
  grants: [] as Grant[],
  tokens: [] as Token[],
  personal: [] as PersonalToken[],
}

const choice = (kind: Kind, scopes: ScopeName[]) => ({
  name: { one: kind, other: `${kind}s` },
  scopes,
  list: (_user: object, { organization = '', limit }: { organization?: string; limit: number }) => ({
    items: kindsThings(organization, kind).slice(0, limit),
  }),
  find: (
    _user: object,
    { organization = '', ids: asked }: { organization?: string; ids: readonly string[] },
  ) => kindsThings(organization, kind).filter(({ id }) => asked.includes(id)),
})

let host: Host
let agent: RawBrowser
/** How many tokens were made and how many objects were read: otherwise the property would hold of nothing. */
const counted = {
  tokens: 0,
  objects: 0,
  refused: 0,
  narrowed: 0,
  removed: 0,
  exchanged: 0,
  refreshed: 0,
  silent: 0,
  personal: 0,
}

const scopeOfClient = `openid offline_access ${scopeNames.join(' ')}`
beforeAll(async () => {
  host = await startHost({
    clients: [
      { ...clients[0]!, scope: scopeOfClient, grant_types: [...clients[0]!.grant_types!, exchangeGrant] },
      {
        client_id: 'worker',
        client_secret: secret,
        redirect_uris: [callback],
        grant_types: [exchangeGrant],
        scope: 'tasks:read',
        may_introspect: true,
      },
    ],
    options: {
      limits: false,
      scopes: Object.fromEntries(scopeNames.map((name) => [name, { description: name, optional: true }])),
      organizations: () => [...world.members].map((id) => ({ id, name: id })),
      choices: {
        project: choice('project', ['tasks:read', 'tasks:write']),
        account: choice('account', ['money:read']),
      },
      resources: { [api]: { scopes: ['tasks:read', 'tasks:write'], accessToken: 'jwt' } },
      protocol: { tokenExchange: { allow: () => true } },
      features: [personalAccessTokens()],
    },
  })
  host.app.get('/api/all', host.oauth.requireToken(), (req, res) => {
    res.json(Object.fromEntries(kinds.map((kind) => [kind, req.auth.chosen(kind)])))
  })
})
afterAll(() => host.close())

const reset = async (): Promise<void> => {
  for (const name of ['consents', 'consent_receipts', 'authorizations', 'personal_tokens'])
    await host.table(name).delete()
  world.members = new Set(organizations)
  const all = () => new Map([...ids.project, ...ids.account].map((id) => [id, `Name of ${id}`]))
  world.things = new Map([
    ['north', all()],
    ['south', new Map([...all()].filter(([id]) => id !== 'p3'))],
  ])
  Object.assign(state, { remembered: new Map(), grants: [], tokens: [], personal: [] })
  state.clientScopes = new Set(scopeNames)
  await host.oauth.clients.update('web', { scope: scopeOfClient })
  agent = new RawBrowser(host.app)
  await agent.signIn(await agent.open('/oauth/account'))
}

/** The pairs in objects of `authorization_details`. */
const pairsOf = (details: readonly { type: string; actions?: string[] }[] = []): Pairs => {
  const said: Choices = choicesIn(details)
  return new Map(
    details.flatMap(({ type, actions = [] }) =>
      actions.map((name) => {
        const chosen = said[type] ?? []
        return [name as ScopeName, chosen === 'all' ? ('all' as const) : new Set(chosen)] as const
      }),
    ),
  )
}

const expectWithin = (where: string, said: Pairs, allowed: Pairs): void => {
  for (const [name, things] of said) {
    counted.objects += 1
    const most = allowed.get(name)
    const isWithin =
      most !== undefined && (most === 'all' || (things !== 'all' && [...things].every((id) => most.has(id))))
    if (!isWithin)
      throw new Error(
        `${where} says ${JSON.stringify(show(new Map([[name, things]])))}, and allowed is ${JSON.stringify(show(allowed))}`,
      )
  }
}

const byClient = (): Pairs => allOf(scopeNames.filter((name) => state.clientScopes.has(name)))
/** All things are those that `find` returns where they are used; the choice of all is not a list. */
const issuable = (grant: Grant): Pairs => {
  const found = foundNow(grant.organization)
  const bounded = [...both(grant.pairs, byClient())].map(
    ([name, things]) => [name, things === 'all' ? things : meet(things, found.get(name)!)] as const,
  )
  return new Map(bounded)
}

interface Answered {
  readonly access_token: string
  readonly refresh_token?: string
  readonly authorization_details?: { type: string }[]
}

/** Takes over what the token endpoint answered, after it was checked. */
const received = (where: string, grant: Grant, body: Answered, within?: Pairs): void => {
  const said = pairsOf(body.authorization_details)
  expectWithin(where, said, within ? both(within, issuable(grant)) : issuable(grant))
  const isJwt = body.access_token.includes('.')
  if (isJwt) {
    const claims = claimsOf(body.access_token) as { authorization_details?: [] }
    expectWithin(`${where}, the JWT`, pairsOf(claims.authorization_details), issuable(grant))
  }
  counted.tokens += 1
  state.tokens.push({ value: body.access_token, grant, isJwt, said })
  if (body.refresh_token) grant.refreshToken = body.refresh_token
}

const guardWithin = async (value: string, now: Pairs): Promise<void> => {
  const behind = await guarded(host, value, '/api/all')
  for (const kind of behind.status === 200 ? kinds : []) {
    const names = [...now.keys()].filter((name) => kindOf[name] === kind)
    const chosen: 'all' | string[] = behind.body[kind]
    for (const name of names)
      expectWithin('the guard', new Map([[name, chosen === 'all' ? chosen : new Set(chosen)]]), now)
    if (names.length === 0 && chosen.length > 0) throw new Error(`the guard says ${chosen} of ${kind}`)
  }
}

/** No token may say more than its grant, the client and itself allow now. */
const checkAll = async (): Promise<void> => {
  for (const { value, grant, isJwt, said } of state.tokens) {
    const { body } = await introspect(host, value)
    const now = both(both(grant.pairs, byClient()), said)
    if (!body.active) continue
    if (!world.members.has(grant.organization)) throw new Error('a token is active outside its organization')
    expectWithin('introspection', pairsOf(body.authorization_details), now)
    if (!isJwt) await guardWithin(value, now)
  }
  for (const { value, organization: at, pairs } of state.personal) {
    const { body } = await introspect(host, value, { client_id: 'worker' })
    if (!body.active) continue
    if (!world.members.has(at)) throw new Error('a personal token is active outside its organization')
    expectWithin('a personal token', pairsOf(body.authorization_details), pairs)
    await guardWithin(value, pairs)
  }
}

const scopesOf = fc.subarray(scopeNames, { minLength: 1 })
/** Mostly all of them. */
const manyScopes = fc.oneof(
  { weight: 3, arbitrary: fc.constant(scopeNames) },
  { weight: 2, arbitrary: scopesOf },
)
/** Mostly things of the kind, and now and then what is none of them. */
const ticked = (kind: Kind) =>
  fc.oneof(
    { weight: 5, arbitrary: fc.subarray([...ids[kind]], { minLength: 1 }) },
    { weight: 1, arbitrary: fc.subarray(everyId, { maxLength: 3 }) },
  )
const form = fc.record({
  modes: fc.record({
    project: fc.constantFrom('all', 'these', 'these', 'these', 'none'),
    account: fc.constantFrom('all', 'these', 'these'),
  }),
  ids: fc.record({ project: ticked('project'), account: ticked('account') }),
  keeps: manyScopes,
})
type Form = typeof form extends fc.Arbitrary<infer T> ? T : never
const organization = fc.constantFrom('north', 'north', 'north', 'south') as fc.Arbitrary<Organization>
const details = fc.oneof(
  { weight: 4, arbitrary: fc.constant(undefined) },
  { weight: 1, arbitrary: fc.subarray([...ids.project], { minLength: 1 }) },
)
const some = fc.nat(20)

const steps = {
  authorize: fc.record({
    scopes: scopesOf,
    organization,
    details,
    prompt: fc.constantFrom('none', 'consent', 'consent', ''),
    form,
    isJwt: fc.boolean(),
  }),
  refresh: fc.record({
    which: some,
    scopes: fc.constantFrom(undefined, undefined, ['tasks:read'] as ScopeName[], scopeNames),
    details,
    isJwt: fc.boolean(),
  }),
  exchange: fc.record({ which: some, isWorker: fc.boolean(), isJwt: fc.boolean() }),
  narrow: fc.record({ organization, form }),
  lose: fc.record({ organization, id: fc.constantFrom(...everyId) }),
  regain: fc.record({ organization, id: fc.constantFrom(...ids.project, ...ids.account) }),
  rename: fc.record({ organization, id: fc.constantFrom(...ids.project) }),
  leave: fc.record({ organization }),
  join: fc.record({ organization }),
  client: fc.record({ scopes: manyScopes }),
  remove: fc.record({ organization }),
  personal: fc.record({ scopes: scopesOf, organization, form }),
}
type Steps = { [Name in keyof typeof steps]: (typeof steps)[Name] extends fc.Arbitrary<infer T> ? T : never }

const detailsOf = (identifiers: readonly string[] | undefined) =>
  identifiers && JSON.stringify([{ type: 'project', identifiers }])

/** A form with nothing ticked but what the form of the step says. */
const filled = (page: Answer, { modes, ids: chosen, keeps }: Form): [Answer, Record<string, string>] => {
  const html = page.html.replace(/(name="(?:thing|scope|choice):[^>]*?) checked/g, '$1')
  const fields: Record<string, string> = {
    'choice:project': modes.project,
    preset: 'choose',
    'choice:account': modes.account,
  }
  for (const kind of kinds) for (const id of chosen[kind]) fields[`thing:${kind}:${id}`] = 'on'
  for (const name of keeps) fields[`scope:${name}`] = 'on'
  return [{ ...page, html }, fields]
}
/** What the form allows, for these scopes. */
const allowedBy = ({ modes, ids: chosen, keeps }: Form, asked: readonly ScopeName[]): Pairs =>
  new Map(
    asked
      .filter((name) => keeps.includes(name))
      .map((name) => {
        const mode = modes[kindOf[name]]
        if (mode === 'none') return [name, new Set<string>()] as const
        return [name, mode === 'all' ? ('all' as const) : new Set(chosen[kindOf[name]])] as const
      }),
  )

const act: { readonly [Name in keyof Steps]: (step: Steps[Name]) => Promise<void> } = {
  async authorize({ scopes, organization: at, details: wanted, prompt, form: given, isJwt }) {
    const isTasks = scopes.every((name) => kindOf[name] === 'project')
    const named = detailsOf(scopes.some((name) => kindOf[name] === 'project') ? wanted : undefined)
    const url = authorizeUrl({
      client_id: 'web',
      scope: ['openid', 'offline_access', ...scopes].join(' '),
      organization: at,
      ...(named && { authorization_details: named }),
      ...(prompt && { prompt }),
    })
    const before = state.remembered.get(at) ?? new Map()
    let answer = await agent.open(url)
    let pairs = both(before, allOf(scopes))
    if (answer.url.pathname.endsWith('/consent')) {
      const [page, fields] = filled(answer, given)
      answer = await agent.decide(page, 'allow', fields)
      pairs = allowedBy(given, scopes)
      if (answer.location) {
        const found = foundNow(at)
        pairs = new Map(
          [...pairs].map(([name, things]) => [
            name,
            things === 'all' ? things : meet(things, found.get(name)!),
          ]),
        )
        const shown = [...before].filter(([name]) => !scopes.includes(name))
        state.remembered.set(at, new Map([...shown, ...pairs]))
      }
    }
    const code = answer.location?.searchParams.get('code')
    if (!code) {
      counted.refused += 1
      return
    }
    if (prompt === 'none') counted.silent += 1
    const grant: Grant = { organization: at, pairs, refreshToken: undefined }
    state.grants.push(grant)
    const { status, body } = await redeem(host, code, isTasks && isJwt ? { resource: api } : {})
    if (status === 200) received('the token response', grant, body)
  },
  async refresh({ which, scopes, details: wanted, isJwt }) {
    const grant = state.grants[which % (state.grants.length || 1)]
    if (grant?.refreshToken === undefined) return
    const { status, body } = await refresh(host, grant.refreshToken, {
      scope: scopes?.join(' '),
      authorization_details: detailsOf(wanted),
      resource: isJwt ? api : undefined,
    })
    if (status !== 200) {
      counted.refused += 1
      return
    }
    const within =
      wanted &&
      new Map(
        scopeNames.map((name) => [name, kindOf[name] === 'project' ? new Set(wanted) : ('all' as const)]),
      )
    counted.refreshed += 1
    received('a refresh', grant, body, scopes ? both(within ?? allOf(scopeNames), allOf(scopes)) : within)
  },
  async exchange({ which, isWorker, isJwt }) {
    const token = state.tokens[which % (state.tokens.length || 1)]
    if (token === undefined) return
    const { status, body } = await post(host, {
      grant_type: exchangeGrant,
      subject_token: token.value,
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      ...web,
      ...(isWorker && { client_id: 'worker' }),
      resource: isJwt ? api : undefined,
    })
    if (status === 200) {
      counted.exchanged += 1
      received('a token exchange', token.grant, body, token.said)
    }
  },
  async narrow({ organization: at, form: given }) {
    const page = await agent.open(`/oauth/account/access?client_id=web&organization=${at}`)
    if (!page.html.includes('value="narrow"')) return
    const [without, fields] = filled(page, given)
    const answer = await agent.submit(without, 'value="narrow"', { decision: 'narrow', ...fields })
    if (!answer.html.includes('Saved.')) throw new Error(`not narrowed: ${answer.status}`)
    counted.narrowed += 1
    const kept = allOf(given.keeps)
    for (const name of given.keeps)
      if (given.modes[kindOf[name]] === 'these')
        (kept as Map<ScopeName, 'all' | ReadonlySet<string>>).set(name, new Set(given.ids[kindOf[name]]))
    for (const grant of state.grants) if (grant.organization === at) grant.pairs = both(grant.pairs, kept)
    state.remembered.set(at, both(state.remembered.get(at) ?? new Map(), kept))
  },
  async lose({ organization: at, id }) {
    world.things.get(at)?.delete(id)
  },
  async regain({ organization: at, id }) {
    world.things.get(at)?.set(id, 'Back')
  },
  async rename({ organization: at, id }) {
    if (world.things.get(at)?.has(id)) world.things.get(at)?.set(id, 'Renamed')
  },
  async leave({ organization: at }) {
    world.members.delete(at)
  },
  async join({ organization: at }) {
    world.members.add(at)
  },
  async client({ scopes }) {
    await host.oauth.clients.update('web', { scope: ['openid', 'offline_access', ...scopes].join(' ') })
    state.clientScopes = new Set(scopes)
  },
  async remove({ organization: at }) {
    const page = await agent.open(`/oauth/account?client_id=web&organization=${at}`)
    if (!page.html.includes('name="client_id"')) return
    counted.removed += 1
    await agent.submit(page, 'name="client_id"')
    for (const grant of state.grants) if (grant.organization === at) grant.pairs = new Map()
    state.remembered.delete(at)
  },
  async personal({ scopes, organization: at, form: { modes, ids: chosen } }) {
    const given = { modes, ids: chosen, keeps: scopes }
    const [only, ...others] = world.members
    const send = (answer: Answer): Promise<Answer> => {
      const [page, fields] = filled(answer, given)
      const typed = { name: 'script', days: '30', decision: 'create', organization: at }
      return agent.submit(page, 'name="name"', { ...typed, ...fields })
    }
    const page = await agent.open('/oauth/account/tokens/new')
    // A user of no organization gets no form.
    if (only === undefined || !page.html.includes('name="name"')) return
    const first = await send(page)
    const made = first.html.includes('You changed the workspace') ? await send(first) : first
    const value = / id="secret" dir="ltr">([^<]*)</.exec(made.html)?.[1]
    if (!value) return
    counted.personal += 1
    const own = others.length > 0 ? at : only
    // All things are those that come later, too.
    const found = foundNow(own)
    const pairs = new Map(
      [...allowedBy(given, scopes)].map(
        ([name, things]) => [name, things === 'all' ? things : meet(things, found.get(name)!)] as const,
      ),
    )
    state.personal.push({ value, organization: own, pairs })
  },
}

const weights: Partial<Record<keyof Steps, number>> = {
  authorize: 6,
  refresh: 6,
  exchange: 3,
  narrow: 3,
  join: 2,
}
const step = fc.oneof(
  ...(Object.entries(steps) as [keyof Steps, fc.Arbitrary<unknown>][]).map(([name, values]) => ({
    weight: weights[name] ?? 1,
    arbitrary: values.map((given) => ({ name, given })),
  })),
)

const several = fc.array(step, { minLength: 1, maxLength: 6, size: 'max' })
const making = steps.personal.map((given) => ({ name: 'personal' as const, given }))
const narrowing = steps.narrow.map((given) => ({ name: 'narrow' as const, given }))

const noForm: Form = {
  modes: { project: 'none', account: 'these' },
  ids: { project: [], account: [] },
  keeps: [],
}
const silent = { prompt: 'none', details: undefined, form: noForm, isJwt: false } as const
/** The user allows something, mostly two times in one organization. */
const begin = fc.array(steps.authorize, { minLength: 1, maxLength: 2 }).map((all) =>
  all.map((given) => ({
    name: 'authorize' as const,
    given: { ...given, prompt: 'consent' as const, organization: all[0]!.organization },
  })),
)

test('no token says more than the user, the client, the organization and `find` allow', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.tuple(begin, several, making, narrowing, several),
      async ([first, before, make, narrow, after]) => {
        await reset()
        for (const { name, given } of [...first, ...before, make, narrow, ...after]) {
          await act[name](given as never)
          await checkAll()
        }
        // What was allowed bit by bit is asked for at once, without a page.
        for (const [at, pairs] of state.remembered)
          await act.authorize({ ...silent, scopes: [...pairs.keys()], organization: at })
      },
    ),
    { numRuns: runs(20) },
  )
  expect(counted.tokens).toBeGreaterThan(20)
  expect(counted.objects).toBeGreaterThan(100)
  expect(counted.narrowed).toBeGreaterThan(3)
  expect(counted.personal).toBeGreaterThan(0)
})
