import { Session } from 'node:inspector/promises'

let session: Session | undefined

/** Starts a processor profile, in the format of `node --cpu-prof`. */
export const startProfile = async (): Promise<void> => {
  session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.setSamplingInterval', { interval: 200 })
  await session.post('Profiler.start')
}

/** @throws Error if no profile was started */
export const stopProfile = async (): Promise<object> => {
  if (session === undefined) throw new Error('no profile was started')
  const { profile } = await session.post('Profiler.stop')
  session.disconnect()
  session = undefined
  return profile
}
