import { setTimeout as wait } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Resources of an idle process. */
export interface Settled {
  /** Bytes in use after a garbage collection. */
  readonly heap: number
  /** Bytes. */
  readonly resident: number
  /** Open sockets, timers and files. */
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
