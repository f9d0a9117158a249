import type { AuthorizationServer } from '../authorization-server.ts'
import { listNewestEvents } from '../repositories/index.ts'
import { accountOf } from '../sessions/device-cookie.ts'
import type { LoginLock } from '../throttle/login-throttle.ts'

/** Why sign-ins under a login name do not succeed. */
export interface SignInTrouble {
  /** Where the next attempt is refused, and until when, those that wait longest first. */
  readonly locks: readonly (Pick<LoginLock, 'network'> & { readonly until: number })[]
  /** Wrong passwords since the last sign-in with this name, the newest first; empty unless events are stored. */
  readonly failures: readonly { readonly time: number; readonly address?: string }[]
}

/**
 * Finds the locks of a login name, and the wrong passwords since its last sign-in, among its newest 1,000 stored events.
 *
 * @param username in any spelling; it need not exist
 * @returns undefined if there is nothing to say
 */
export const findSignInTrouble = async (
  server: Pick<AuthorizationServer, 'database' | 'eventLog' | 'pairwiseSalt' | 'throttle' | 'now'>,
  username: string,
): Promise<SignInTrouble | undefined> => {
  const account = accountOf(server, username)
  const now = server.now()
  const locks = (await server.throttle.login.locks(account)).map(({ network, seconds }) => ({
    network,
    until: now + seconds,
  }))
  await server.eventLog?.settled()
  const events = server.eventLog ? await listNewestEvents(server.database, { account }) : []
  const last = events.findIndex(({ type }) => type === 'login.succeeded')
  const failures = (last < 0 ? events : events.slice(0, last))
    .filter(({ type }) => type === 'login.failed')
    .map(({ time, details: { address } }) => ({ time, ...(typeof address === 'string' && { address }) }))
  return locks.length + failures.length === 0 ? undefined : { locks, failures }
}
