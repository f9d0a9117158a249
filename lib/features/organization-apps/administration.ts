import { isUnverified } from '../../oauth/authorization/consent.ts'
import type { AuthorizationServer, ServerSetup } from '../../oauth/authorization-server.ts'
import { clientName } from '../../protocol/clients/client.ts'
import { setMembers } from '../../protocol/json.ts'
import { refusal } from '../../protocol/refusal.ts'
import type { RequestInfo } from '../../protocol/requests/request-info.ts'
import type { Database } from '../../storage/database/types.ts'
import { type ClientRecord, findClientRecords, lockClient } from '../../storage/repositories/clients.ts'
import { batchSize } from '../../storage/repositories/pruning/batch.ts'
import { disconnectClient } from '../../users/account/disconnect-client.ts'
import type { AppDecision, OrganizationApp, OrganizationPolicy, RequestAnswer } from './declarations.ts'
import {
  type AppRequest,
  answerRequest,
  findRequest,
  listWaitingRequests,
  removeRequestOf,
  removeRequestsForApp,
  removeWaitingRequests,
} from './requests-table.ts'
import {
  type AppOutcome,
  type AppRule,
  appOf,
  everyApp,
  isApp,
  outcomes,
  ruleFor,
  shownMark,
  unverifiedApps,
} from './rules.ts'
import { findAppRules, keepAppRule, listAppRules, removeAppRule, setAppRule } from './rules-table.ts'
import { type ClientUse, listClientUses, removeFromMembers } from './usage.ts'

/** Who decides, and in which request. */
export interface Decider {
  /** The user who decides; undefined for the host. */
  readonly by?: string | undefined
  readonly info?: RequestInfo | undefined
}

/** An app with everything that its page reads. */
export interface KnownApp {
  readonly app: string
  /** Those that members use, or the one that the rule is about. */
  readonly clients: readonly ClientRecord[]
  readonly users: number
  /** Epoch seconds; null if no member uses it. */
  readonly lastUsedAt: number | null
  /** The rule that holds for it; undefined if members may allow it. */
  readonly rule: AppRule | undefined
  /** Whether the rule is its own. */
  readonly isOwn: boolean
  readonly isUnverified: boolean
}

/** A year, in seconds, several times over: an approval stays until it is taken back. */
const lasting = 100 * 365 * 86_400
/** Seconds that a request waits, and that a refused one is not made again. */
export const requestLifetime = 60 * 86_400

/** Characters of the words for members. */
export const maxWords = 500

const recordsOf = async (
  { database, now }: AuthorizationServer,
  clientIds: readonly string[],
): Promise<ClientRecord[]> => {
  const records: ClientRecord[] = []
  for (let start = 0; start < clientIds.length; start += batchSize)
    records.push(
      ...(await findClientRecords(database, {
        clientIds: clientIds.slice(start, start + batchSize),
        now: now(),
      })),
    )
  return records
}

const clientIdOf = (app: string): string | undefined =>
  app.startsWith('client:') ? app.slice('client:'.length) : undefined

/** The name of an app: that of its client, or the host of those that describe themselves. */
export const appName = ({ app, clients }: Pick<KnownApp, 'app' | 'clients'>, language?: string): string => {
  const [client] = clients
  if (app.startsWith('host:')) return app.slice('host:'.length)
  return client === undefined ? app : clientName(client, language)
}

/** The apps of an organization: those that its members use, and those that a rule is about. */
export const listApps = async (server: AuthorizationServer, organization: string): Promise<KnownApp[]> => {
  const uses = new Map(
    (await listClientUses(server.database, organization)).map((use) => [use.clientId, use]),
  )
  const rules = await listAppRules(server.database, { organization })
  const ruled = rules.flatMap(({ app }) => clientIdOf(app) ?? [])
  const records = await recordsOf(server, [...new Set([...uses.keys(), ...ruled])])
  const apps = new Map<string, ClientRecord[]>(
    rules.filter(({ app }) => app.startsWith('host:')).map(({ app }) => [app, []]),
  )
  for (const record of records.filter(isApp)) {
    const app = appOf(record)
    apps.set(app, [...(apps.get(app) ?? []), record])
  }
  return [...apps].map(([app, clients]) => knownApp(server, app, clients, { rules, uses }))
}

const knownApp = (
  server: AuthorizationServer,
  app: string,
  clients: readonly ClientRecord[],
  { rules, uses }: { readonly rules: readonly AppRule[]; readonly uses: ReadonlyMap<string, ClientUse> },
): KnownApp => {
  const own = clients.flatMap(({ clientId }) => uses.get(clientId) ?? [])
  const isStrange = clients.some((client) => isUnverified(server, client))
  const rule = ruleFor(rules, app, isStrange)
  return {
    app,
    clients,
    users: own.reduce((sum, { users }) => sum + users, 0),
    lastUsedAt: own.length > 0 ? Math.max(...own.map(({ lastUsedAt }) => lastUsedAt)) : null,
    rule,
    isOwn: rule?.app === app,
    isUnverified: isStrange,
  }
}

