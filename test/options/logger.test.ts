import { runInNewContext } from 'node:vm'
import { plainLogger } from '../../lib/options/logger.ts'
import { startHost } from '../support/host.ts'
import { RawBrowser } from '../support/raw-browser.ts'

const hostile = 'a\u001b[2J\r\nlatchkey: forged\u202e\u2028\u009b'
const shown = String.raw`a\u001b[2J\u000d\u000alatchkey: forged\u202e\u2028\u009b`
const unseen = /[^\P{Cc}\n]|[\p{Cf}\p{Zl}\p{Zp}]/u

const collect = () => {
  const logged: unknown[][] = []
  const log = (...words: unknown[]): void => void logged.push(words)
  return { logged, logger: { info: log, warn: log, error: log } }
}

test('a message is one line, whatever others wrote into it (L16)', () => {
  const { logged, logger } = collect()
  plainLogger(logger).warn(hostile, hostile, 7)
  expect(logged).toEqual([[shown, shown, 7]])
})

test('an error and its causes are logged without control characters, with class and stack', () => {
  const { logged, logger } = collect()
  const error = new TypeError(`first\n${hostile}`, { cause: new RangeError(hostile) })
  plainLogger(logger).error('latchkey: failed', error)
  const [, logg] = logged[0] as [string, TypeError]
  expect(logg).toBeInstanceOf(TypeError)
  expect(logg.message.split('\n')[0]).toBe('first')
  expect(unseen.exec(`${logg.message} ${logg.stack} ${logg.cause} ${(logg.cause as Error).stack}`)).toBeNull()
  // What the server handles is not changed.
  expect(error.message).toContain(hostile)
})

test('an error without such characters is logged as it is, and one that causes itself ends (L16)', () => {
  const { logged, logger } = collect()
  const plain = new Error('two\nlines', { cause: new Error('why') })
  const circle = new Error(hostile)
  circle.cause = circle
  plainLogger(logger).error('latchkey: failed', plain)
  plainLogger(logger).error('latchkey: failed', circle)
  expect(logged[0]?.[1]).toBe(plain)
  expect((logged[1] as [string, Error])[1].message).not.toContain('\u001b')
})

test('passwords that a driver repeats are masked in the text, the error, its stack and causes', () => {
  const { logged, logger } = collect()
  const cause = new Error('no such host in postgres://app:hunter2@db.internal:5432/app?sslpassword=hunter3')
  plainLogger(logger).error('latchkey: failed', new Error("client_secret=hunter4; user='app'", { cause }))
  const [message, error] = logged[0] as [string, Error]
  expect(message).toBe(
    "latchkey: failed: client_secret=***; user='app': no such host in postgres://***@db.internal:5432/app?sslpassword=***",
  )
  expect([error.message, error.stack, String(error.cause), (error.cause as Error).stack].join()).not.toMatch(
    /hunter/,
  )
})

test('the text has the reason of an error that comes from another realm', () => {
  const { logged, logger } = collect()
  const cause: unknown = runInNewContext("new Error('no such table: events')")
  plainLogger(logger).error('latchkey: failed', new Error('unavailable', { cause }))
  expect(logged[0]?.[0]).toBe('latchkey: failed: unavailable: no such table: events')
})

test('what a client sends reaches the log of the server as one line (L16)', async () => {
  const { logged, logger } = collect()
  const host = await startHost({ options: { logger } })
  const agent = new RawBrowser(host.app)
  const query = new URLSearchParams({ client_id: 'web', response_type: hostile, redirect_uri: hostile })
  expect((await agent.get(`/oauth/authorize?${query}`)).status).toBe(400)
  await host.oauth.users.revokeAll('1', hostile)
  await host.close()
  expect(logged.flat().join()).toContain(shown)
  expect(
    logged.flat().filter((words) => typeof words === 'string' && /[\p{Cc}\p{Cf}\p{Zl}]/u.test(words)),
  ).toEqual([])
})

test('the text has the reason and its causes, for loggers that write nothing else, such as pino', () => {
  const { logged, logger } = collect()
  const cause = Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' })
  const error = new Error('users.verify failed', { cause: new Error('no pool', { cause }) })
  plainLogger(logger).error('latchkey: server_error 8176-A078-C5', error)
  plainLogger(logger).error('latchkey: not ready', new Error(hostile))
  plainLogger(logger).error('latchkey: users.verify failed', error)
  expect(logged.map(([text]) => text)).toEqual([
    'latchkey: server_error 8176-A078-C5: users.verify failed: no pool: ECONNREFUSED',
    `latchkey: not ready: ${shown}`,
    'latchkey: users.verify failed: no pool: ECONNREFUSED',
  ])
})

const failing = (): never => {
  throw new Error('disk full')
}

test.each([
  ['throws', failing],
  ['rejects', async () => failing()],
])('a logger that %s disturbs nothing, and Node prints one warning', async (_, log) => {
  const warned = jest.spyOn(process, 'emitWarning').mockImplementation(() => {})
  const logger = plainLogger({ info: log, warn: log, error: log })
  logger.error('latchkey: failed')
  logger.warn('latchkey: again')
  await new Promise((resolve) => setImmediate(resolve))
  expect(warned.mock.calls).toEqual([[expect.stringContaining('disk full')]])
  warned.mockRestore()
})

test('an error that cannot be read leaves the message', () => {
  const { logged, logger } = collect()
  const unreadable = Object.defineProperty(new Error('x'), 'message', { get: failing })
  plainLogger(logger).error('latchkey: failed', unreadable)
  expect(logged).toEqual([['latchkey: failed']])
})
