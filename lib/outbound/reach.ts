import type { Logger } from '../options/server.ts'
import type { Client } from '../protocol/clients/client.ts'
import { type ClientJwks, createClientJwks } from './client-jwks.ts'
import { createOutbound, type Outbound, type OutboundOptions } from './outbound.ts'
import { createRequestObjects, type RequestObjects } from './request-objects.ts'

/** What the server can ask, and what it has kept of the answers. */
export interface Reach {
  readonly outbound: Outbound
  /** Keys that clients and trusted issuers publish. */
  readonly jwks: ClientJwks
  /** Request objects at URLs that clients registered. */
  readonly requestObjects: RequestObjects
}

/** Strangers reach less than the host, and what they cause takes nothing from the host's own clients. */
export interface Reaches {
  /** For URLs that the host named, also as those of its clients. */
  readonly host: Reach
  /** For URLs that self-described clients named. */
  readonly strangers: Reach
}

export interface ReachContext {
  readonly logger: Logger
  now(): number
}

export const createReach = (options: OutboundOptions, { logger, now }: ReachContext): Reach => {
  const outbound = createOutbound(options)
  return {
    outbound,
    jwks: createClientJwks({ outbound, logger, now }),
    requestObjects: createRequestObjects(outbound, now),
  }
}

/** Who named the URLs of a client decides what the server reaches for it. */
export const reachOf = (
  { reach }: { readonly reach: Reaches },
  { metadata }: Pick<Client, 'metadata'>,
): Reach => (metadata.self_described === undefined ? reach.host : reach.strangers)