/** An app of an organization; undefined if its members do not use it, and no rule or request is about it. */
export const findApp = async (
  server: AuthorizationServer,
  organization: string,
  app: string,
): Promise<KnownApp | undefined> =>
  // Few enough to be read at once.
  (await listApps(server, organization)).find((each) => each.app === app)

const policyIn = (rules: readonly AppRule[]): OrganizationPolicy => {
  const outcomeOf = (name: string): AppOutcome | undefined => rules.find(({ app }) => app === name)?.outcome
  const unverified = outcomeOf(unverifiedApps) ?? 'allowed'
  return {
    apps: outcomeOf(everyApp) ?? 'allowed',
    unverified: unverified === 'allowed' ? 'same' : unverified,
  }
}

export const readPolicy = async (database: Database, organization: string): Promise<OrganizationPolicy> =>
  policyIn(await listAppRules(database, { organization }))

const assertOneOf = (name: string, value: unknown, allowed: readonly string[]): void => {
  if (typeof value === 'string' && allowed.includes(value)) return
  throw refusal('parameter_invalid', {
    values: { parameter: name, problem: `must be one of: ${allowed.join(', ')}` },
  })
}

/**
 * Sets what members can do with apps about which nothing is decided. What they use when a stricter policy begins stays allowed.
 */
export const setPolicy = async (
  server: AuthorizationServer,
  organization: string,
  { apps, unverified }: OrganizationPolicy,
  { by, info }: Decider = {},
): Promise<void> => {
  assertOneOf('apps', apps, outcomes)
  assertOneOf('unverified', unverified, ['same', 'ask', 'blocked'])
  const { database, events, now } = server
  const known = await listApps(server, organization)
  await events.change(database, async (tx, tell) => {
    const decided = { decidedAt: now(), ...(by !== undefined && { decidedBy: by }) }
    // Apps that the earlier policy lets members allow, and that they do.
    const inUse = known.filter(({ rule, users }) => users > 0 && (rule?.outcome ?? 'allowed') === 'allowed')
    if (apps !== 'allowed' || unverified !== 'same')
      for (const { app, isOwn } of inUse)
        if (!isOwn) await keepAppRule(tx, organization, { app, outcome: 'allowed', decidedAt: now() })
    await setAppRule(tx, organization, { app: everyApp, outcome: apps, ...decided })
    if (unverified === 'same') await removeAppRule(tx, { organization, app: unverifiedApps })
    else await setAppRule(tx, organization, { app: unverifiedApps, outcome: unverified, ...decided })
    await tell(
      'organization.policy_changed',
      info,
      setMembers({ organization, apps, unverified, subject: by }),
    )
  })
}

/** Stores a decision about an app. It answers the requests that wait for it, unless members still have to ask. */
export const decideApp = async (
  server: AuthorizationServer,
  organization: string,
  app: string,
  { outcome, words, most }: AppDecision,
  { by, info }: Decider = {},
): Promise<void> => {
  assertOneOf('outcome', outcome, outcomes)
  const said = words?.trim().slice(0, maxWords) || undefined
  const decided = { decidedAt: server.now(), decidedBy: by }
  await server.events.change(server.database, async (tx, tell) => {
    await setAppRule(tx, organization, setMembers({ app, outcome, words: said, most, ...decided }))
    if (outcome !== 'ask') await removeWaitingRequests(tx, { organization, app })
    await tell('organization.app_decided', info, setMembers({ organization, app, outcome, subject: by }))
  })
}

/**
 * Answers a request, if it still waits and the app is as it was shown.
 *
 * @param mark of the app as the administrator saw it; by default as it is
 * @returns false if the request is answered or gone, or the app has changed
 */
export const answerAppRequest = async (
  server: AuthorizationServer,
  { organization, id }: Pick<AppRequest, 'organization' | 'id'>,
  kind: RequestAnswer,
  { by, info, mark }: Decider & { readonly mark?: string } = {},
): Promise<boolean> => {
  assertOneOf('answer', kind, ['everybody', 'person', 'refused'])
  const { database, events, now } = server
  const request = await findRequest(database, { organization, id })
  if (request === undefined) return false
  const { app, clientId, subject } = request
  return events.change(database, async (tx, tell) => {
    // It stays locked: what is approved is what was shown.
    const client = await lockClient(tx, { clientId, now: now() })
    if (client === undefined || appOf(client) !== app) return false
    if (mark !== undefined && mark !== shownMark(client)) return false
    const rest = kind === 'person' ? lasting : requestLifetime
    const status = kind === 'refused' ? 'refused' : 'approved'
    if (!(await answerRequest(tx, { id, organization, status, expiresAt: now() + rest }))) return false
    if (kind === 'everybody') {
      const earlier = (await findAppRules(tx, { organization, app })).find((rule) => rule.app === app)
      const decided = { outcome: 'allowed', decidedAt: now(), decidedBy: by } as const
      await setAppRule(tx, organization, setMembers({ app, most: earlier?.most, ...decided }))
      await removeWaitingRequests(tx, { organization, app })
      await removeRequestOf(tx, { organization, app, subject })
      await tell(
        'organization.app_decided',
        info,
        setMembers({ organization, app, outcome: 'allowed', subject: by }),
      )
    }
    await tell('organization.access_answered', info, { organization, clientId, subject, answer: kind })
    return true
  })
}

