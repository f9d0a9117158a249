import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { inspect } from 'node:util'
import type { Logger } from '../../lib/index.ts'

/** Everything that was logged, announced or shown on an error page in this test file. */
export const told: string[] = []

export const note = (...parts: readonly unknown[]): void => {
  told.push(parts.map((part) => (typeof part === 'string' ? part : inspect(part, { depth: 8 }))).join(' '))
}

/** Routers and databases in memory of this test file: the timers of one that a test leaves open would outlive the file. */
export const closedAfterFile: { close(): Promise<void> }[] = []

const noteEvent = (event: unknown): void => note(event)
subscribe('latchkey', noteEvent)

/** Without this, the channel would keep every test file's modules alive for the life of the worker. */
export const stopListening = (): void => void unsubscribe('latchkey', noteEvent)

/** A logger that also keeps what it is given. */
export const listening = (logger: Logger): Logger => ({
  info: (...words) => {
    note(...words)
    logger.info(...words)
  },
  warn: (...words) => {
    note(...words)
    logger.warn(...words)
  },
  error: (...words) => {
    note(...words)
    logger.error(...words)
  },
})

/** What no log or error may contain: our secrets and JWTs by their form, the tests' passwords and secrets by their text. */
const secrets: readonly [string, RegExp][] = [
  ['a token, code or id of ours', /lk_[a-z]{2}_[\w-]{43}/],
  ['a JWT', /eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}/],
  ['a password', /(?:ada|bob|cut|grace)(?:’|\\u2019|%E2%80%99)s(?: |\+|%20)password/i],
  ['a password hash', /\$2[abxy]\$\d\d\$|\$argon2i?d?\$|\$scrypt\$/],
  ['a client secret', /a-client-secret-of-more-than-32/],
  ['a secret of the server', /a secret of the tests that is long enough/],
  ['a private key', /"d":\s*"[\w-]{20,}|PRIVATE KEY/],
]

/** The lines that tell a secret, with what it is. */
export const secretsTold = (): string[] =>
  told.flatMap((line) =>
    secrets.flatMap(([what, pattern]) => {
      const found = pattern.exec(line)
      return found ? [`${what}: …${line.slice(Math.max(0, found.index - 200), found.index + 100)}…`] : []
    }),
  )
