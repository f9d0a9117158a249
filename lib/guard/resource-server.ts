import { createRequestId, hashSecret } from '../keys/secrets.ts'
import { createCountCall } from '../limits/call-limit.ts'
import { sharedCounters } from '../limits/counters.ts'
import { refuse } from '../options/check.ts'
import { sharedStore } from '../options/limits.ts'
import { plainLogger, warnOnce } from '../options/logger.ts'
import { remoteMutualTls } from '../options/mutual-tls.ts'
import {
  type Checked,
  custom,
  type GivenMembers,
  list,
  object,
  optional,
  record,
  required,
  text,
} from '../options/schema.ts'
import { issuer, logger, proxy } from '../options/server.ts'
import { trustProxy } from '../options/trust-proxy.ts'
import { createOutbound } from '../outbound/outbound.ts'
import { failureLine } from '../protocol/errors.ts'
import { canonicalResource } from '../protocol/protected-resource.ts'
import { accessTokenType, isJwtAccessToken } from '../protocol/tokens/jwt-access-token.ts'
import { dpopCheck, urlsBelow } from '../web/http/dpop.ts'
import { senderChecks } from '../web/http/sender.ts'
import { trustsOf } from '../web/http/trust-proxy.ts'
import { authInfoOf, contentsOf, guardedResource, invalidToken, type TokenClaims } from './auth-info.ts'
import { createCallReports, reportCalls } from './call-reports.ts'
import { completeRemoteDpop, remoteDpop } from './dpop.ts'
import { createGuard, type TokenSource } from './guard.ts'
import { createIntrospection, type IntrospectionOptions, introspection } from './introspection.ts'
import { createRemoteIssuer } from './remote-issuer.ts'
import { parseRequirement, placeOf, type Requirement } from './requirement.ts'
import { createTokenVerifier, type TokenVerifier, type TokenVerifierOptions } from './token-verifier.ts'
import type { RequireToken, RequireTokenOptions, TokenGuard } from './types.ts'
import { type VerifyRequest, verifyBy } from './verify.ts'

const schema = object({
  /** The issuer, as the option `issuer` of `authRouter()` has it. */
  issuer: required(issuer),
  /**
   * The URL of this API: the resource that tokens must be for, as the issuer's option `resources` has it. It is required
   * unless tokens are introspected. @default only tokens for no resource are accepted
   */
  audience: custom<string>('an absolute URL without fragment', (value) =>
    typeof value === 'string' ? canonicalResource(value) : undefined,
  ),
  /** Asks the issuer about each token. @default tokens are JWTs, which the issuer's published keys verify */
  introspection: optional(introspection),
  /**
   * Lets the issuer see the calls of an API that verifies JWTs by itself, for its page Connections: docs/doctor.md#connections. The API
   * introspects each token once an hour in the background, and waits for no answer. @default calls are not seen
   */
  reportCalls: optional(reportCalls),
  /** The kinds of things that users choose among, as the names in the issuer's option `choices`. */
  choices: list(text(), { what: 'a list of kinds' }),
  /** Scopes that include others, as the issuer's scopes have it in `implies`. */
  implies: record(list(text(), { what: 'a list of scopes' })),
  /** The way in which clients present certificates, for access tokens that are bound to one (RFC 8705 §3). */
  mutualTls: remoteMutualTls,
  /** Accepts access tokens that are bound to a key, if the request has a DPoP proof (RFC 9449 §7). Off, such tokens are refused. */
  dpop: remoteDpop,
  /**
   * The proxies whose headers `verify()` trusts: their number, or a list of their addresses. In Express the setting
   * `trust proxy` of the app says this.
   */
  trustProxy,
  /** Limits on calls, for guards with the option `limit`. */
  limits: object({
    /** Where calls are counted: in Redis for all processes together, or in the memory of each. @default guards take no limit */
    store: sharedStore,
  }),
  /** The proxy for requests to the issuer, as the issuer's option `outbound.proxy`. @default they go straight to the issuer */
  proxy,
  /** Receives log messages. @default `console` */
  logger,
})

/** An API whose authorization server runs in another process. */
export interface ResourceServerOptions<Kind extends string = string>
  extends Omit<GivenMembers<(typeof schema)['members']>, 'choices'> {
  /** The kinds of things that users choose among, as the names in the issuer's option `choices`. @default none */
  readonly choices?: readonly Kind[]
}

