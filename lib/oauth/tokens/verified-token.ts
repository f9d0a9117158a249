import type { Choices } from '../../protocol/choices.ts'
import type { ClientMetadata } from '../../protocol/clients/client-metadata.ts'
import type { AuthorizationDetails } from '../../protocol/requests/authorization.ts'
import type { AuthorizationDetail } from '../../protocol/requests/authorization-details.ts'
import { formatScope } from '../../protocol/scope.ts'
import { confirmationClaim, type TokenBinding } from '../../protocol/tokens/token-binding.ts'
import type { ActClaim } from '../../protocol/tokens/token-context.ts'
import type { AccessToken } from '../../storage/repositories/index.ts'
import type { User } from '../../users/users.ts'
import type { AuthorizationServer } from '../authorization-server.ts'
import { extensionPoint } from '../extension-point.ts'

/** The content of a valid access token. */
export interface VerifiedToken
  extends Pick<AccessToken, 'clientId' | 'subject' | 'scopes' | 'resources' | 'issuedAt' | 'expiresAt'> {
  /** The organization it is for, if the option `organizations` returned any for the user. */
  readonly organization?: string
  /** The actor, after a token exchange (RFC 8693 §4.1). */
  readonly act?: ActClaim
  /** Set if the user made the token themselves: its id and the name that they gave it. */
  readonly personalToken?: { readonly id: string; readonly name: string }
  /** Authorization details (RFC 9396); empty or absent if there are none. */
  readonly authorizationDetails?: readonly AuthorizationDetail[]
  /** The things that it is for; absent if it is for none. */
  readonly choices?: Choices
}

/** A valid access token together with its client, and its user as the host has them now. */
export interface TokenWithUser {
  readonly token: VerifiedToken
  readonly binding: TokenBinding
  readonly user: User | undefined
  readonly client: ClientMetadata
  /** From the authorization request; undefined if the client acts for itself. */
  readonly details: AuthorizationDetails | undefined
}

/** Access tokens of a form of their own. */
export interface TokenKind {
  /** Whether a value has the form of such a token. If so, no other kind is tried. */
  matches(value: string): boolean
  /** Verifies a token for no resource. @returns undefined if it is not valid */
  verify(server: AuthorizationServer, value: string): Promise<TokenWithUser | undefined>
}

export const featureTokenKinds = extensionPoint<TokenKind>('oauth.tokenKinds')

/**
 * The claims of a token that is stored, with the names of RFC 7662 §2.2. Members that are undefined do not go out.
 *
 * @param part the scopes, resources and details to show, if not all of them
 */
export const storedClaims = (
  { token, binding, details }: TokenWithUser,
  issuer: string,
  part: Pick<VerifiedToken, 'scopes' | 'resources' | 'authorizationDetails'> = token,
): Record<string, unknown> => {
  const { scopes, resources, authorizationDetails = [] } = part
  const [audience, ...more] = resources
  return {
    iss: issuer,
    client_id: token.clientId,
    aud: more.length > 0 ? resources : audience,
    scope: formatScope(scopes) || undefined,
    iat: token.issuedAt,
    exp: token.expiresAt,
    sub: token.subject,
    org_id: token.organization,
    // RFC 9470 §6.2. The clock of the host may be ahead.
    auth_time: details && Math.min(details.authTime, token.issuedAt),
    acr: details?.acr,
    ...confirmationClaim(binding),
    act: token.act,
    authorization_details: authorizationDetails.length > 0 ? authorizationDetails : undefined,
  }
}
