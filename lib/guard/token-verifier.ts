import { OAuthError } from '../protocol/errors.ts'
import { refusal } from '../protocol/refusal.ts'
import { withImpliedScopes } from '../protocol/scope.ts'
import type { TokenSource } from './guard.ts'
import { assertSufficient, parseRequirement } from './requirement.ts'
import type { AuthInfo } from './types.ts'

/** The interface `OAuthTokenVerifier` of the MCP SDK, for hosts that use its `requireBearerAuth`. */
export interface TokenVerifier {
  /**
   * Verifies an access token. `scopes` also has the scopes that those of the token imply, because the SDK compares names.
   *
   * @throws Error that the SDK's `requireBearerAuth` answers with 401, or with 500 if the token cannot be verified now
   */
  verifyAccessToken(token: string): Promise<AuthInfo>
}

/** The requirement of a verifier for the MCP SDK. */
export interface TokenVerifierOptions {
  /** Whether the token must belong to a user. `false` also accepts a client's own token (`client_credentials`). @default true */
  user?: boolean
  /** The class of this name of `@modelcontextprotocol/sdk` 1; version 2 needs none. @default none */
  InvalidTokenError?: new (
    message: string,
  ) => Error
}

// `@modelcontextprotocol/server` 2 recognises its errors by this symbol, also those of another copy of the package.
const brands = Symbol.for('mcp.sdk.errorBrands')

/** An error that the SDK takes for its own: otherwise it answers 500 to everything that a verifier throws. */
const mcpError = ({ code, message, cause }: OAuthError): Error =>
  Object.defineProperty(
    Object.assign(new Error(message, { cause }), {
      code,
      toResponseObject: () => ({ error: code, error_description: message }),
    }),
    brands,
    { value: new Set(['mcp.OAuthError']) },
  )

/**
 * Makes a verifier for the MCP SDK, which checks the scopes of a route itself.
 *
 * @param resource the resource that every token must be for
 */
export const createTokenVerifier = (
  source: TokenSource,
  resource: string | undefined,
  { user, InvalidTokenError }: TokenVerifierOptions = {},
): TokenVerifier => {
  const requirement = { ...parseRequirement(undefined, { user }), resource }
  return {
    async verifyAccessToken(token) {
      try {
        const auth = await source.verify(token, resource)
        // The SDK shows the token alone, not the request that would prove who sends it.
        if (auth.binding) throw refusal('token_bound')
        assertSufficient(auth, requirement, source)
        source.observe?.({ req: undefined, resource, auth })
        return { ...auth, scopes: withImpliedScopes(auth.scopes, source.implied) }
      } catch (error) {
        source.observe?.({ req: undefined, resource, error })
        if (!(error instanceof OAuthError) || error.status >= 500) {
          // The SDK answers 500 and does not say why.
          source.logger.error('latchkey: an access token could not be verified', error)
          throw error
        }
        throw InvalidTokenError ? new InvalidTokenError(error.message) : mcpError(error)
      }
    },
  }
}
