import type { Socket } from 'node:net'
import { unescape as decode } from 'node:querystring'

/** The proxy opened no tunnel. */
export class ProxyError extends Error {
  override readonly name = 'ProxyError'
  /** Of its answer; undefined if there was none. */
  readonly status: number | undefined
  /** Whether it is the same for every server: no connection to the proxy, or wrong credentials. */
  readonly isOwnFault: boolean

  constructor(message: string, { status, cause }: { status?: number; cause?: NodeJS.ErrnoException } = {}) {
    super(message, { cause })
    this.status = status
    this.isOwnFault = status === 407 || ['connect', 'getaddrinfo'].includes(cause?.syscall ?? '')
  }
}

/** Name and password in the URL of a proxy, for its header (RFC 7617 §2). */
const credentialsOf = ({ username, password }: URL): Record<string, string> => {
  if (username === '' && password === '') return {}
  const pair = `${decode(username)}:${decode(password)}`
  return { 'Proxy-Authorization': `Basic ${Buffer.from(pair).toString('base64')}` }
}

/**
 * Asks a proxy for a tunnel to a server (RFC 9110 §9.3.6). The proxy resolves the name of the server.
 *
 * @param proxy an http or https URL, with credentials if the proxy wants some
 * @param target an https URL; only its host and port count
 * @param signal ends the attempt, and the tunnel
 * @returns the open tunnel
 * @throws ProxyError if the proxy does not answer or refuses
 * @example await openTunnel('http://proxy.example.com:3128', new URL('https://client.example.com'), AbortSignal.timeout(5000))
 */
export const openTunnel = (proxy: string, target: URL, signal: AbortSignal): Promise<Socket> => {
  const url = new URL(proxy)
  const isTls = url.protocol === 'https:'
  const authority = `${target.hostname}:${target.port || 443}`
  const { request } = process.getBuiltinModule(isTls ? 'node:https' : 'node:http')
  return new Promise((resolve, reject) => {
    const unanswered = (cause?: Error): void => reject(new ProxyError('the proxy does not answer', { cause }))
    // The host names its proxy, so the address of the proxy is not checked.
    request({
      method: 'CONNECT',
      host: url.hostname.replace(/^\[|\]$/g, ''),
      port: url.port || (isTls ? 443 : 80),
      path: authority,
      headers: { Host: authority, 'User-Agent': 'latchkey', ...credentialsOf(url) },
      agent: false,
      signal,
    })
      .on('connect', ({ statusCode = 0 }, socket) => {
        if (statusCode >= 200 && statusCode < 300) {
          signal.addEventListener('abort', () => socket.destroy(), { once: true })
          return resolve(socket)
        }
        socket.destroy()
        const reason = statusCode === 407 ? 'wants other credentials' : `refused with status ${statusCode}`
        reject(new ProxyError(`the proxy ${reason}`, { status: statusCode }))
      })
      .on('error', unanswered)
      .on('close', unanswered)
      .end()
  })
}
