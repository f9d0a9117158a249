import type { VerifiedToken } from '../oauth/tokens/verified-token.ts'
import { type Chosen, choicesIn, chosenOf } from '../protocol/choices.ts'
import type { OAuthError } from '../protocol/errors.ts'
import { isObject, setMembers } from '../protocol/json.ts'
import { resourceMetadataUrl } from '../protocol/protected-resource.ts'
import { refusal } from '../protocol/refusal.ts'
import type { AuthorizationDetail } from '../protocol/requests/authorization-details.ts'
import { parseScope } from '../protocol/scope.ts'
import { parseConfirmation, type TokenBinding } from '../protocol/tokens/token-binding.ts'
import { type ActClaim, parseActClaim } from '../protocol/tokens/token-context.ts'
import type { Actor, AuthInfo } from './types.ts'

/** The claims of an access token, with the names of RFC 7662 §2.2 and RFC 9068 §2.2. */
export type TokenClaims = Readonly<Record<string, unknown>>

/** The error for every token that is not valid (RFC 6750 §3.1). */
export const invalidToken = (): OAuthError => refusal('token_unknown')

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

/** The resources that a token is for (RFC 7519 §4.1.3); empty if it is for none. */
export const audienceOf = ({ aud }: TokenClaims): readonly unknown[] =>
  Array.isArray(aud) ? aud : aud === undefined ? [] : [aud]

const actorOf = ({ sub, client_id: clientId, act }: ActClaim): Actor => ({
  ...(clientId === undefined ? { subject: sub } : { clientId }),
  ...(act && { actor: actorOf(act) }),
})

const detailsOf = (value: unknown): AuthorizationDetail[] =>
  Array.isArray(value) ? value.filter((one) => isObject(one) && typeof one.type === 'string') : []

const personalTokenOf = (value: unknown): AuthInfo['personalToken'] =>
  isObject(value) && typeof value.id === 'string' && typeof value.name === 'string'
    ? { id: value.id, name: value.name }
    : undefined

/**
 * Whom a token is about, for events. The `sub` of a JWT may be made for its client alone (OIDC Core §8.1): then the authorization that
 * the JWT names tells the user.
 */
export const tokenOwner = ({
  clientId,
  subject,
  claims,
}: Pick<AuthInfo, 'clientId' | 'subject' | 'claims'>): {
  readonly clientId: string
  readonly subject: string | undefined
  readonly authorizationId: string | undefined
} => {
  const authorizationId = text(claims.authorization_id)
  return { clientId, subject: authorizationId === undefined ? subject : undefined, authorizationId }
}

/** The resource of a guard. */
export interface GuardedResource {
  readonly identifier: string
  /** The URL of the document about it (RFC 9728 §3.1). */
  readonly metadataUrl: string
}

/** Made once for all requests of a guard. */
export const guardedResource = (identifier: string): GuardedResource => ({
  identifier,
  metadataUrl: resourceMetadataUrl(identifier),
})

/** Reads what was chosen from the objects of a token; nothing if there is no object of the kind. */
const chosenBy =
  (details: readonly AuthorizationDetail[], kinds: readonly string[]) =>
  (kind: string): Chosen => {
    if (!kinds.includes(kind)) throw new TypeError(`latchkey: ${kind} is not in the option choices`)
    return chosenOf(choicesIn(details), kind) ?? []
  }

/** The contents of a verified access token that `req.auth` shows. */
export interface TokenContents extends Omit<VerifiedToken, 'resources' | 'issuedAt'> {
  readonly binding: TokenBinding
  readonly claims: TokenClaims
}

/**
 * Reads the claims of a verified token. A subject that is the client's id is the client itself (RFC 9068 §2.2), unless there
 * was a login: then it is a user who has the same id (RFC 9068 §5).
 *
 * @throws OAuthError `invalid_token` if claims are missing that every access token has, or if the token requires
 *   a proof that is not known here (RFC 7800 §3.1)
 */
export const contentsOf = (claims: TokenClaims): TokenContents => {
  const { sub, ...withoutSubject } = claims
  const clientId = text(claims.client_id)
  const isClient = sub === clientId && claims.auth_time === undefined
  const subject = isClient ? undefined : text(sub)
  const binding = parseConfirmation(claims.cnf)
  if (clientId === undefined || typeof claims.exp !== 'number' || binding === undefined) throw invalidToken()
  return {
    clientId,
    subject,
    organization: text(claims.org_id),
    scopes: parseScope(text(claims.scope)),
    expiresAt: claims.exp,
    binding,
    act: parseActClaim(claims.act),
    authorizationDetails: detailsOf(claims.authorization_details),
    personalToken: personalTokenOf(claims.personal_token),
    claims: subject === undefined ? withoutSubject : claims,
  }
}

/**
 * Describes a verified token as `req.auth`.
 *
 * @param token the access token
 * @param kinds the names of the option `choices`
 * @param resource the resource of the guard, if it has one
 */
export const authInfoOf = (
  token: string,
  { scopes, binding, act, authorizationDetails = [], claims, ...contents }: TokenContents,
  kinds: readonly string[],
  resource?: GuardedResource,
): AuthInfo => {
  const { clientId, expiresAt, subject, organization, personalToken } = contents
  return setMembers({
    token,
    clientId,
    scopes: [...scopes],
    expiresAt,
    resource: resource && new URL(resource.identifier),
    resourceMetadataUrl: resource?.metadataUrl,
    subject,
    organization,
    binding: binding.type === 'bearer' ? undefined : binding,
    actor: act && actorOf(act),
    authorizationDetails: authorizationDetails.length > 0 ? [...authorizationDetails] : undefined,
    personalToken,
    claims: { ...claims },
    chosen: kinds.length > 0 ? chosenBy(authorizationDetails, kinds) : undefined,
  }) as AuthInfo
}
