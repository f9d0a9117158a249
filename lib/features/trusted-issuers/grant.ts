import { isOfType, openClientAssertion } from '../../keys/client-assertion.ts'
import { hashSecret } from '../../keys/secrets.ts'
import type { AuthorizationServer } from '../../oauth/authorization-server.ts'
import { tokensForClient, tokensForUser } from '../../oauth/grants/direct.ts'
import type { Grant } from '../../oauth/grants/grant.ts'
import { partOf, requestedResources, type TokenTarget } from '../../oauth/grants/target.ts'
import { acceptedDetails } from '../../oauth/tokens/accepted-details.ts'
import { openWithKeys } from '../../outbound/client-jwks.ts'
import { allowedScopes, type Client } from '../../protocol/clients/client.ts'
import { clientAssertionAlgorithms } from '../../protocol/clients/client-assertion.ts'
import { type Explanation, listed, readable } from '../../protocol/explanation.ts'
import { HostError } from '../../protocol/problem.ts'
import { refusal } from '../../protocol/refusal.ts'
import { type AuthorizationDetail, checkedDetails } from '../../protocol/requests/authorization-details.ts'
import { parseResources, scopesWithin } from '../../protocol/requests/resource.ts'
import { clientCredentialsScopes, intersectScopes, parseScope } from '../../protocol/scope.ts'
import type { TokenRequest, TokenResponse } from '../../protocol/tokens/token-request.ts'
import { countRevocations, createReplay, findRevocationTime } from '../../storage/repositories/index.ts'
import { callHost } from '../../users/host-function.ts'
import type { TrustedIssuer, TrustedIssuers } from './option.ts'
import {
  type AssertionClaims,
  assertedLogin,
  assertedResources,
  assertedScopes,
  assertIssuedSince,
  assertJwtBearer,
  claimedIssuer,
  idJagType,
  isAssertedId,
  jwtBearerGrantType,
} from './rules.ts'

const refuse = (problem: string, explanation?: Explanation): never => {
  throw refusal('assertion_invalid', { values: { problem }, explanation })
}

/** The token service of a workload writes `JWT`, or no type. */
const isWorkloadType = (typ: unknown): boolean => typ === undefined || isOfType('jwt')(typ)

interface Assertion {
  readonly issuer: TrustedIssuer
  readonly claims: AssertionClaims
  /** Makes the assertion usable once; undefined without a `jti`. */
  readonly use: { readonly hash: string; readonly expiresAt: number } | undefined
}

/** Verifies the signature and the claims. */
const verifiedAssertion = async (
  server: AuthorizationServer,
  issuers: TrustedIssuers,
  client: Client,
  jwt: string,
): Promise<Assertion> => {
  const name = claimedIssuer(jwt)
  const issuer = name !== undefined && Object.hasOwn(issuers, name) ? issuers[name] : undefined
  if (issuer === undefined) {
    const expected = `iss among: ${listed(Object.keys(issuers))}`
    return refuse('is not from a trusted issuer', { expected, received: `iss ${readable(name ?? 'none')}` })
  }
  const isType = issuer.client ? isWorkloadType : isOfType(idJagType)
  const claims = await openWithKeys(server.reach.host.jwks, issuer, (keys) =>
    openClientAssertion(keys, jwt, clientAssertionAlgorithms, isType),
  )
  if (claims === undefined) return refuse('has no valid signature of its issuer, or another typ')
  const rules = issuer.client
    ? { audiences: [server.issuer, `${server.issuer}/token`] }
    : { audiences: [server.issuer], clientId: client.clientId }
  const { id, expiresAt } = assertJwtBearer(claims, { ...rules, now: server.now() })
  const hash = hashSecret(JSON.stringify([jwtBearerGrantType, name, id]))
  return { issuer, claims, use: id === undefined ? undefined : { hash, expiresAt } }
}

