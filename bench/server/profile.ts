import { Session } from 'node:inspector/promises'

let session: Session | undefined

/** Begins a profile of the processor, as `node --cpu-prof` makes it, of nothing but what comes now. */
export const startProfile = async (): Promise<void> => {
  session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.setSamplingInterval', { interval: 200 })
  await session.post('Profiler.start')
}

/** @throws Error when none was begun */
export const stopProfile = async (): Promise<object> => {
  if (session === undefined) throw new Error('no profile was begun')
  const { profile } = await session.post('Profiler.stop')
  session.disconnect()
  session = undefined
  return profile
}
