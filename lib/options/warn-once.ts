import type { Logger } from './options.ts'

/** Logs each message the first time that it is given. Messages are few: nothing of a request is part of them. */
export const warnOnce = (logger: Logger): ((message: string) => void) => {
  const warned = new Set<string>()
  return (message) => {
    if (!warned.has(message)) logger.warn(`latchkey: ${message}`)
    warned.add(message)
  }
}
