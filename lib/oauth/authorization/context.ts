import { hash } from 'node:crypto'
import type { Options } from '../../options/options.ts'
import type { Scope } from '../../options/scopes.ts'
import { scopesOfClaims } from '../../options/users.ts'
import { claimNames } from '../../protocol/claims.ts'
import { allowedScopes, type Client } from '../../protocol/clients/client.ts'
import type { AuthorizationRequest } from '../../protocol/requests/authorization-request.ts'
import {
  type Consent,
  type ConsentTerms,
  isStanding,
  parseEntry,
  standingConsent,
} from '../../protocol/requests/consent.ts'
import type { RequestFacts } from '../../protocol/requests/decide.ts'
import type { Login } from '../../protocol/requests/login.ts'
import type { AuthorizationContext, Decision } from '../../protocol/requests/next-step.ts'
import { chooseOrganization, lastOrganization } from '../../protocol/requests/organization.ts'
import { parseScope } from '../../protocol/scope.ts'
import { findConsents, type KeptConsent, noOrganization } from '../../storage/repositories/index.ts'
import { findOrganizations } from '../../users/users.ts'
import type { PageContext } from '../../web/http/context.ts'
import type { ConsentScope } from '../../web/pages/page-models.ts'
import { type ActiveLogin, activeLogin } from '../../web/sessions/login.ts'
import type { AuthorizationServer } from '../authorization-server.ts'
import { isRuled, usableScopes } from '../tokens/access-rules.ts'
import { subjectFor } from '../tokens/user-claims.ts'
import type { Changes, IncomingRequest, PendingRequest, RequestToDecide, UserLogin } from './request-kind.ts'

/** A pending request, to be decided. */
export const toDecide = (pending: PendingRequest): RequestToDecide => {
  const { kind, client, request, knownLogin } = pending
  return { kind, client, request, knownLogin, pending }
}

/** The consent of a user for a client in one organization: all that is remembered, and the part that applies to this request. */
interface Remembered {
  readonly terms: ConsentTerms | undefined
  readonly narrowed?: number | undefined
  readonly consent: Consent | undefined
}

/** The consents of a user for the client of a request, in every organization; the last used one first. */
export const rememberedConsents = async (
  server: AuthorizationServer,
  { request, knownLogin }: IncomingRequest,
  { sid, subject }: Login,
): Promise<readonly KeptConsent[]> =>
  knownLogin?.login.sid === sid
    ? knownLogin.consents
    : findConsents(server.database, { subject, clientId: request.clientId })

/** The consent for one organization, or for none if the host has none. */
export const consentFor = (
  server: AuthorizationServer,
  { client, request }: Pick<IncomingRequest, 'client' | 'request'>,
  consents: readonly KeptConsent[],
  organization: string | undefined,
): Remembered => {
  const kept = consents.find((consent) => consent.organization === (organization ?? noOrganization))
  const terms = kept && lasting(server, kept.terms)
  const meaning = (entry: string): string => meaningOf(server, client, entry)
  const consent = terms && standingConsent(terms, request.redirectUri, meaning)
  return { terms, consent, narrowed: kept?.narrowed }
}

/** Terms that have not ended by the user's wish. */
const lasting = ({ now }: AuthorizationServer, terms: ConsentTerms): ConsentTerms | undefined =>
  terms.until === undefined || terms.until > now() ? terms : undefined

/** Whether the user has allowed the client anything that still holds, in any organization. */
const hasAllowed = (
  server: AuthorizationServer,
  { client, request }: Pick<IncomingRequest, 'client' | 'request'>,
  consents: readonly KeptConsent[],
): boolean =>
  consents.some(({ terms }) => {
    const meaning = (entry: string): string => meaningOf(server, client, entry)
    if (lasting(server, terms) === undefined) return false
    return isStanding(terms, standingConsent(terms, request.redirectUri, meaning))
  })

/** The organization of a request, if the host has organizations, and what the user allowed the client there. */
const organizationAndConsent = async (
  { server, req }: PageContext,
  incoming: IncomingRequest,
  { login, user }: ActiveLogin,
  decision: Decision | undefined,
): Promise<Remembered & Pick<AuthorizationContext, 'organization' | 'hasAllowed'>> => {
  const { request } = incoming
  const organizations = await findOrganizations(server.options.organizations, user, req)
  const consents = await rememberedConsents(server, incoming, login)
  const allowed = { hasAllowed: hasAllowed(server, incoming, consents) }
  if (organizations === undefined) return { ...allowed, ...consentFor(server, incoming, consents, undefined) }
  const chosen = decision?.sid === login.sid ? decision.organization : undefined
  const remembered = lastOrganization(consents, organizations)
  const organization = chooseOrganization({ request, organizations, chosen, remembered })
  if (organization.outcome !== 'settled')
    return { ...allowed, organization, terms: undefined, consent: undefined }
  return { ...allowed, organization, ...consentFor(server, incoming, consents, organization.organization) }
}

