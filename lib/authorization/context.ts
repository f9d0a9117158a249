import type { AuthorizationServer } from '../authorization-server.ts'
import type { PageContext } from '../http/context.ts'
import { type Consent, type ConsentTerms, standingConsent } from '../protocol/consent.ts'
import type { Login } from '../protocol/login.ts'
import type { AuthorizationContext, Decision } from '../protocol/next-step.ts'
import { chooseOrganization, lastOrganization, type OrganizationChoice } from '../protocol/organization.ts'
import { findConsents, type KeptConsent, noOrganization } from '../repositories/index.ts'
import { type ActiveLogin, activeLogin } from '../sessions/login.ts'
import { subjectFor } from '../tokens/user-claims.ts'
import { findOrganizations, type User } from '../users/users.ts'
import { meaningOf } from './consent-scopes.ts'
import type { IncomingRequest } from './incoming-request.ts'
import type { PendingRequest } from './pending-request.ts'

/** A request to decide: one that has just arrived, or a pending one. */
export interface RequestToDecide extends IncomingRequest {
  readonly pending?: PendingRequest
}

/** What the current form has just changed. */
export interface Changes {
  readonly active?: ActiveLogin
  readonly decision?: Decision
  readonly selectedSid?: string
}

/** A login together with its user, so that a decision for the one is a decision for the other. */
export type UserLogin = Login & { readonly user: User }

/** What a user allowed a client in one organization: all that is remembered, and what of it applies to this request. */
interface Remembered {
  readonly terms: ConsentTerms | undefined
  readonly consent: Consent | undefined
}

/** The consents of a user for the client of a request, in every organization; the last used one first. */
export const rememberedConsents = async (
  server: AuthorizationServer,
  { request, known }: IncomingRequest,
  { sid, subject }: Login,
): Promise<readonly KeptConsent[]> =>
  known?.login.sid === sid
    ? known.consents
    : findConsents(server.database, { subject, clientId: request.clientId })

/** The consent for one organization, or for none if the host has none. */
export const consentFor = (
  server: AuthorizationServer,
  { client, request }: Pick<IncomingRequest, 'client' | 'request'>,
  consents: readonly KeptConsent[],
  organization: string | undefined,
): Remembered => {
  const terms = consents.find((consent) => consent.organization === (organization ?? noOrganization))?.terms
  const meaning = (entry: string): string => meaningOf(server, client, entry)
  return { terms, consent: terms && standingConsent(terms, request.redirectUri, meaning) }
}

/** The organization of a request, if the host has organizations, and what the user allowed the client there. */
const organizationAndConsent = async (
  { server, req }: PageContext,
  asked: RequestToDecide,
  { login, user }: ActiveLogin,
  decision: Decision | undefined,
): Promise<Remembered & { readonly organization?: OrganizationChoice }> => {
  const { request } = asked
  const organizations = await findOrganizations(server.options.organizations, user, req)
  const consents = await rememberedConsents(server, asked, login)
  if (organizations === undefined) return consentFor(server, asked, consents, undefined)
  const chosen = decision?.sid === login.sid ? decision.organization : undefined
  const remembered = lastOrganization(consents, organizations)
  const organization = chooseOrganization({ request, organizations, chosen, remembered })
  if (organization.outcome !== 'settled') return { organization, terms: undefined, consent: undefined }
  return { organization, ...consentFor(server, asked, consents, organization.organization) }
}

/** Everything that the next step of a request depends on. */
export const authorizationContext = async (
  context: PageContext,
  asked: RequestToDecide,
  changes: Changes = {},
): Promise<AuthorizationContext<UserLogin>> => {
  const { server } = context
  const { request, client, known, pending } = asked
  const active = changes.active ?? (await activeLogin(context, { login: known?.login }))
  const decision = changes.decision ?? pending?.decision
  const remembered = active && (await organizationAndConsent(context, asked, active, decision))
  const login = active && { ...active.login, user: active.user }
  return {
    ...{ request, client, login, decision },
    ...(login &&
      request.hintedSubject !== undefined && { subject: subjectFor(server, client, login.subject) }),
    organization: remembered?.organization,
    consent: remembered?.consent,
    terms: remembered?.terms,
    sidAtStart: pending ? pending.sid : login?.sid,
    selectedSid: changes.selectedSid ?? pending?.selectedSid,
    requestedAt: pending?.createdAt ?? server.now(),
    now: server.now(),
  }
}
