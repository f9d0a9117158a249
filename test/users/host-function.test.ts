import { OAuthError } from '../../lib/protocol/errors.ts'
import { callHost } from '../../lib/users/host-function.ts'

/** What becomes of what a function throws. */
const codeFor = async (thrown: unknown): Promise<string> => {
  const caught: unknown = await callHost('users.find', () => Promise.reject(thrown)).catch((e: unknown) => e)
  if (!(caught instanceof OAuthError)) return 'server_error'
  return caught.code
}

test.each([
  [{ code: 'ECONNREFUSED' }],
  [{ code: 'ETIMEDOUT' }],
  [{ code: 'EAI_AGAIN' }],
  [{ code: 'UND_ERR_CONNECT_TIMEOUT' }],
  [{ code: '08006' }],
  [{ code: '53300' }],
  [{ code: '57P01' }],
  [{ code: 'PROTOCOL_CONNECTION_LOST' }],
  [{ code: 'SQLITE_BUSY_SNAPSHOT' }],
  [{ name: 'TimeoutError' }],
  [{ statusCode: 504 }],
  [new Error('around it', { cause: { code: 'ECONNRESET' } })],
  [new AggregateError([new Error('IPv6'), { code: 'EHOSTUNREACH' }])],
])('that something is away: %j', async (thrown) => {
  expect(await codeFor(thrown)).toBe('temporarily_unavailable')
})

const endless: { cause?: unknown } = {}
endless.cause = endless

test.each([
  [undefined],
  [null],
  ['ECONNREFUSED'],
  [new TypeError('x is undefined')],
  [{ code: '42P01' }],
  [{ code: 'ENOENT' }],
  [{ status: 404 }],
  [{ status: 500 }],
  [endless],
])('that something is wrong: %p', async (thrown) => {
  expect(await codeFor(thrown)).toBe('server_error')
})

test('what is there at once is given at once', () => {
  expect(callHost('users.isActive', () => true)).toBe(true)
  expect(() =>
    callHost('users.isActive', () => {
      throw new Error('no row')
    }),
  ).toThrow(expect.objectContaining({ message: 'latchkey: users.isActive failed' }))
})

test('a fault that was made for the client goes to the client', async () => {
  expect(await codeFor(new OAuthError('access_denied', 'not today'))).toBe('access_denied')
})

test('of several that are asked together those that nobody waits for any more harm nothing', async () => {
  const unheard: unknown[] = []
  const hear = (reason: unknown): void => void unheard.push(reason)
  process.on('unhandledRejection', hear)
  callHost('users.claims.name', () => Promise.reject(new Error('late')))
  await new Promise((resolve) => setImmediate(resolve))
  process.off('unhandledRejection', hear)
  expect(unheard).toEqual([])
})

describe('a function that does not answer', () => {
  beforeEach(() => void jest.useFakeTimers())
  afterEach(() => void jest.useRealTimers())

  test('is waited for ten seconds', async () => {
    const caught = jest.fn()
    const asking = Promise.resolve(callHost('users.find', () => new Promise(() => {}))).catch(caught)
    await jest.advanceTimersByTimeAsync(9_999)
    expect(caught).not.toHaveBeenCalled()
    await jest.advanceTimersByTimeAsync(1)
    await asking
    expect(caught).toHaveBeenCalledWith(
      expect.objectContaining({
        code: 'temporarily_unavailable',
        cause: expect.objectContaining({
          message: 'latchkey: users.find did not answer within 10000 ms',
        }),
      }),
    )
  })

  test('leaves no timer behind once it has', async () => {
    await callHost('users.find', async () => 'somebody')
    expect(jest.getTimerCount()).toBe(0)
  })
})
