import { randomUUID } from 'node:crypto'
import { isIP } from 'node:net'
import type { Request } from 'express'
import type { RequestInfo } from '../protocol/request-info.ts'

const infos = new WeakMap<Request, RequestInfo>()

/** Where a request comes from. */
export const addressOf = (req: Request): string => {
  const { ip } = req
  // A proxy that is trusted too far passes on whatever it was sent.
  return ip !== undefined && isIP(ip) !== 0 ? ip : 'unknown'
}

/** The id and address of a request, the same however often it is asked for. */
export const requestInfo = (req: Request): RequestInfo => {
  const known = infos.get(req)
  if (known) return known
  const info = { requestId: randomUUID(), address: addressOf(req) }
  infos.set(req, info)
  return info
}
