import type { AuthorizationRequest } from './authorization-request.ts'

/**
 * What a code, and every token after it, remembers of the request and the login that led to it: what is still asked
 * for, and no more, for it is kept as long as the family.
 */
export interface AuthorizationDetails
  extends Pick<AuthorizationRequest, 'redirectUri' | 'codeChallenge' | 'nonce' | 'claims'> {
  /** Epoch seconds of the login. */
  readonly authTime: number
  readonly amr: readonly string[]
  /** The workspace that it is for, named or chosen; absent where the host knows none. */
  readonly organization?: string
}

/** Whether a family stands, and what it came from: all that its access tokens need of it. */
export interface Family {
  /** With `offline_access` the family outlives the login. */
  readonly offline: boolean
  /** End of the family: absolute, and without `offline_access` the end of its login if that comes first. */
  readonly expiresAt: number
  readonly revokedAt: number | null
  readonly details: AuthorizationDetails
  /** Whether the login was not ended, by sign-out or by the host; read together with the authorization. */
  readonly loginStands: boolean
}

/** What a resource owner gave a client once: the code and the head of its token family. */
export interface Authorization extends Family {
  readonly id: string
  readonly clientId: string
  readonly subject: string
  /** The login it came from. */
  readonly sid: string
  readonly scopes: readonly string[]
  readonly codeExpiresAt: number
  readonly consumedAt: number | null
}

/** Whether anything of the family may still be used, apart from each token's own expiry. */
export const isLive = (family: Family, now: number): boolean =>
  family.revokedAt === null && family.expiresAt > now && (family.offline || family.loginStands)
