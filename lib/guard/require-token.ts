import type { SeenCall } from '../events/sighting.ts'
import { isPairwiseForm } from '../keys/secrets.ts'
import type { ServerSetup } from '../oauth/authorization-server.ts'
import { verifyAccessToken } from '../oauth/tokens/access-token.ts'
import { verifyJwtAccessToken } from '../oauth/tokens/jwt-access-token.ts'
import { storedClaims, type TokenWithUser } from '../oauth/tokens/verified-token.ts'
import { refuse } from '../options/check.ts'
import { knownResource } from '../options/resources.ts'
import { assertKnownScopes, impliedScopes } from '../options/scopes.ts'
import { setMembers } from '../protocol/json.ts'
import { findStateOfToken } from '../storage/repositories/index.ts'
import { urlsBelow } from '../web/http/dpop.ts'
import { reportServerError } from '../web/http/errors.ts'
import { oauthErrorOf } from '../web/http/json-error.ts'
import { senderChecksOf } from '../web/http/own-proofs.ts'
import { readyInTime } from '../web/http/ready.ts'
import { createRequestInfo, pathOf } from '../web/http/route.ts'
import { trustsOf } from '../web/http/trust-proxy.ts'
import {
  authInfoOf,
  contentsOf,
  guardedResource,
  invalidToken,
  type TokenContents,
  tokenOwner,
} from './auth-info.ts'
import { createGuard, type GuardedCall, type TokenSource } from './guard.ts'
import { parseRequirement, placeOf, type Requirement } from './requirement.ts'
import { createTokenVerifier, type TokenVerifier, type TokenVerifierOptions } from './token-verifier.ts'
import type { RequireToken, RequireTokenOptions } from './types.ts'
import { type VerifyRequest, verifyBy } from './verify.ts'

/** The contents of a stored token, with the claims that a JWT and introspection would show. */
const storedContents = (verified: TokenWithUser, issuer: string): TokenContents => {
  const { token, binding } = verified
  const claims = setMembers({ ...storedClaims(verified, issuer), personal_token: token.personalToken })
  return { ...token, binding, claims }
}

/** Where APIs of this app are called: at the origin of the issuer or of their resource, and where the host says. */
const baseUrlsOf = ({ issuer, options }: ServerSetup, resource = issuer): string[] => [
  ...new Set([new URL(resource).origin, new URL(issuer).origin, ...(options.protocol.dpop?.baseUrls ?? [])]),
]

/** A call as the server's features see it. */
const seenCall = (setup: ServerSetup, { req, resource, auth, error }: GuardedCall): SeenCall => {
  const seen = {
    kind: 'call',
    info: req && createRequestInfo(setup, req),
    path: req && pathOf(req),
    resource,
  } as const
  if (auth === undefined) return { ...seen, refused: oauthErrorOf(error) }
  const issuedAt = typeof auth.claims.iat === 'number' ? auth.claims.iat : undefined
  return { ...seen, accepted: { ...tokenOwner(auth), issuedAt } }
}

/** Access tokens of this server. */
export const ownTokens = (setup: ServerSetup): TokenSource => {
  const { resources } = setup.options
  const { observe } = setup
  const kinds = setup.options.choices.map(({ kind }) => kind)
  const guarded = new Map(Object.keys(resources).map((name) => [name, guardedResource(name)]))
  return {
    implied: impliedScopes(setup.options),
    logger: setup.options.logger,
    now: () => setup.now(),
    observe: observe && ((call) => observe(seenCall(setup, call))),
    async verify(token, resource) {
      const server = setup.current() ?? (await readyInTime(setup))
      const isJwt = resource !== undefined && resources[resource]?.accessToken === 'jwt'
      // A JWT takes no statement: our own keys are in memory (RFC 9068 §4).
      const contents = isJwt
        ? contentsOf(await verifyJwtAccessToken(server, token))
        : storedContents(await verifyAccessToken(server, token, resource), server.issuer)
      const auth = authInfoOf(token, contents, kinds, guarded.get(resource ?? ''))
      // An API would answer for every organization, as it was made before the host had any.
      const lacksOrganization = auth.subject !== undefined && auth.organization === undefined
      if (lacksOrganization && setup.options.organizations !== undefined) throw invalidToken()
      return auth
    },
    // Of a JWT whose subject may be a pairwise one, only the authorization that it names tells the user.
    async userOf({ clientId, subject, claims }) {
      const { authorization_id: authorizationId, authorization_client: ownerId = clientId } = claims
      if (subject === undefined || typeof authorizationId !== 'string' || !isPairwiseForm(subject))
        return subject
      const token = { clientId, authorizationId, ownerId: String(ownerId) }
      // Such a JWT is accepted without the database, so that its limit must not need it either.
      const state = await findStateOfToken(setup.database, token).catch(() => undefined)
      return state?.subject ?? subject
    },
    countCall: setup.throttle.countCall,
    senderChecks: (resource) => senderChecksOf(setup, urlsBelow(baseUrlsOf(setup, resource))),
    report(req, error) {
      if (error.status < 500) return undefined
      const info = createRequestInfo(setup, req)
      reportServerError({ server: setup, info }, error)
      return info.requestId
    },
  }
}

