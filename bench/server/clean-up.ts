import { monitorEventLoopDelay } from 'node:perf_hooks'
import { removeExpiredRows } from '../../lib/repositories/pruning/schedule.ts'
import { type AuthRouter, serverBehind } from '../../lib/router.ts'

export interface CleanedUp {
  readonly removed: number
  readonly seconds: number
  /** Milliseconds for which the loop was held up at most, by anything. */
  readonly longest: number
}

/** Removes what has expired, at once and whole, in the process that serves. */
export const cleanUpOf = (oauth: AuthRouter) => async (): Promise<CleanedUp> => {
  const server = serverBehind(oauth)
  if (server === undefined) throw new TypeError('this is no router of ours')
  const delays = monitorEventLoopDelay({ resolution: 1 })
  const begun = performance.now()
  delays.enable()
  const counts = await removeExpiredRows(server.database, { now: server.now(), refreshTokenGracePeriod: 10 })
  delays.disable()
  return {
    removed: [...counts.values()].reduce((sum, count) => sum + count, 0),
    seconds: (performance.now() - begun) / 1000,
    longest: delays.max / 1e6,
  }
}
