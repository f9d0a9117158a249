import { hashSecret } from '../../keys/secrets.ts'
import { groupOf, scopeOptions } from '../../oauth/authorization/context.ts'
import type { Options } from '../../options/options.ts'
import { allowedScopes, type Client, clientName, describedAt } from '../../protocol/clients/client.ts'
import type { ClientMetadata } from '../../protocol/clients/client-metadata.ts'
import { standardScopes } from '../../protocol/scope.ts'

/** The rules for an app, from loose to strict: members allow it, ask an administrator, or cannot use it. */
export const outcomes = ['allowed', 'ask', 'blocked'] as const
/** The use of an app by members: `allowed`, `ask` an administrator first, or `blocked`. */
export type AppOutcome = (typeof outcomes)[number]

/** The most that an app may do: only what reads, or these scopes. */
export type AppLimit = 'read' | readonly string[]

/** The names of the rules about every app that has none of its own, and about those that are unverified. */
export const everyApp = 'every'
export const unverifiedApps = 'unverified'

/** A rule of an organization. Times are epoch seconds. */
export interface AppRule {
  /** `client:<id>`, `host:<host>`, `every` or `unverified`. */
  readonly app: string
  readonly outcome: AppOutcome
  /** For members who may not use the app. */
  readonly words?: string
  /** @default what the app asks */
  readonly most?: AppLimit
  readonly decidedAt: number
  /** The user who decided; absent for apps that were in use when the policy began. */
  readonly decidedBy?: string
}

/** A client that rules can be about. */
type RuledClient = Pick<Client, 'clientId' | 'metadata'>

/**
 * The app that a client belongs to. All clients that describe themselves at one host, with its port, are one app, whatever their
 * names or redirect URIs say.
 *
 * @example appOf({ clientId: 'journal', metadata }) // 'client:journal'
 */
export const appOf = (client: RuledClient): string => {
  const url = describedAt(client)
  return url === undefined ? `client:${client.clientId}` : `host:${url.host}`
}

/** Whether organizations decide about a client: not about those of the host's own, and not about tokens without a client. */
export const isApp = ({ metadata }: { readonly metadata: ClientMetadata }): boolean =>
  !metadata.first_party && metadata.grant_types.length > 0

/**
 * The rule that holds for an app: its own, or the stricter one of those about all apps and about unverified ones.
 *
 * @returns undefined if there is none: then members may allow it
 */
export const ruleFor = (
  rules: readonly AppRule[],
  app: string,
  isUnverified: boolean,
): AppRule | undefined => {
  const named = (name: string): AppRule | undefined => rules.find((rule) => rule.app === name)
  const strictness = (rule: AppRule): number => outcomes.indexOf(rule.outcome)
  const general = [named(everyApp), isUnverified ? named(unverifiedApps) : undefined]
    .filter((rule) => rule !== undefined)
    .sort((one, other) => strictness(other) - strictness(one))
  return named(app) ?? general[0]
}

/** Whether "Read only" keeps a scope: it changes nothing, and is not sensitive. */
const isRead = (server: { readonly options: Pick<Options, 'scopes'> }, name: string): boolean => {
  const scope = scopeOptions(server, name)
  return groupOf(scope) !== 'change' && scope?.risk !== 'high'
}

const isStandard = (name: string): boolean => standardScopes.some((scope) => scope === name)

/** The scopes that a limit leaves. Those that say who the user is, and `offline_access`, always stay. */
export const withinLimit = (
  server: { readonly options: Pick<Options, 'scopes'> },
  scopes: readonly string[],
  most: AppLimit | undefined,
): readonly string[] => {
  if (most === undefined) return scopes
  return scopes.filter(
    (name) => isStandard(name) || (most === 'read' ? isRead(server, name) : most.includes(name)),
  )
}

/** The scopes of an app that a limit can take from it. */
export const limitableScopes = (clients: readonly RuledClient[]): readonly string[] => [
  ...new Set(clients.flatMap((client) => allowedScopes(client)).filter((name) => !isStandard(name))),
]

/** A mark of what an administrator reads about a client: what is decided about is what was shown. */
export const shownMark = (client: Client): string =>
  hashSecret(
    JSON.stringify([
      appOf(client),
      clientName(client),
      [...client.metadata.redirect_uris].sort(),
      [...allowedScopes(client)].sort(),
    ]),
  )