/** Guards that share the issuer's keys. */
export interface ResourceServer<Kind extends string = string> {
  /** Guards a route: the same as `oauth.requireToken`. */
  readonly requireToken: RequireToken<Kind>
  /** Verifies a request of any framework: the same as `oauth.verify`. */
  readonly verify: VerifyRequest<Kind>
  /** Makes a verifier for the MCP SDK. */
  tokenVerifier(options?: TokenVerifierOptions): TokenVerifier
}

const verifiedClaims = (
  claims: TokenClaims | undefined,
  { issuer, now }: { readonly issuer: string; readonly now: number },
): TokenClaims => {
  if (claims === undefined || !isJwtAccessToken(claims, issuer, now)) throw invalidToken()
  return claims
}

/** Access tokens of an issuer in another process. */
const remoteTokens = (options: Checked<typeof schema>): TokenSource => {
  const { issuer, audience, introspection, proxy, reportCalls } = options
  const logger = plainLogger(options.logger)
  const now = (): number => Math.floor(Date.now() / 1000)
  // Named by the host, the issuer may have a private address, and http on this machine.
  const outbound = createOutbound(
    proxy === undefined ? { allow: [new URL(issuer).origin] } : { allow: [], proxy },
  )
  const context = { issuer, outbound, logger, now }
  const remote = createRemoteIssuer(context)
  const introspectAs = (client: IntrospectionOptions) =>
    createIntrospection({ ...context, introspection: client }, remote)
  const report = reportCalls && createCallReports(introspectAs({ ...reportCalls, cacheSeconds: 0 }), context)
  const claimsOf = introspection
    ? introspectAs(introspection)
    : async (token: string) => {
        const claims = await remote.open(token, accessTokenType)
        if (claims) report?.(token)
        return verifiedClaims(claims, { issuer, now: now() })
      }
  const checks = senderChecks(options, warnOnce(logger))
  const guarded = audience === undefined ? undefined : guardedResource(audience)
  const dpop = completeRemoteDpop(options.dpop, audience, now)
  const { store } = options.limits
  // Others may keep counts in the same Redis.
  const prefix = `api-${hashSecret(issuer).slice(0, 8)}:`
  return {
    countCall: store && createCountCall(sharedCounters(store, { prefix, now })),
    implied: options.implies,
    logger,
    now,
    verify: async (token) =>
      authInfoOf(token, contentsOf(await claimsOf(token)), options.choices ?? [], guarded),
    senderChecks: () => ({
      ...checks,
      ...(dpop && { dpop: dpopCheck(dpop.checks, urlsBelow(dpop.baseUrls)) }),
    }),
    report(_req, error) {
      if (error.status < 500) return undefined
      const errorId = createRequestId()
      logger.error(failureLine(error.code, errorId), error.cause ?? error)
      return errorId
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
export const resourceServer = <Kind extends string = never>(
  options: ResourceServerOptions<Kind>,
): ResourceServer<Kind> => {
  const checked = schema.check(options, '')
  const { audience } = checked
  if (audience === undefined && checked.introspection === undefined)
    refuse('audience is required without introspection: the URL of this API in the resources of the issuer')
  if (checked.introspection && checked.reportCalls)
    refuse('reportCalls is for APIs without introspection, which shows each call by itself')
  const source = remoteTokens(checked)
  const requirementOf = (scope?: string, needs?: RequireTokenOptions): Requirement => {
    const requirement = parseRequirement(scope, needs)
    const { resource = audience } = requirement
    if ((canonicalResource(resource ?? '') ?? resource) !== audience)
      refuse(`${placeOf(scope)}: resource must be the audience, ${audience}`)
    const kind = Object.keys(requirement.choice ?? {}).find((name) => !checked.choices?.includes(name))
    if (kind !== undefined) refuse(`${placeOf(scope)}: ${kind} is not in the option choices`)
    if (requirement.limit && checked.limits.store === undefined)
      refuse(`${placeOf(scope)}: limit needs a store: limits: { store } of resourceServer()`)
    return { ...requirement, resource: audience }
  }
  const requireToken = (scope?: string, needs?: RequireTokenOptions): TokenGuard =>
    createGuard(source, requirementOf(scope, needs))
  return {
    requireToken: requireToken as RequireToken,
    verify: verifyBy(source, requirementOf, trustsOf(checked.trustProxy)),
    tokenVerifier: (more) => createTokenVerifier(source, audience, more),
  }
}
