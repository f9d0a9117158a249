import type { Database } from '../database/types.ts'
import { stampAuthorizations } from './authorizations.ts'

/** Keeps when authorizations were last used, without a statement of its own in the request that uses one. */
export interface LastUse {
  /** This one is used now. */
  note(authorizationId: string): void
  /** Writes what was noted. */
  flush(): Promise<void>
}

/** Milliseconds that notes are gathered: each authorization is stamped at most so often, and that exactly. */
const interval = 60_000

/**
 * @param now epoch seconds
 * @param runInBackground lets the writing go on beside requests
 */
export const createLastUse = (
  database: Database,
  { now, runInBackground }: { now(): number; runInBackground(work: Promise<void>): void },
): LastUse => {
  const noted = new Set<string>()
  let time = 0
  let timer: NodeJS.Timeout | undefined

  const flush = async (): Promise<void> => {
    clearTimeout(timer)
    const ids = [...noted]
    noted.clear()
    await stampAuthorizations(database, { ids, time })
  }
  return {
    flush,
    note: (authorizationId) => {
      if (noted.size === 0) {
        time = now()
        timer = setTimeout(() => runInBackground(flush()), interval).unref()
      }
      noted.add(authorizationId)
    },
  }
}
