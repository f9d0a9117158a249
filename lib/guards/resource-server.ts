import type { NextFunction, Request, Response } from 'express'
import { dpopCheck, urlsBelow } from '../http/dpop.ts'
import { oauthErrorOf, sendJsonError } from '../http/errors.ts'
import { senderChecks } from '../http/sender.ts'
import { assertNames, assertRecord, assertSeconds, refuse } from '../options/check.ts'
import { checkedIssuer, checkedLogger } from '../options/checks.ts'
import { checkedMutualTls } from '../options/mutual-tls.ts'
import type { Logger, MutualTlsOptions } from '../options/options.ts'
import { warnOnce } from '../options/warn-once.ts'
import { createOutbound } from '../outbound/outbound.ts'
import { canonicalResource } from '../protocol/requests/resource.ts'
import type { ImpliedScopes } from '../protocol/scope.ts'
import { accessTokenType, isJwtAccessToken } from '../protocol/tokens/jwt-access-token.ts'
import { authInfoOf, guardedResource, invalidToken, type TokenClaims } from './auth-info.ts'
import { checkedRemoteDpop, type RemoteDpopOptions } from './dpop.ts'
import { createGuard, type TokenSource } from './guard.ts'
import { createIntrospection, type IntrospectionOptions } from './introspection.ts'
import { createRemoteIssuer } from './remote-issuer.ts'
import { parseRequirement, placeOf } from './requirement.ts'
import { createTokenVerifier, type TokenVerifier, type TokenVerifierOptions } from './token-verifier.ts'
import type { RequireToken, RequireTokenOptions, TokenGuard, UserAuthInfo } from './types.ts'

/** An API whose authorization server runs in another process. */
export interface ResourceServerOptions {
  /** The issuer, as the option `issuer` of `authRouter()` has it. */
  issuer: string
  /**
   * The URL of this API: the resource that tokens must be for, as the issuer's option `resources` has it. It is required
   * unless tokens are introspected. @default only tokens for no resource are accepted
   */
  audience?: string
  /** Asks the issuer about each token. @default tokens are JWTs, which the issuer's published keys verify */
  introspection?: IntrospectionOptions
  /** Scopes that include others, as the issuer's scopes have it in `implies`. @default {} */
  implies?: ImpliedScopes
  /** How clients present certificates, for access tokens that are bound to one (RFC 8705 §3). @default false */
  mutualTls?: boolean | Pick<MutualTlsOptions, 'header'>
  /**
   * Accepts access tokens that are bound to a key, if the request has a DPoP proof (RFC 9449 §7). @default false: such tokens are
   * refused
   */
  dpop?: boolean | RemoteDpopOptions
  /** Receives log messages. @default console */
  logger?: Logger
}

/** Guards that share the issuer's keys. */
export interface ResourceServer {
  /** Guards a route: the same as `oauth.requireToken`. */
  readonly requireToken: RequireToken
  /** Makes a verifier for the MCP SDK. */
  tokenVerifier(options?: TokenVerifierOptions): TokenVerifier
}

const checkedIntrospection = (options: IntrospectionOptions): IntrospectionOptions => {
  assertRecord('introspection', options)
  assertNames('introspection.', options, ['clientId', 'clientSecret', 'cacheSeconds'])
  const { clientId, clientSecret, cacheSeconds = 0 } = options
  if (typeof clientId !== 'string' || typeof clientSecret !== 'string' || clientSecret === '') {
    refuse('introspection must have a clientId and a clientSecret; is the environment variable set?')
  }
  assertSeconds('introspection.cacheSeconds', cacheSeconds, 0)
  if (cacheSeconds > 60) refuse('introspection.cacheSeconds must be at most 60')
  return { clientId, clientSecret, cacheSeconds }
}

const checkedAudience = ({ audience, introspection }: ResourceServerOptions): string | undefined => {
  if (audience === undefined) {
    return introspection === undefined
      ? refuse(
          'audience is required without introspection: the URL of this API in the resources of the issuer',
        )
      : undefined
  }
  return canonicalResource(audience) ?? refuse('audience must be an absolute URL without fragment')
}

const verifiedClaims = (
  claims: TokenClaims | undefined,
  { issuer, now }: { readonly issuer: string; readonly now: number },
): TokenClaims => {
  if (claims === undefined || !isJwtAccessToken(claims, issuer, now)) throw invalidToken()
  return claims
}