/**
 * A request with the scopes that the rules of features leave it for one user and organization. Whether they refuse it
 * altogether is decided later.
 */
export const withinRules = async (
  server: AuthorizationServer,
  { client, request }: Pick<IncomingRequest, 'client' | 'request'>,
  subject: string,
  organization: string | undefined,
): Promise<AuthorizationRequest> => {
  const { scopes } = request
  const left = await usableScopes(server, { client, subject, organization, scopes })
  return left === undefined ? request : { ...request, scopes: left }
}

/** Reads everything that the next step of a request depends on. */
export const readFacts = async (
  context: PageContext,
  incoming: RequestToDecide,
  changes: Changes,
): Promise<RequestFacts<UserLogin>> => {
  const { server } = context
  const { client, pending } = incoming
  const active = changes.active ?? (await activeLogin(context, incoming))
  const decision = changes.decision ?? pending?.decision
  const remembered = active && (await organizationAndConsent(context, incoming, active, decision))
  const login = active && { ...active.login, user: active.user }
  const settled = remembered?.organization?.outcome === 'settled' ? remembered.organization : undefined
  const request =
    login && isRuled(server)
      ? await withinRules(server, incoming, login.subject, settled?.organization)
      : incoming.request
  return {
    request,
    client,
    login,
    decision,
    returned: changes.returned === true,
    ...(login &&
      request.hintedSubject !== undefined && { subject: subjectFor(server, client, login.subject) }),
    organization: remembered?.organization,
    hasAllowed: remembered?.hasAllowed,
    consent: remembered?.consent,
    terms: remembered?.terms,
    ...(remembered?.narrowed !== undefined && { narrowed: remembered.narrowed }),
    kinds: server.options.choices,
    sidAtStart: pending ? pending.sid : login?.sid,
    selectedSid: changes.selectedSid ?? pending?.selectedSid,
    requestedAt: pending?.createdAt ?? server.now(),
    now: server.now(),
  }
}

/**
 * A hash of what an entry of a consent means. It changes with the description, the claims and the user's choices, but
 * not with the language. Standard scopes and claims mean what OpenID Connect says, unless the host describes them.
 */
export const meaningOf = (server: AuthorizationServer, client: Client, name: string): string => {
  const scope = termsOf(server, client, name)
  if (scope === undefined) return selfOf(client)
  const { description, details, claims = [], optional = false, risk = 'normal', riskReason } = scope
  const named = scopesOfClaims(server.options.users).filter(([owner]) => owner === name)
  const revealed = [...claims, ...named.map(([, claim]) => claim)]
  const terms = [description, details, revealed.sort(), optional, groupOf(scope), risk, riskReason]
  const said = JSON.stringify(terms)
  return shortHash(`${said}${selfOf(client)}`)
}

/**
 * The host's terms for an entry: those of the scope, or for a single claim those of the client's most sensitive scope that
 * reveals it. Otherwise a client could ask for the claim to avoid the terms of the scope.
 */
export const termsOf = (server: AuthorizationServer, client: Client, entry: string): Scope | undefined => {
  const { scope: name, claim } = parseEntry(entry)
  if (claim === undefined) return name === undefined ? undefined : scopeFor(server, client, name)
  const owners = allowedScopes(client)
    .filter((scope) => claimNames([scope], server.scopeClaims).includes(claim))
    .map((scope) => scopeOptions(server, scope))
  return (
    owners.find((scope) => scope?.risk === 'high') ?? owners.find((scope) => scope?.optional) ?? owners[0]
  )
}

/** A scope that the client cannot do without is not optional. */
const scopeFor = (server: AuthorizationServer, { metadata }: Client, name: string): Scope | undefined => {
  const scope = scopeOptions(server, name)
  return scope && parseScope(metadata.required_scope).includes(name) ? { ...scope, optional: false } : scope
}

/** The host's options for a scope; undefined if it has none. */
export const scopeOptions = (
  { options: { scopes } }: { readonly options: Pick<Options, 'scopes'> },
  name: string,
): Scope | undefined => (Object.hasOwn(scopes, name) ? scopes[name] : undefined)

/** The heading below which the consent page lists a scope. */
export const groupOf = (scope?: Scope): ConsentScope['group'] =>
  scope?.group ?? (scope?.risk === 'high' ? 'change' : 'other')

/** The part of a consent's meaning that is the client, if it described itself: with other redirect URIs it is another client. */
const selfOf = ({ metadata }: Client): string =>
  metadata.self_described === undefined ? '' : shortHash(JSON.stringify([...metadata.redirect_uris].sort()))

const shortHash = (text: string): string => hash('sha256', text, 'base64url').slice(0, 16)