/** Ends one member's access by an app, and takes back what was approved for that member. */
export const removeMember = async (
  server: AuthorizationServer,
  organization: string,
  { app, clients }: KnownApp,
  subject: string,
  { info }: Decider = {},
): Promise<void> => {
  await removeRequestOf(server.database, { organization, app, subject })
  for (const { clientId } of clients)
    await disconnectClient(server, { subject, clientId, organization }, { ...(info && { info }) })
}

/**
 * Ends all access by an app in an organization.
 *
 * @param also.block also decides that members may not allow it again
 * @returns the number of members whose access ended
 */
export const removeApp = async (
  server: AuthorizationServer,
  organization: string,
  { app, clients, rule, isOwn }: KnownApp,
  { block = false, by, info }: Decider & { readonly block?: boolean } = {},
): Promise<number> => {
  // First, so that no member allows it again meanwhile.
  const { words, most } = isOwn && rule ? rule : {}
  if (block) await decideApp(server, organization, app, { outcome: 'blocked', words, most }, { by, info })
  await removeRequestsForApp(server.database, { organization, app })
  const ids = clients.map(({ clientId }) => clientId)
  const users = await removeFromMembers(server, organization, ids, info)
  await server.events.change(server.database, (_, tell) =>
    tell('organization.app_removed', info, setMembers({ organization, app, users, subject: by })),
  )
  return users
}

/** Decides about the apps of organizations, as their administrators do on their pages. */
export interface OrganizationAppAdministration {
  /**
   * Lists the apps that members of an organization use, or about which something is decided.
   *
   * @example const apps = await oauth.organizationApps.list('acme')
   */
  list(organization: string): Promise<OrganizationApp[]>
  /**
   * Returns what members can do with apps about which nothing is decided.
   *
   * @example const { apps } = await oauth.organizationApps.policy('acme')
   */
  policy(organization: string): Promise<OrganizationPolicy>
  /**
   * Sets that. Apps that members use now stay allowed.
   *
   * @param options.by the id of the user who decides
   * @throws OAuthError `invalid_request` for other values
   * @example await oauth.organizationApps.setPolicy('acme', { apps: 'ask', unverified: 'blocked' })
   */
  setPolicy(organization: string, policy: OrganizationPolicy, options?: { by?: string }): Promise<void>
  /**
   * Decides about one app, from the next use of each token on.
   *
   * @param app `client:<id>`, or `host:<host>` for clients that describe themselves there
   * @throws OAuthError `invalid_request` for another outcome
   * @example await oauth.organizationApps.decide('acme', 'client:journal', { outcome: 'allowed', most: 'read' })
   */
  decide(organization: string, app: string, decision: AppDecision, options?: { by?: string }): Promise<void>
  /**
   * Lists requests that wait, oldest first, at most 20.
   *
   * @param after the last one of the call before
   * @example const waiting = await oauth.organizationApps.requests('acme')
   */
  requests(organization: string, after?: AppRequest): Promise<AppRequest[]>
  /**
   * Answers a request: for everybody, for this person, or not.
   *
   * @returns false if it no longer waits
   * @example await oauth.organizationApps.answer('acme', request.id, 'person')
   */
  answer(organization: string, id: string, kind: RequestAnswer, options?: { by?: string }): Promise<boolean>
  /**
   * Ends the access of every member by an app.
   *
   * @param options.block also blocks it
   * @returns the number of members whose access ended
   * @example const users = await oauth.organizationApps.removeForEverybody('acme', 'client:journal', { block: true })
   */
  removeForEverybody(
    organization: string,
    app: string,
    options?: { block?: boolean; by?: string },
  ): Promise<number>
}

const appShown = ({ app, clients, users, lastUsedAt, rule, isOwn }: KnownApp): OrganizationApp => ({
  app,
  name: appName({ app, clients }),
  clientIds: clients.map(({ clientId }) => clientId),
  users,
  lastUsedAt,
  outcome: rule?.outcome ?? 'allowed',
  ...(isOwn && rule && { decision: rule }),
})

export const organizationAppAdministration = ({ ready }: ServerSetup): OrganizationAppAdministration => ({
  list: async (organization) => (await listApps(await ready(), organization)).map(appShown),
  policy: async (organization) => readPolicy((await ready()).database, organization),
  setPolicy: async (organization, policy, options) => setPolicy(await ready(), organization, policy, options),
  decide: async (organization, app, decision, options) =>
    decideApp(await ready(), organization, app, decision, options),
  requests: async (organization, after) => {
    const { database, now } = await ready()
    const place = { time: after?.createdAt ?? 0, id: after?.id ?? '', now: now() }
    return (await listWaitingRequests(database, { organization, ...place })).slice(0, 20)
  },
  answer: async (organization, id, kind, options) =>
    answerAppRequest(await ready(), { organization, id }, kind, options),
  removeForEverybody: async (organization, app, options) => {
    const server = await ready()
    const known = await findApp(server, organization, app)
    return known ? removeApp(server, organization, known, options) : 0
  },
})
