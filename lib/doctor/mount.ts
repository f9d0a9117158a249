import type { Answer, Mount } from '../check.ts'
import type { SelfReport } from '../endpoints/self-report.ts'
import { createOperatorCode } from '../keys/operator-code.ts'
import type { Options } from '../options/options.ts'
import { parseJsonObject } from '../protocol/json.ts'

/** Milliseconds that an answer may take. */
const timeoutMs = 10_000

/** The server cannot be reached. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError'
}

const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  const { cause } = error
  return cause instanceof Error ? cause.message || String(Reflect.get(cause, 'code')) : error.message
}

/** Whether Latchkey sent an error: no one else has both fields. */
export const isOurError = ({ json }: Answer): boolean =>
  typeof json?.error === 'string' && typeof json.error_description === 'string'

/** Seconds by which the clock of the answer is ahead of the one here; undefined without a date. */
export const secondsAhead = ({ headers }: Answer, now: number): number | undefined => {
  const date = Date.parse(headers.get('date') ?? '')
  return Number.isNaN(date) ? undefined : Math.round(date / 1000) - now
}

/**
 * Opens a running server.
 *
 * @param url of the mount
 * @throws UnreachableError if nothing answers there
 */
export const openMount = async (
  given: string,
  { issuer, secrets }: Pick<Options, 'issuer' | 'secrets'>,
  now: () => number,
): Promise<Mount> => {
  const url = given.replace(/\/$/, '')
  // A request that bypasses the proxy gets the answer that the proxy would give.
  const isBehindProxy = url.startsWith('http:') && issuer.startsWith('https:')
  const forwarded: Record<string, string> = isBehindProxy ? { 'X-Forwarded-Proto': 'https' } : {}

  const request = async (path: string, { headers, ...init }: RequestInit = {}): Promise<Answer> => {
    try {
      const response = await fetch(path.startsWith('/') ? `${url}${path}` : path, {
        ...init,
        redirect: 'manual',
        headers: { ...forwarded, ...Object.fromEntries(new Headers(headers)) },
        signal: AbortSignal.timeout(timeoutMs),
      })
      return {
        status: response.status,
        headers: response.headers,
        json: parseJsonObject(await response.text()),
      }
    } catch (error) {
      throw new UnreachableError(`${url} cannot be reached: ${reasonOf(error)}`, { cause: error })
    }
  }
  const reportAt = async (time: number): Promise<SelfReport | undefined> => {
    const headers = { Authorization: `Operator ${createOperatorCode(secrets[0], time)}` }
    const { status, json } = await request('/doctor', { headers })
    return status === 200 ? (json as SelfReport | undefined) : undefined
  }
  const discovery = await request('/.well-known/openid-configuration')
  return {
    url,
    discovery,
    // A server whose clock is wrong accepts only a code made for its own time.
    report: (await reportAt(now())) ?? (await reportAt(now() + (secondsAhead(discovery, now()) ?? 0))),
    get: (path) => request(path),
    post: (path, form) => request(path, { method: 'POST', body: new URLSearchParams(form) }),
  }
}
