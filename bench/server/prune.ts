import { monitorEventLoopDelay } from 'node:perf_hooks'
import { type AuthRouter, serverBehind } from '../../lib/router.ts'
import { removeExpiredRows } from '../../lib/storage/repositories/pruning/schedule.ts'
import { expiredOf } from '../../lib/storage/schema.ts'

export interface Pruned {
  readonly removed: number
  readonly seconds: number
  /** The longest delay of the event loop, in milliseconds. */
  readonly longest: number
}

/** Removes all expired rows at once, in the process of the server. */
export const pruneWith = (oauth: AuthRouter) => async (): Promise<Pruned> => {
  const server = serverBehind(oauth)
  if (server === undefined) throw new TypeError('not a router of Latchkey')
  const delays = monitorEventLoopDelay({ resolution: 1 })
  const begun = performance.now()
  delays.enable()
  const counts = await removeExpiredRows(server.database, {
    now: server.now(),
    expired: expiredOf([]),
    refreshGracePeriod: 10,
  })
  delays.disable()
  return {
    removed: [...counts.values()].reduce((sum, count) => sum + count, 0),
    seconds: (performance.now() - begun) / 1000,
    longest: delays.max / 1e6,
  }
}
