import type { Logger } from './options.ts'

/** The most messages that are remembered; after that, new ones are not logged. */
const maxMessages = 1000

/** Logs each message the first time that it is given. Nothing that a request can choose freely is part of a message. */
export const warnOnce = (logger: Logger): ((message: string) => void) => {
  const warned = new Set<string>()
  return (message) => {
    if (warned.has(message) || warned.size >= maxMessages) return
    logger.warn(`latchkey: ${message}`)
    warned.add(message)
  }
}
