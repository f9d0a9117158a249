import type { AuthorizationContext, NextStep } from '../../protocol/requests/next-step.ts'
import type { PageContext } from '../../web/http/context.ts'
import type { AskedAccess } from '../tokens/allowed.ts'
import { type PendingRequestKind, type RequestToDecide, scopeOptions, type UserLogin } from './context.ts'

/** What the host is asked about a request, and about which login. */
export interface AskedInBrowser extends AskedAccess {
  readonly login: UserLogin
}

/** What the host is asked about a login: by default for the scopes that the user cannot untick. */
export const askedOf = (
  { server, req }: PageContext,
  { name: step }: Pick<PendingRequestKind, 'name'>,
  { client, request }: Pick<RequestToDecide, 'client' | 'request'>,
  login: UserLogin,
  granted?: { readonly scopes: readonly string[]; readonly organization: string | undefined },
): AskedInBrowser => {
  const certain = request.scopes.filter((scope) => scopeOptions(server, scope)?.optional !== true)
  const { scopes = certain, organization } = granted ?? {}
  return { user: login.user, login, client, scopes, organization, acr: login.acr, step, req }
}

/**
 * What the host is asked before a step, if anything: before something is issued, and before the consent page, so that no
 * user consents in vain. There the user may still untick scopes. If they have to choose an organization, it is asked afterwards.
 */
export const askedBefore = (
  context: PageContext,
  kind: Pick<PendingRequestKind, 'name'>,
  asked: Pick<RequestToDecide, 'client' | 'request'>,
  { organization: choice }: AuthorizationContext,
  step: NextStep<UserLogin>,
): AskedInBrowser | undefined => {
  if (step.step === 'issue') return askedOf(context, kind, asked, step.login, step)
  if (step.step !== 'consent' || context.server.options.access === undefined) return undefined
  if (choice !== undefined && choice.outcome !== 'settled') return undefined
  const scopes = askedOf(context, kind, asked, step.login).scopes
  return askedOf(context, kind, asked, step.login, { scopes, organization: choice?.organization })
}
