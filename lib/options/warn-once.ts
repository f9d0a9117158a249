import type { Logger } from './server.ts'

/** The most messages that are remembered; after that, new ones are not logged. */
const maxMessages = 1000

/** Logs a warning the first time that it is given, with details such as its cause. */
export type WarnOnce = (message: string, ...details: readonly unknown[]) => void

/** Logs each message the first time that it is given. Nothing that a request can choose freely is part of a message. */
export const warnOnce = (logger: Logger): WarnOnce => {
  const warned = new Set<string>()
  return (message, ...details) => {
    if (warned.has(message) || warned.size >= maxMessages) return
    logger.warn(`latchkey: ${message}`, ...details)
    warned.add(message)
  }
}
