import type { LoginLock } from '../../limits/login-throttle.ts'
import type { AuthorizationServer } from '../../oauth/authorization-server.ts'
import { listNewestEvents } from '../../storage/repositories/index.ts'
import { accountOf } from '../../web/sessions/device-cookie.ts'
import { countersOf } from '../answer-counters.ts'

/** Why sign-ins under a login name do not succeed. */
export interface SignInTrouble {
  /**
   * Where the next attempt is refused, and until when, those of one kind that wait longest first. `of` is what is tried, if it
   * is no password.
   */
  readonly locks: readonly (Pick<LoginLock, 'network'> & { readonly until: number; readonly of?: string })[]
  /** Wrong passwords since the last sign-in with this name, the newest first; empty unless events are stored. */
  readonly failures: readonly { readonly time: number; readonly address?: string }[]
}

/**
 * Finds the locks of a login name, and the wrong passwords since its last sign-in, among its newest 1,000 stored events.
 *
 * @param username in any spelling; it need not exist
 * @param subject whose locks of other steps count too
 * @returns undefined if there is nothing to say
 */
export const findSignInTrouble = async (
  server: Pick<
    AuthorizationServer,
    'database' | 'eventLog' | 'installed' | 'pairwiseSalt' | 'throttle' | 'now'
  >,
  username: string,
  subject?: string,
): Promise<SignInTrouble | undefined> => {
  const account = accountOf(server, username)
  const now = server.now()
  const locksOf = async (counted: string, of?: string) =>
    (await server.throttle.login.locks(counted)).map(({ network, seconds }) => ({
      network,
      until: now + seconds,
      ...(of !== undefined && { of }),
    }))
  const locks: SignInTrouble['locks'][number][] = await locksOf(account)
  for (const counter of subject === undefined ? [] : countersOf(server, subject))
    locks.push(...(await locksOf(counter.account, counter.name)))
  await server.eventLog?.settled()
  const events = server.eventLog ? await listNewestEvents(server.database, { account }) : []
  const last = events.findIndex(({ type }) => type === 'login.succeeded')
  const failures = (last < 0 ? events : events.slice(0, last))
    .filter(({ type }) => type === 'login.failed')
    .map(({ time, details: { address } }) => ({ time, ...(typeof address === 'string' && { address }) }))
  return locks.length + failures.length === 0 ? undefined : { locks, failures }
}
