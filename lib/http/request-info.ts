import { isIP } from 'node:net'
import type { Request } from 'express'
import type { ServerSetup } from '../authorization-server.ts'
import { createRequestId } from '../keys/secrets.ts'
import type { RequestInfo } from '../protocol/request-info.ts'

/** Some proxies write `203.0.113.7:51004` and `[2001:db8::7]:51004` into X-Forwarded-For. */
const withoutPort = (address: string): string =>
  /^\[([^\]]+)\](?::[0-9]+)?$/.exec(address)?.[1] ?? /^([0-9.]+):[0-9]+$/.exec(address)?.[1] ?? address

/** The IP address of a request, as Express sees it behind trusted proxies; `unknown` if it is not an IP address. */
const addressOf = (server: ServerSetup, { ip = '' }: Request): string => {
  if (isIP(ip) !== 0) return ip
  const address = withoutPort(ip)
  if (isIP(address) === 0) {
    server.warnOnce(
      'a request has no IP address, and limits count all such requests as one; compare trust proxy with the X-Forwarded-For that your proxy sends',
    )
    return 'unknown'
  }
  server.warnOnce(
    'the proxy sends addresses with a port in X-Forwarded-For; Latchkey removes the port, other software may not',
  )
  return address
}

/** A new id and the address of a request. Call it once per request. */
export const createRequestInfo = (server: ServerSetup, req: Request): RequestInfo => ({
  requestId: createRequestId(),
  address: addressOf(server, req),
})
