import { formatScope } from '../protocol/scope.ts'
import { tokenType } from '../protocol/token-binding.ts'
import type { TokenResponse } from '../protocol/token-request.ts'
import type { IssuedAccessToken } from './access-token-format.ts'

interface TokenResponseParts {
  readonly accessToken: IssuedAccessToken
  readonly scopes: readonly string[]
  readonly refreshToken?: string
  readonly idToken?: string
}

/** A token response (RFC 6749 §5.1), with the scopes that were granted; RFC 6749 §3.3 has no empty `scope`. */
export const tokenResponse = ({
  accessToken,
  scopes,
  refreshToken,
  idToken,
}: TokenResponseParts): TokenResponse => ({
  access_token: accessToken.value,
  token_type: tokenType(accessToken.binding),
  expires_in: accessToken.expiresIn,
  ...(scopes.length > 0 && { scope: formatScope(scopes) }),
  ...(refreshToken !== undefined && { refresh_token: refreshToken }),
  ...(idToken !== undefined && { id_token: idToken }),
  ...(accessToken.authorizationDetails.length > 0 && {
    authorization_details: accessToken.authorizationDetails,
  }),
})
