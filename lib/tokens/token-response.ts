import { formatScope } from '../protocol/scope.ts'
import type { TokenResponse } from '../protocol/token-request.ts'
import type { IssuableAccessToken } from './access-token.ts'

interface TokenResponseParts {
  readonly accessToken: IssuableAccessToken
  readonly scopes: readonly string[]
  readonly refreshToken?: string
  readonly idToken?: string
}

/** The answer of the token endpoint (RFC 6749 §5.1); `scope` always tells what was really granted. */
export const tokenResponse = ({
  accessToken,
  scopes,
  refreshToken,
  idToken,
}: TokenResponseParts): TokenResponse => ({
  access_token: accessToken.value,
  token_type: 'Bearer',
  expires_in: accessToken.expiresIn,
  scope: formatScope(scopes),
  ...(refreshToken === undefined ? {} : { refresh_token: refreshToken }),
  ...(idToken === undefined ? {} : { id_token: idToken }),
})
