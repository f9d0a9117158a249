import { inspect } from 'node:util'
import { visible } from '../protocol/foreign-text.ts'
import { HostError, problemInWords } from '../protocol/problem.ts'
import type { Logger } from './server.ts'

/** Drivers repeat what they connect with: `postgres://app:hunter2@db`, `password=hunter2`. */
const masked = (text: string): string =>
  text
    .replace(/:\/\/[^\s/@]{1,200}@/g, '://***@')
    .replace(/(password|passwd|secret|token)=[^\s&,;'"]+/gi, '$1=***')

/** Errors have stacks of many lines. */
const visibleLines = (text: string): string => masked(text).split('\n').map(visible).join('\n')

/** How many causes of an error the log can have. */
const maxCauses = 8

/** A copy of an error with visible texts and without passwords; the error itself if nothing changes. */
const plainError = (error: Error, causes = maxCauses): Error => {
  const { message, stack = '', cause } = error
  const known = cause instanceof Error && causes > 0 ? plainError(cause, causes - 1) : undefined
  const isPlain = [message, stack].every((text) => visibleLines(text) === text)
  if (isPlain && (known === cause || !(cause instanceof Error))) return error
  return Object.create(error, {
    message: { value: visibleLines(message) },
    stack: { value: visibleLines(stack) },
    cause: { value: known },
  })
}

const plainDetail = (detail: unknown): unknown => {
  if (detail instanceof Error) return plainError(detail)
  return typeof detail === 'string' ? visible(masked(detail)) : detail
}

/** Characters that one reason may have in the text of a message. */
const maxReason = 500

/** Errors of a native driver can come from another realm, as under Jest, and are then no `instanceof Error`. */
const isError = (detail: unknown): detail is Error =>
  typeof detail === 'object' && detail !== null && 'message' in detail && typeof detail.message === 'string'

/** The message of an error; its code if it has none, as when no address of a host answers. */
const saidBy = (error: Error): string =>
  error instanceof HostError
    ? problemInWords(error)
    : error.message || String(Reflect.get(error, 'code') ?? error.name)

/** The messages of an error and its causes, the outermost first. */
const reasonsOf = (detail: unknown, causes = maxCauses): string[] => {
  if (typeof detail === 'string') return [detail]
  if (!isError(detail)) return []
  return [saidBy(detail), ...(causes > 0 ? reasonsOf(detail.cause, causes - 1) : [])]
}

/** The message with each reason that it does not tell yet. */
const withReasons = (message: string, details: readonly unknown[]): string =>
  details
    .flatMap((detail) => reasonsOf(detail))
    .map((reason) => visible(masked(reason)).slice(0, maxReason))
    .reduce((text, reason) => (text.includes(reason) ? text : `${text}: ${reason}`), visible(message))

/** A message and its details, without hidden characters and passwords; only the message if the details cannot be read. */
const plainWords = (message: string, details: readonly unknown[]): [string, ...unknown[]] => {
  try {
    return [withReasons(message, details), ...details.map(plainDetail)]
  } catch {
    return [visible(message)]
  }
}

/**
 * The logger of the host, which gets each message as one line. What others wrote cannot look like another message, and
 * passwords that a driver repeats are masked.
 *
 * The text of a message contains its reasons, because pino writes nothing of what follows the text, and winston only a part.
 * Errors follow it as well, with their stacks, for loggers that write them. A logger that fails disturbs nothing: Node prints
 * the first failure as a warning.
 *
 * @example plainLogger(console).error('latchkey: not ready', error) // latchkey: not ready: connect ECONNREFUSED …
 */
export const plainLogger = (logger: Logger): Logger => {
  let hasFailed = false
  const failed = (error: unknown): void => {
    if (!hasFailed) process.emitWarning(`latchkey: the option logger failed: ${inspect(error)}`)
    hasFailed = true
  }
  const plain =
    (name: keyof Logger): Logger['info'] =>
    (message, ...details) => {
      try {
        // It may be asynchronous, whatever its type says.
        Promise.resolve(logger[name](...plainWords(message, details))).catch(failed)
      } catch (error) {
        failed(error)
      }
    }
  return { info: plain('info'), warn: plain('warn'), error: plain('error') }
}

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
