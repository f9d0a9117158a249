import type { Request } from 'express'
import type { HostUser } from './user-options.ts'

/** Whether a user may register clients: at once, or such that each one waits for approval. */
export type DeveloperCheck = (
  user: HostUser,
  req: Request,
) => boolean | 'approval' | Promise<boolean | 'approval'>

/** Users who register clients of their own at `/developer`. */
export interface DeveloperOptions {
  /**
   * Says at each request whether this user may register clients: `true`, `false`, or `'approval'`, with which clients and
   * their changes wait for `oauth.developers.approve()`.
   */
  allow: DeveloperCheck
  /** The most clients of one user. @default 10 */
  maxClients?: number
  /** The scopes that they may choose. @default the standard scopes */
  scopes?: readonly string[]
  /** Refuses redirect URIs that pass all other rules. It must not return a promise. @default accepts them */
  redirectUris?: (uri: string) => boolean
}
