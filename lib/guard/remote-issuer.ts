import { createJwtVerifier, type JwtVerifier, keyIdOf } from '../keys/jwt-verifier.ts'
import type { Logger } from '../options/server.ts'
import { createCached } from '../outbound/cached.ts'
import { fetchJwks } from '../outbound/client-jwks.ts'
import type { Outbound } from '../outbound/outbound.ts'
import { parseJsonObject } from '../protocol/json.ts'
import { HostError } from '../protocol/problem.ts'
import { temporarilyUnavailable } from '../protocol/refusal.ts'
import type { TokenClaims } from './auth-info.ts'

/** The members of an issuer's metadata that a resource server reads (RFC 8414 §2). */
export interface IssuerMetadata {
  readonly jwksUri: string
  readonly introspectionEndpoint: string | undefined
}

/** An authorization server in another process. */
export interface RemoteIssuer {
  /** @throws OAuthError `temporarily_unavailable` if the issuer has never been available, or not for a day */
  metadata(): Promise<IssuerMetadata>
  /**
   * Verifies the signature of a JWT with the issuer's published keys.
   *
   * @returns undefined if it is not a JWT of this `typ` that the issuer signed
   * @throws OAuthError as {@link metadata}
   */
  open(jwt: string, typ: string): Promise<TokenClaims | undefined>
}

export interface RemoteIssuerContext {
  readonly issuer: string
  readonly outbound: Outbound
  readonly logger: Logger
  /** Epoch seconds. */
  now(): number
}

const fetchMetadata = async (outbound: Outbound, issuer: string): Promise<IssuerMetadata> => {
  // Latchkey serves it below every mount; the form of RFC 8414 §3.1 depends on the host's root.
  const { status, body } = await outbound.request(`${issuer}/.well-known/openid-configuration`)
  if (status !== 200) throw new Error(`the metadata has status ${status}`)
  const metadata = parseJsonObject(body)
  // RFC 8414 §3.3: otherwise another server could stand in for this issuer.
  if (metadata?.issuer !== issuer) throw new Error('the metadata is of another issuer')
  const { jwks_uri: jwksUri, introspection_endpoint: introspection } = metadata
  if (typeof jwksUri !== 'string') throw new Error('the metadata has no jwks_uri')
  return { jwksUri, introspectionEndpoint: typeof introspection === 'string' ? introspection : undefined }
}

/**
 * Creates an issuer whose metadata and keys are fetched when they are first needed, and cached. A key that is not in the
 * cache is fetched at once, but at most once a minute. If the issuer is unavailable, its cached keys remain in use.
 */
export const createRemoteIssuer = ({ issuer, outbound, logger, now }: RemoteIssuerContext): RemoteIssuer => {
  const failed = (error: unknown): void =>
    logger.warn(`latchkey: ${issuer} cannot be read: ${error instanceof Error ? error.message : error}`)
  const available = <Value>(value: Value | undefined): Value => {
    if (value === undefined) throw temporarilyUnavailable(new HostError(`${issuer} is unavailable`))
    return value
  }
  const cachedMetadata = createCached({ fetch: () => fetchMetadata(outbound, issuer), failed, now })
  const metadata = async (): Promise<IssuerMetadata> => available(await cachedMetadata.find())
  const keys = createCached({
    fetch: async (): Promise<JwtVerifier> =>
      createJwtVerifier(await fetchJwks(outbound, (await metadata()).jwksUri)),
    failed,
    now,
  })
  return {
    metadata,
    open: async (jwt, typ) => {
      const kid = keyIdOf(jwt)
      // Every token of the issuer names its key; anything else needs no request.
      if (kid === undefined) return undefined
      const known = available(await keys.find())
      const verifier = known.has(kid) ? known : ((await keys.renew()) ?? known)
      return verifier.open(jwt, typ)
    },
  }
}
