/** What a client must prove, beyond holding an access token, to use it. A bearer token needs no proof (RFC 6750 §1.2). */
export interface TokenBinding {
  readonly type: 'bearer'
}

const tokenTypes = { bearer: 'Bearer' } as const

/** A `token_type` (RFC 6749 §7.1), which is also the scheme of the Authorization header. */
export type TokenType = (typeof tokenTypes)[TokenBinding['type']]

/** The binding of every access token that this server issues. */
export const bearer: TokenBinding = { type: 'bearer' }

/** @example tokenType(bearer) // 'Bearer' */
export const tokenType = ({ type }: TokenBinding): TokenType => tokenTypes[type]
