import type { Client } from '../../protocol/clients/client.ts'
import { intersectScopes } from '../../protocol/scope.ts'
import type { AuthorizationServer } from '../authorization-server.ts'
import { extensionPoint } from '../extension-point.ts'

// Rules of features about who may use which client. They are asked before something is issued, and whenever it is used.

/** The access that a rule is asked about. */
export interface RuledAccess {
  readonly client: Pick<Client, 'clientId' | 'metadata'>
  /** The user; undefined if the client acts for itself. */
  readonly subject: string | undefined
  /** Undefined if it is for none. */
  readonly organization: string | undefined
  readonly scopes: readonly string[]
}

/** The answer of a rule. */
export type RuleAnswer =
  | {
      readonly outcome: 'denied'
      /** For the user, as text. */
      readonly reason?: string | undefined
      /** The page to which a browser is led, below the mount. @default the page that shows the reason */
      readonly page?: string
    }
  /** Only these of the scopes may be used now. */
  | { readonly outcome: 'capped'; readonly scopes: readonly string[] }

/** A rule of a feature. */
export interface AccessRule {
  /** @returns undefined if the rule has nothing against it */
  judge(server: AuthorizationServer, access: RuledAccess): Promise<RuleAnswer | undefined>
}

export const accessRules = extensionPoint<AccessRule>('oauth.accessRules')

/** Whether there is any rule. */
export const isRuled = ({ added }: Pick<AuthorizationServer, 'added'>): boolean =>
  added(accessRules).length > 0

/**
 * Asks every rule about an access. Their answers are never remembered.
 *
 * @returns the first refusal, or the scopes that all rules leave
 * @example await judgeAccess(server, { client, subject: user.subject, organization, scopes })
 */
export const judgeAccess = async (server: AuthorizationServer, access: RuledAccess): Promise<RuleAnswer> => {
  let { scopes } = access
  for (const rule of server.added(accessRules)) {
    const answer = await rule.judge(server, { ...access, scopes })
    if (answer?.outcome === 'denied') return answer
    if (answer) scopes = intersectScopes(scopes, answer.scopes)
  }
  return { outcome: 'capped', scopes }
}

/**
 * The scopes of something stored that may be used now.
 *
 * @returns undefined if a rule refuses it
 */
export const usableScopes = async (
  server: AuthorizationServer,
  access: RuledAccess,
): Promise<readonly string[] | undefined> => {
  const answer = await judgeAccess(server, access)
  return answer.outcome === 'capped' ? answer.scopes : undefined
}
