import { createOperatorCode } from '../../keys/operator-code.ts'
import type { Options } from '../../options/options.ts'
import { parseJsonObject } from '../../protocol/json.ts'
import type { SelfReport } from '../../web/endpoints/self-report.ts'
import { type AppAnswer, type Diagnosis, type Mount, StoppedError } from '../check.ts'

/** Milliseconds that an answer may take. */
const timeoutMs = 10_000

/** The server cannot be reached. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError'
}

const causeOf = (error: unknown): { readonly code: string; readonly text: string } => {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  const code = String(Reflect.get(Object(cause), 'code') ?? '')
  return { code, text: cause instanceof Error ? cause.message || code : String(cause) }
}

const tlsCodes = /^(?:ERR_(?:SSL|TLS)_|CERT_|DEPTH_ZERO_SELF_SIGNED|SELF_SIGNED|UNABLE_TO_(?:GET|VERIFY))/

/** The fault in the TLS of a server that answers; undefined for any other error. */
const tlsFinding = (url: string, error: unknown): Diagnosis | undefined => {
  const { code, text } = causeOf(error)
  if (!tlsCodes.test(code)) return undefined
  const speaksHttp = /WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST/.test(code)
  return speaksHttp
    ? {
        check: 'tls',
        level: 'error',
        message: `${new URL(url).origin} answers without TLS, although the URL is https`,
        fix: 'start the proxy that terminates TLS; in development set the issuer to http://localhost…',
      }
    : {
        check: 'tls',
        level: 'error',
        message: `the certificate of ${new URL(url).origin} is refused: ${text}`,
        fix: 'install one that clients trust; for an authority of your own run: NODE_EXTRA_CA_CERTS=ca.pem npx latchkey doctor',
      }
}

/** The Content-Security-Policy of our pages begins with this. */
export const ownPolicy = "default-src 'none'"

/** Whether Latchkey sent an error: no one else has both fields. */
export const isOurError = ({ json }: Pick<AppAnswer, 'json'>): boolean =>
  typeof json?.error === 'string' && typeof json.error_description === 'string'

const isLimitedByOthers = (answer: AppAnswer): boolean =>
  answer.status === 429 &&
  !isOurError(answer) &&
  !answer.headers.get('content-security-policy')?.startsWith(ownPolicy)

/** The fix for a rate limiter in front of the mount. */
export const rateLimiterFix = (basePath: string): string =>
  `move app.use('${basePath || '/'}', oauth) before it, or let it skip that path: Latchkey has limits of its own`

const rateLimited = (basePath: string): Diagnosis => ({
  check: 'rate-limiter',
  level: 'error',
  message:
    'a rate limiter in front of the mount answers 429, so the running server cannot be checked further',
  fix: rateLimiterFix(basePath),
})

/**
 * Runs checks of a running server until something stops them.
 *
 * @returns what they found, or what stopped them
 */
export const untilStopped = async (checks: () => Promise<Diagnosis[]>): Promise<Diagnosis[]> => {
  try {
    return await checks()
  } catch (error) {
    if (error instanceof StoppedError) return [error.diagnosis]
    throw error
  }
}

/** Seconds by which the clock of the answer is ahead of the one here; undefined without a date. */
export const secondsAhead = ({ headers }: AppAnswer, now: number): number | undefined => {
  const date = Date.parse(headers.get('date') ?? '')
  return Number.isNaN(date) ? undefined : Math.round(date / 1000) - now
}

/** Sends one request and follows no redirect. */
export type Ask = (url: string, init?: RequestInit) => Promise<AppAnswer>

/**
 * The answer to one request.
 *
 * @param shown what errors call the server
 * @throws UnreachableError if nothing answers, StoppedError if TLS fails
 */
export const requestAnswer = async (url: string, init: RequestInit = {}, shown = url): Promise<AppAnswer> => {
  try {
    const signal = AbortSignal.timeout(timeoutMs)
    const response = await fetch(url, { ...init, redirect: 'manual', signal })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, json: parseJsonObject(text) }
  } catch (error) {
    const diagnosis = tlsFinding(shown, error)
    if (diagnosis) throw new StoppedError(diagnosis, error)
    throw new UnreachableError(`${shown} cannot be reached: ${causeOf(error).text}`, { cause: error })
  }
}

/**
 * Opens a running server.
 *
 * @param url of the mount
 * @throws UnreachableError if nothing answers there, StoppedError if TLS fails or a rate limiter answers
 */
export const openMount = async (
  given: string,
  { issuer, secrets, basePath }: Pick<Options, 'issuer' | 'secrets' | 'basePath'>,
  now: () => number,
): Promise<Mount> => {
  const url = given.replace(/\/$/, '')
  // A request that bypasses the proxy gets the answer that the proxy would give.
  const isBehindProxy = url.startsWith('http:') && issuer.startsWith('https:')
  const forwarded: Record<string, string> = isBehindProxy ? { 'X-Forwarded-Proto': 'https' } : {}

  const answerTo = (path: string, { headers, ...init }: RequestInit): Promise<AppAnswer> =>
    requestAnswer(
      path.startsWith('/') ? `${url}${path}` : path,
      { ...init, headers: { ...forwarded, ...Object.fromEntries(new Headers(headers)) } },
      url,
    )
  const request = async (path: string, init: RequestInit = {}): Promise<AppAnswer> => {
    const answer = await answerTo(path, init)
    if (isLimitedByOthers(answer)) throw new StoppedError(rateLimited(basePath))
    return answer
  }
  const discovery = await request('/.well-known/openid-configuration')
  const ahead = secondsAhead(discovery, now()) ?? 0
  /** The answer to a request that is signed; one whose clock is wrong accepts only a code made for its own time. */
  const signed = async (init: RequestInit = {}): Promise<AppAnswer | undefined> => {
    for (const time of [now(), now() + ahead]) {
      const headers = { Authorization: `Operator ${createOperatorCode(secrets[0], time)}` }
      const answer = await request('/doctor', { ...init, headers })
      if (answer.status === 200) return answer
    }
    return undefined
  }
  const reported = await signed()
  return {
    url,
    discovery,
    report: reported?.json as SelfReport | undefined,
    cookies: reported?.headers.getSetCookie() ?? [],
    echo: async (text) => {
      const answer = await signed({ method: 'POST', body: new URLSearchParams({ text }) })
      const received = answer?.json?.received
      return typeof received === 'string' ? received : undefined
    },
    get: (path, headers = {}) => request(path, { headers }),
    post: (path, form) =>
      request(path, {
        method: 'POST',
        body: new URLSearchParams(form.map(([name, value]): [string, string] => [name, value])),
      }),
  }
}
