import { randomUUID } from 'node:crypto'
import { isIP } from 'node:net'
import type { Request } from 'express'
import type { Occasion } from '../protocol/occasion.ts'

const occasions = new WeakMap<Request, Occasion>()

/** The id and address of a request, the same however often it is asked for. */
export const occasionOf = (req: Request): Occasion => {
  const known = occasions.get(req)
  if (known) return known
  // A proxy that is trusted too far passes on whatever it was sent.
  const address = req.ip !== undefined && isIP(req.ip) !== 0 ? req.ip : 'unknown'
  const occasion = { correlationId: randomUUID(), address }
  occasions.set(req, occasion)
  return occasion
}
