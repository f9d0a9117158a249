import { visible } from '../protocol/foreign-text.ts'
import type { Logger } from './server.ts'

/** Errors have stacks of many lines. */
const visibleLines = (text: string): string => text.split('\n').map(visible).join('\n')

/** How many causes of an error the log can have. */
const maxCauses = 8

/** The same error with visible texts; itself if its texts are visible. */
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
  return typeof detail === 'string' ? visible(detail) : detail
}

/** The logger of the host, which gets each message as one line. What others wrote cannot look like another message. */
export const plainLogger = (logger: Logger): Logger => {
  const plain =
    (name: keyof Logger): Logger['info'] =>
    (message, ...details) =>
      logger[name](visible(message), ...details.map(plainDetail))
  return { info: plain('info'), warn: plain('warn'), error: plain('error') }
}
