import type { Request } from 'express'
import type { AuthorizationServer } from '../authorization-server.ts'
import type { AuthorizationRequest } from '../protocol/authorization-request.ts'
import type { Client } from '../protocol/client.ts'
import { type Consent, type ConsentTerms, standingConsent } from '../protocol/consent.ts'
import type { Login } from '../protocol/login.ts'
import type { AuthorizationContext } from '../protocol/next-step.ts'
import { chooseOrganization, lastOrganization, type OrganizationChoice } from '../protocol/organization.ts'
import {
  type AuthorizeLookup,
  findConsents,
  type KeptConsent,
  type KnownLogin,
  noOrganization,
} from '../repositories/index.ts'
import { currentLogin } from '../sessions/login.ts'
import { subjectFor } from '../tokens/subject.ts'
import { findOrganizations } from '../users/organizations.ts'
import type { User } from '../users/users.ts'
import { meaningOf } from './consent-scopes.ts'
import type { OpenPendingRequest } from './pending-request.ts'

/** A login together with the user whom it is of, as the host's table has them now. */
export interface ActiveLogin {
  readonly login: Login
  readonly user: User
}

/** Who is logged in and may still be served; a disabled user counts as nobody. */
export const activeLogin = async (
  server: AuthorizationServer,
  req: Request,
  read?: { readonly login: Login | undefined },
): Promise<ActiveLogin | undefined> => {
  const login = await currentLogin(server, req, read)
  const user = login && (await server.users.find(login.subject))
  return login && user && { login, user }
}

/** A request that has just received, with what was read of its login; or one that has waited. */
interface Subject {
  readonly client: Client
  readonly request: AuthorizationRequest
  readonly waiting?: OpenPendingRequest
  readonly lookup?: AuthorizeLookup
}

/** What a user allowed a client in one workspace: all that is remembered, and what of it holds where this request is answered. */
interface Remembered {
  readonly terms: ConsentTerms | undefined
  readonly consent: Consent | undefined
}

/** What a user allowed the client of a request before, in every workspace; the one that was used last first. */
export const rememberedConsents = (
  server: AuthorizationServer,
  { clientId }: AuthorizationRequest,
  { subject }: Login,
): Promise<KeptConsent[]> => findConsents(server.database, { subject, clientId })

/** What of it is for this workspace, or for none where the host knows none. */
export const consentFor = (
  server: AuthorizationServer,
  { redirectUri }: AuthorizationRequest,
  consents: readonly KeptConsent[],
  organization: string | undefined,
): Remembered => {
  const terms = consents.find((consent) => consent.organization === (organization ?? noOrganization))?.terms
  const meaning = (entry: string): string => meaningOf(server, entry)
  return { terms, consent: terms && standingConsent(terms, redirectUri, meaning) }
}

/** For which workspace a request is, and what the user allowed the client there. */
const organizationAndConsent = async (
  server: AuthorizationServer,
  req: Request,
  { request, waiting }: Pick<Subject, 'request' | 'waiting'>,
  { active: { login, user }, read }: { active: ActiveLogin; read: KnownLogin | undefined },
): Promise<Remembered & { readonly organization: OrganizationChoice }> => {
  const organizations = await findOrganizations(server.options.organizations, user, req)
  const consents = read?.consents ?? (await rememberedConsents(server, request, login))
  const decision = waiting?.decision
  const chosen = decision?.sid === login.sid ? decision.organization : undefined
  const organization = chooseOrganization({
    request,
    organizations,
    chosen,
    remembered: lastOrganization(consents, organizations),
  })
  if (organization.outcome !== 'settled') return { organization, terms: undefined, consent: undefined }
  return { organization, ...consentFor(server, request, consents, organization.organization) }
}

/** Gathers all that the next step of a request depends on. */
export const authorizationContext = async (
  server: AuthorizationServer,
  req: Request,
  { client, request, waiting, lookup }: Subject,
): Promise<{ readonly context: AuthorizationContext; readonly user: User | undefined }> => {
  const known = lookup?.known
  const active = await activeLogin(server, req, lookup && { login: known?.login })
  const { login, user } = active ?? {}
  const read = login?.sid === known?.login.sid ? known : undefined
  const asked = { request, waiting }
  const remembered = active && (await organizationAndConsent(server, req, asked, { active, read }))
  const subject = login && subjectFor(server, client, login.subject)
  const context: AuthorizationContext = {
    ...{ request, client, login, subject },
    organization: remembered?.organization,
    consent: remembered?.consent,
    terms: remembered?.terms,
    decision: waiting?.decision,
    sidAtStart: waiting ? waiting.sid : login?.sid,
    selectedSid: waiting?.selectedSid,
    now: server.now(),
  }
  return { context, user }
}
