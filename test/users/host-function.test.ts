import { OAuthError } from '../../lib/protocol/errors.ts'
import { askHost, callHost } from '../../lib/users/host-function.ts'

/** The code of the error for what a function throws. */
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
  [{ name: 'KnexTimeoutError' }],
  [{ status: 503 }],
  [{ statusCode: 504 }],
  [new Error('around it', { cause: { code: 'ECONNRESET' } })],
  [new AggregateError([new Error('IPv6'), { code: 'EHOSTUNREACH' }])],
])('a service that is unavailable: %j', async (thrown) => {
  expect(await codeFor(thrown)).toBe('temporarily_unavailable')
})

const broken = new TypeError('x is undefined')
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
])('any other failure: %p', async (thrown) => {
  expect(await codeFor(thrown)).toBe('server_error')
})

test('a function may return a value or a promise, and throw or reject', async () => {
  expect(await callHost('users.isActive', () => true)).toBe(true)
  expect(await callHost('users.isActive', async () => true)).toBe(true)
  const failed = expect.objectContaining({
    message: 'latchkey: users.isActive failed',
    cause: expect.objectContaining({ message: 'no row' }),
  })
  const thrown = callHost('users.isActive', () => {
    throw new Error('no row')
  })
  await expect(thrown).rejects.toThrow(failed)
  await expect(callHost('users.isActive', async () => Promise.reject(new Error('no row')))).rejects.toThrow(
    failed,
  )
})

test('only a function that may choose the answer chooses it, by an OAuthError', async () => {
  const refusal = new OAuthError('access_denied', 'not today')
  expect(await codeFor(refusal)).toBe('server_error')
  const asked = (thrown: unknown) => askHost('protocol.tokenExchange.allow', () => Promise.reject(thrown))
  await expect(asked(refusal)).rejects.toBe(refusal)
  await expect(asked(broken)).rejects.toMatchObject({ cause: broken })
})

test('an OAuthError of a service that is unavailable stays one', async () => {
  expect(await codeFor(new OAuthError('temporarily_unavailable', 'later'))).toBe('temporarily_unavailable')
})

test('of several calls that fail together, the later failures are not unhandled rejections', async () => {
  const unhandled: unknown[] = []
  const listener = (reason: unknown): void => void unhandled.push(reason)
  process.on('unhandledRejection', listener)
  const fail = (message: string): Promise<never> =>
    callHost('users.claims.name', () => Promise.reject(new Error(message)))
  await expect(Promise.all([fail('first'), fail('second')])).rejects.toThrow('users.claims.name failed')
  await new Promise((resolve) => setImmediate(resolve))
  process.off('unhandledRejection', listener)
  expect(unhandled).toEqual([])
})

describe('a function that does not return', () => {
  beforeEach(() => void jest.useFakeTimers())
  afterEach(() => void jest.useRealTimers())

  test('is an error after ten seconds', async () => {
    const caught = jest.fn()
    const asking = Promise.resolve(callHost('users.find', () => new Promise(() => {}))).catch(caught)
    await jest.advanceTimersByTimeAsync(9_999)
    expect(caught).not.toHaveBeenCalled()
    await jest.advanceTimersByTimeAsync(1)
    await asking
    expect(caught).toHaveBeenCalledWith(
      expect.objectContaining({
        code: 'temporarily_unavailable',
        cause: expect.objectContaining({ message: 'latchkey: users.find did not return within 10000 ms' }),
      }),
    )
  })

  test('leaves no timer once it has returned', async () => {
    await callHost('users.find', async () => 'ada')
    expect(jest.getTimerCount()).toBe(0)
  })
})