/** @throws OptionsError for a scope, level or resource that no token of this server can have */
const assertPossible = (
  scope: string | undefined,
  { scopes, ask, acrValues, authorizationDetails: details, choice = {} }: Requirement,
  { options }: ServerSetup,
): void => {
  const where = placeOf(scope)
  assertKnownScopes(where, [...scopes, ...ask], options)
  if (details !== undefined && !Object.hasOwn(options.protocol.authorizationDetails, details))
    refuse(`${where}: ${details} is not in the option protocol.authorizationDetails`)
  for (const name of Object.keys(choice)) {
    const kind = options.choices.find((each) => each.kind === name)
    if (kind === undefined) refuse(`${where}: ${name} is not in the option choices`)
    if (!scopes.some((one) => kind?.scopes.includes(one)))
      refuse(`${where}: none of its scopes is in choices['${name}'].scopes`)
  }
  const level = acrValues.find((value) => !options.acrValues.includes(value))
  if (level !== undefined) refuse(`${where}: ${level} is not in the option acrValues`)
}

/** The requirement of a guard of this server, checked against the options. */
const ownRequirement = (
  setup: ServerSetup,
  scope: string | undefined,
  options: RequireTokenOptions | undefined,
): Requirement => {
  const requirement = parseRequirement(scope, options)
  assertPossible(scope, requirement, setup)
  for (const name of requirement.scopes) setup.guardedScopes.add(name)
  const resource =
    requirement.resource === undefined
      ? undefined
      : knownResource(placeOf(scope), requirement.resource, setup.options)
  return { ...requirement, resource }
}

/**
 * Makes middleware that accepts requests with a valid access token of a user that has all of these scopes (RFC 6750), and
 * sets `req.auth`. An opaque token stops working as soon as its user is disabled, its consent is removed or its client is
 * disabled; a JWT works until it expires.
 *
 * @param scope one scope, or several separated by spaces
 * @param options.user false also accepts tokens that a client requested for itself; by default a user is required
 * @param options.ask more scopes for the challenge of a request without a valid token, separated by spaces
 * @param options.acr authentication levels, separated by spaces; one of them is required
 * @param options.maxAge the most seconds since the user's login
 * @param options.limit how many calls one client or user may make: `{ max: 100, seconds: 60, by: 'client' }`
 * @param options.choice the things that the call is about: `{ project: (req) => req.params.id }`
 * @param options.resource accepts only tokens for this resource; by default only tokens for none
 * @returns middleware that answers 401 `invalid_token`, 401 `insufficient_user_authentication` or 403
 *   `insufficient_scope` as JSON with a Bearer challenge, and 429 with `Retry-After` beyond the limit
 * @throws OAuthError `invalid_scope` at once for a malformed scope, OptionsError for a scope, level or resource that the
 *   options do not contain
 * @example app.get('/api/orders', oauth.requireToken('orders:read'), (req, res) => res.json({ subject: req.auth.subject }))
 */
export const requireTokenOf = (setup: ServerSetup): RequireToken => {
  const source = ownTokens(setup)
  const requireToken = (scope?: string, options?: RequireTokenOptions) =>
    createGuard(source, ownRequirement(setup, scope, options))
  return requireToken as RequireToken
}

/** Makes `oauth.verify`, which applies the rules of `requireToken()` to requests of any framework. */
export const verifyOf = (setup: ServerSetup): VerifyRequest =>
  verifyBy(
    ownTokens(setup),
    (scope, options) => ownRequirement(setup, scope, options),
    trustsOf(setup.options.trustProxy),
  )

/** Makes a verifier for the MCP SDK, for access tokens of one resource. */
export type TokenVerifierMaker = (resource: string, options?: TokenVerifierOptions) => TokenVerifier

/**
 * Makes `oauth.tokenVerifier`.
 *
 * @throws OptionsError for a resource that is not in the option `resources`
 * @example requireBearerAuth({ verifier: oauth.tokenVerifier('https://app.example.com/mcp'), requiredScopes: ['notes:read'] })
 */
export const tokenVerifierOf = (setup: ServerSetup): TokenVerifierMaker => {
  const source = ownTokens(setup)
  return (resource, options) =>
    createTokenVerifier(source, knownResource('tokenVerifier()', resource, setup.options), options)
}
