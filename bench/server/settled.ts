import { setTimeout as wait } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** What a process holds when nothing is asked of it. */
export interface Settled {
  /** Bytes in use after a collection of garbage. */
  readonly heap: number
  /** Bytes. */
  readonly resident: number
  /** Sockets, timers, files and the like that are open. */
  readonly handles: number
}

export const settled = async (): Promise<Settled> => {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  for (let time = 0; time < 3; time += 1) {
    await wait(300)
    collect()
  }
  const { heapUsed: heap, rss: resident } = process.memoryUsage()
  return { heap, resident, handles: process.getActiveResourcesInfo().length }
}