/** The scopes and resources of the token: those of the request, within the assertion and the registration of the client. */
const targetFor = (
  server: AuthorizationServer,
  client: Client,
  { parameters }: TokenRequest,
  claims: AssertionClaims,
): TokenTarget => {
  const hostResources = server.resources
  const asserted = parseResources(assertedResources(claims), hostResources)
  const requested = requestedResources(server, { parameters })
  if (asserted.length > 0 && !requested.every((resource) => asserted.includes(resource))) {
    throw refusal('resource_not_asserted')
  }
  const resources = requested.length > 0 ? requested : asserted
  const own = scopesWithin(allowedScopes(client), resources, hostResources)
  const allowed = intersectScopes(own, assertedScopes(claims) ?? own)
  return { resources, scopes: clientCredentialsScopes(parseScope(parameters.optional('scope')), allowed) }
}

/** Tokens of a workload are those that its client would get for itself. */
const forWorkload = async (
  server: AuthorizationServer,
  client: Client,
  request: TokenRequest,
  { issuer, claims, use }: Assertion,
): Promise<TokenResponse> => {
  const named = await callHost('client of trustedIssuers({ issuers })', () => issuer.client?.(claims))
  if (named !== client.clientId) refuse('is not of a workload that may act as this client')
  const target = targetFor(server, client, request, claims)
  partOf(server, request, [])
  // One about a user may be sent again until it expires (draft-ietf-oauth-identity-assertion-authz-grant).
  if (use && !(await createReplay(server.database, use))) refuse('was used before; each needs a unique jti')
  return tokensForClient(server, client, request, { grantType: jwtBearerGrantType, ...target })
}

/** The user's organization, which the host reads from the assertion. A mistake of the host is not the client's. */
const organizationOf = async ({ issuer, claims }: Assertion): Promise<string | undefined> => {
  const named = await callHost('organization of trustedIssuers({ issuers })', () =>
    issuer.organization?.(claims),
  )
  if (named === undefined || typeof named === 'string') return named
  throw new HostError('organization of trustedIssuers({ issuers }) must return a string or undefined')
}

/**
 * The `authorization_details` of an assertion, or those of them that the request names (RFC 9396 §5). What this server does
 * not know limits the assertion too, so that it is refused.
 */
const detailsFor = async (
  server: AuthorizationServer,
  client: Client,
  request: TokenRequest,
  { authorization_details: asserted }: AssertionClaims,
): Promise<readonly AuthorizationDetail[]> => {
  const details = asserted === undefined ? [] : checkedDetails(asserted)
  const accepted = await acceptedDetails(server, client, details)
  return partOf(server, request, accepted) ?? accepted
}

const forUser = async (
  server: AuthorizationServer,
  client: Client,
  request: TokenRequest,
  assertion: Assertion,
): Promise<TokenResponse> => {
  const { issuer, claims } = assertion
  const since = await countRevocations(server.database)
  const id = await callHost('user of trustedIssuers({ issuers })', () =>
    issuer.user ? issuer.user(claims) : claims.sub,
  )
  const user = isAssertedId(id) ? await server.users.find(String(id)) : undefined
  if (user === undefined) return refuse('names a user who is disabled or does not exist')
  assertIssuedSince(claims, await findRevocationTime(server.database, user))
  const target = targetFor(server, client, request, claims)
  const login = assertedLogin(claims, server.now())
  const organization = await organizationOf(assertion)
  const authorizationDetails = await detailsFor(server, client, request, claims)
  return tokensForUser(server, client, request, {
    grantType: jwtBearerGrantType,
    step: 'assertion',
    user,
    login,
    since,
    organization,
    authorizationDetails,
    ...target,
  })
}

/**
 * RFC 7523 §2.1: an access token for an assertion of a trusted issuer, about a user (ID-JAG,
 * draft-ietf-oauth-identity-assertion-authz-grant) or about a workload. There is neither a refresh token nor an ID token:
 * the client asks the issuer for another assertion.
 */
export const jwtBearer = (issuers: TrustedIssuers): Grant => ({
  grantType: jwtBearerGrantType,
  readsDetails: true,
  introducesClient: true,
  async exchange(server, client, request) {
    const jwt = request.parameters.required('assertion')
    const assertion = await verifiedAssertion(server, issuers, client, jwt)
    return assertion.issuer.client
      ? forWorkload(server, client, request, assertion)
      : forUser(server, client, request, assertion)
  },
})
