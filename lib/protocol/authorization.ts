import type { AuthorizationRequest } from './authorization-request.ts'

/** What an authorization keeps of its request and login: only what a later step needs, because it lives as long as the family. */
export interface AuthorizationDetails
  extends Pick<
    AuthorizationRequest,
    'redirectUri' | 'codeChallenge' | 'nonce' | 'claims' | 'resources' | 'binding' | 'authorizationDetails'
  > {
  /** Epoch seconds of the login. */
  readonly authTime: number
  readonly amr: readonly string[]
  /** Authentication level of the login, if the host declares levels. */
  readonly acr?: string
  /** The organization it is for, requested or chosen; absent if the host has none. */
  readonly organization?: string
}

/** The tokens issued from one authorization: all that its access tokens need to know of it. */
export interface Family {
  /** With `offline_access` the family outlives the login. */
  readonly offline: boolean
  /** Absolute end of the family, and without `offline_access` the end of its login if that comes first. */
  readonly expiresAt: number
  readonly revokedAt: number | null
  readonly details: AuthorizationDetails
  /** False once the user has signed out or the host has ended the login; read together with the authorization. */
  readonly loginStands: boolean
}

/** What a resource owner granted to a client: the code and the head of its token family. */
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

/** Whether the family may still be used, apart from the expiry of each token. */
export const isLive = (family: Family, now: number): boolean =>
  family.revokedAt === null && family.expiresAt > now && (family.offline || family.loginStands)