const checkedImplied = (implied: ImpliedScopes): ImpliedScopes => {
  assertRecord('implies', implied)
  return Object.values(implied).every((scopes) => Array.isArray(scopes))
    ? implied
    : refuse('implies must map scopes to lists of scopes')
}

/** Access tokens of an issuer in another process. */
const remoteTokens = (options: ResourceServerOptions, audience: string | undefined): TokenSource => {
  const issuer = checkedIssuer(options.issuer)
  const logger = checkedLogger(options.logger ?? console)
  const now = (): number => Math.floor(Date.now() / 1000)
  // Named by the host, the issuer may have a private address, and http on this machine.
  const outbound = createOutbound({ allow: [new URL(issuer).origin] })
  const context = { issuer, outbound, logger, now }
  const remote = createRemoteIssuer(context)
  const introspection = options.introspection && checkedIntrospection(options.introspection)
  const claimsOf = introspection
    ? createIntrospection({ ...context, introspection }, remote)
    : async (token: string) =>
        verifiedClaims(await remote.open(token, accessTokenType), { issuer, now: now() })
  const mutualTls = checkedMutualTls('mutualTls', options.mutualTls)
  const checks = senderChecks({ mutualTls }, warnOnce(logger))
  const guarded = audience === undefined ? undefined : guardedResource(audience)
  const dpop = checkedRemoteDpop(options.dpop, audience, now)
  return {
    implied: checkedImplied(options.implies ?? {}),
    logger,
    now,
    verify: async (token) => authInfoOf(token, await claimsOf(token), guarded),
    senderChecks: () => ({
      ...checks,
      ...(dpop && { dpop: dpopCheck(dpop.checks, urlsBelow(dpop.baseUrls)) }),
    }),
    sendError(_req: Request, res: Response, thrown: unknown, next: NextFunction) {
      const error = oauthErrorOf(thrown)
      if (error.status >= 500) logger.error(`latchkey: ${error.code}`, error.cause ?? error)
      if (res.headersSent) next(thrown)
      else sendJsonError({ res }, error)
    },
  }
}

/**
 * Guards an API in another process than its authorization server. It opens no database, and fetches the issuer's metadata
 * and keys with the first request. The guards are those of `oauth.requireToken`: the same `req.auth`, the same errors. If a
 * token cannot be verified because the issuer is unavailable, the answer is 503.
 *
 * @throws OptionsError for a wrong option
 * @example
 * const { requireToken } = resourceServer({ issuer: 'https://app.example.com/oauth', audience: 'https://api.example.com' })
 * app.get('/orders', requireToken('orders:read'), (req, res) => res.json({ ordersOf: req.auth.subject }))
 */
export const resourceServer = (options: ResourceServerOptions): ResourceServer => {
  assertRecord('options', options)
  assertNames('', options, ['issuer', 'audience', 'introspection', 'implies', 'mutualTls', 'dpop', 'logger'])
  const audience = checkedAudience(options)
  const source = remoteTokens(options, audience)
  const requireToken = (scope?: string, asked: RequireTokenOptions = {}): TokenGuard => {
    const requirement = parseRequirement(scope, asked)
    const { resource = audience } = requirement
    if ((canonicalResource(resource ?? '') ?? resource) !== audience)
      refuse(`${placeOf(scope)}: resource must be the audience, ${audience}`)
    return createGuard(source, { ...requirement, resource: audience })
  }
  return {
    requireToken: requireToken as RequireToken,
    tokenVerifier: (more) => createTokenVerifier(source, audience, more),
  }
}

/** The options of one guard for an API in another process than its authorization server. */
export interface RemoteGuardOptions extends ResourceServerOptions, Omit<RequireTokenOptions, 'resource'> {
  /** One scope, or several separated by spaces. @default any scope */
  scope?: string
}

/**
 * One guard for an API in another process than its authorization server. Guards for several scopes share keys and answers
 * if {@link resourceServer} makes them.
 *
 * @throws OptionsError for a wrong option
 * @example app.use(requireToken({ issuer: 'https://app.example.com/oauth', audience: 'https://api.example.com' }))
 */
export function requireToken(options: RemoteGuardOptions & { user?: true }): TokenGuard<UserAuthInfo>
export function requireToken(options: RemoteGuardOptions): TokenGuard
export function requireToken({
  scope,
  user,
  acr,
  maxAge,
  authorizationDetails,
  ...options
}: RemoteGuardOptions): TokenGuard {
  return resourceServer(options).requireToken(scope, { user, acr, maxAge, authorizationDetails })
}
