import { Session } from 'node:inspector/promises'

/** Counts the steps of Latchkey's own code: how often each of its blocks runs. The count depends on the input alone. */
export interface StepCounter {
  /** The steps of everything that runs meanwhile. */
  count(work: () => Promise<unknown>): Promise<number>
  stop(): Promise<void>
}

const own = /\/(lib|migrations)\/[^?]*\.ts$/

/** Block coverage of V8, which the inspector of this process counts. */
export const countSteps = async (): Promise<StepCounter> => {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  const taken = async (): Promise<number> => {
    const { result } = await session.post('Profiler.takePreciseCoverage')
    return result
      .filter(({ url }) => own.test(url))
      .flatMap(({ functions }) => functions.flatMap(({ ranges }) => ranges.map(({ count }) => count)))
      .reduce((sum, count) => sum + count, 0)
  }
  return {
    count: async (work) => {
      await taken()
      await work()
      return taken()
    },
    stop: async () => {
      await session.post('Profiler.stopPreciseCoverage')
      session.disconnect()
    },
  }
}
