import { randomUUID } from 'node:crypto'
import { isIP } from 'node:net'
import type { Request } from 'express'
import type { RequestInfo } from '../protocol/request-info.ts'

/** The IP address of a request, as Express sees it behind trusted proxies; `unknown` if it is not an IP address. */
const addressOf = ({ ip }: Request): string => (ip !== undefined && isIP(ip) !== 0 ? ip : 'unknown')

/** A new id and the address of a request. Call it once per request. */
export const createRequestInfo = (req: Request): RequestInfo => ({
  requestId: randomUUID(),
  address: addressOf(req),
})
