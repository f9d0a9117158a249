import type { AuthorizationRequest } from './authorization-request.ts'

/** What a code, and every token after it, remembers of the request and the login that led to it. */
export interface AuthorizationDetails extends AuthorizationRequest {
  /** Epoch seconds of the login. */
  readonly authTime: number
  readonly amr: readonly string[]
}

/** What a resource owner gave a client once: the code and the head of its token family. */
export interface Authorization {
  readonly id: string
  readonly clientId: string
  readonly subject: string
  /** The login it came from. */
  readonly sid: string
  readonly scopes: readonly string[]
  /** With `offline_access` the family outlives the login. */
  readonly offline: boolean
  readonly codeExpiresAt: number
  readonly consumedAt: number | null
  /** End of the family: absolute, and without `offline_access` the end of its login if that comes first. */
  readonly expiresAt: number
  readonly revokedAt: number | null
  readonly details: AuthorizationDetails
  /** Whether the login was not ended, by sign-out or by the host; read together with the authorization. */
  readonly loginStands: boolean
}

/** Whether anything of the family may still be used, apart from each token's own expiry. */
export const isLive = (authorization: Authorization, now: number): boolean =>
  authorization.revokedAt === null &&
  authorization.expiresAt > now &&
  (authorization.offline || authorization.loginStands)
