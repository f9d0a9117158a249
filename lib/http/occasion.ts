import { randomUUID } from 'node:crypto'
import { isIP } from 'node:net'
import type { Request } from 'express'
import type { Occasion } from '../protocol/occasion.ts'

const occasions = new WeakMap<Request, Occasion>()

/** Where a request comes from. */
export const addressOf = (req: Request): string => {
  const { ip } = req
  // A proxy that is trusted too far passes on whatever it was sent.
  return ip !== undefined && isIP(ip) !== 0 ? ip : 'unknown'
}

/** The id and address of a request, the same however often it is asked for. */
export const occasionOf = (req: Request): Occasion => {
  const known = occasions.get(req)
  if (known) return known
  const occasion = { correlationId: randomUUID(), address: addressOf(req) }
  occasions.set(req, occasion)
  return occasion
}
