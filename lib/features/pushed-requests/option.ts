import { limit } from '../../options/limits.ts'
import { flag } from '../../options/schema.ts'

/** Pushed authorization requests at `/par` (RFC 9126): docs/clients.md#pushed-requests. */
export const members = {
  /** Refuses every other authorization request. */
  required: flag(false),
}

export const failures = {
  /** Failed client authentication at `/par`, for one client from one address. */
  par: limit(30, 60),
}

export const quotas = {
  /** Requests of public clients at `/par` from one address. */
  pushedRequest: limit(60, 60),
}

/** The options, complete. */
export interface PushedRequestOption {
  /** Whether every authorization request must be pushed. */
  readonly isRequired: boolean
  /** Seconds for which a browser can open a pushed request. */
  readonly lifetime: number
}
