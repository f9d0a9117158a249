import { type IncomingHttpHeaders, type IncomingMessage, request as overHttp } from 'node:http'
import { request as overHttps } from 'node:https'

/** One response, unchanged. */
export interface Answer {
  /** The HTTP status. */
  readonly status: number
  /** The URL of the request, as an address bar would show it. */
  readonly url: URL
  /** By lower-case name. */
  readonly headers: IncomingHttpHeaders
  /** Each Set-Cookie header. */
  readonly setCookies: readonly string[]
  /** At most a million characters. */
  readonly body: string
  /** The absolute target of a redirect; undefined without one, or if a browser could not follow it. */
  readonly location: URL | undefined
}

/** Whether what a function of the host returned is a response. */
export const isAnswer = (value: unknown): value is Answer =>
  typeof value === 'object' && value !== null && 'status' in value && 'headers' in value && 'url' in value

/** Without the values that are undefined. */
export const withoutUndefined = (
  values: Readonly<Record<string, string | undefined>>,
): Record<string, string> =>
  Object.fromEntries(Object.entries(values).filter((pair): pair is [string, string] => pair[1] !== undefined))

/** A request whose bytes are sent unchanged. */
export interface RawRequest {
  readonly method: string
  /** Path and query exactly as sent, including dots and backslashes. */
  readonly path: string
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  /** The address of this machine that sends it. @default the system chooses */
  readonly from?: string | undefined
  /** Milliseconds to wait for the answer. @default 10,000 */
  readonly timeoutMs?: number | undefined
}

/** The maximum number of characters of a response. */
const maxBodyLength = 1_000_000

const textOf = async (message: IncomingMessage): Promise<string> => {
  let text = ''
  message.setEncoding('utf8')
  for await (const chunk of message) {
    text += chunk
    if (text.length > maxBodyLength)
      message.destroy(new Error('the response is longer than a million characters'))
  }
  return text
}

const locationOf = ({ location }: IncomingHttpHeaders, url: URL): URL | undefined =>
  location !== undefined && URL.canParse(location, url.href) ? new URL(location, url) : undefined

/**
 * Sends one request. It follows no redirect, normalises nothing and keeps no connection.
 *
 * @param base where the app listens
 * @param url the URL of the request as a browser would show it
 */
export const exchange = (
  base: URL,
  url: URL,
  { method, path, headers, body, from, timeoutMs = 10_000 }: RawRequest,
): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const send = base.protocol === 'https:' ? overHttps : overHttp
    const fail = (cause: unknown): void => {
      clearTimeout(timer)
      reject(new Error(`${method} ${path.slice(0, 200)} got no response: ${cause}`, { cause }))
    }
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
    const request = send({
      hostname: base.hostname.replace(/^\[|\]$/g, ''),
      port: base.port,
      localAddress: from,
      method,
      path,
      headers: { ...length, ...headers },
      agent: false,
    })
    const timer = setTimeout(() => request.destroy(new Error(`none within ${timeoutMs} ms`)), timeoutMs)
    request.on('error', fail)
    request.on('response', (message) => {
      const { statusCode: status = 0, headers: received } = message
      textOf(message).then((text) => {
        clearTimeout(timer)
        resolve({
          status,
          url,
          headers: received,
          setCookies: received['set-cookie'] ?? [],
          body: text,
          location: locationOf(received, url),
        })
      }, fail)
    })
    request.end(body)
  })
