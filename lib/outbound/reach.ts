import type { Logger } from '../options/server.ts'
import type { Client } from '../protocol/clients/client.ts'
import { type ClientJwks, createClientJwks } from './client-jwks.ts'
import { createOutbound, type Outbound, type OutboundOptions } from './outbound.ts'
import { createRequestObjects, type RequestObjects } from './request-objects.ts'
import type { AtOnce } from './turns.ts'

/** A client for outbound requests, with the answers that it has kept. */
export interface Reach {
  readonly outbound: Outbound
  /** Keys that clients and trusted issuers publish. */
  readonly jwks: ClientJwks
  /** Request objects at URLs that clients registered. */
  readonly requestObjects: RequestObjects
}

/** Who causes a request. */
export interface CausedBy {
  /** The client that it is for, if that is known. */
  readonly clientId?: string | undefined
  /** The IP address of the request that leads to it; undefined for what the server does by itself. */
  readonly address?: string | undefined
}

/** Strangers reach less than the host, and what they cause takes nothing from the host's own clients. */
export interface Reaches {
  /** For URLs that the host named, also as those of its clients. */
  readonly host: Reach
  /**
   * For URLs that self-described clients named. A client that a user has allowed has a share of its own. Everything else takes
   * the share of the network that causes it, so that no network takes anything from another, or from a client in use.
   */
  strangers(by: CausedBy): Reach
}

export interface ReachContext {
  readonly logger: Logger
  now(): number
}

/** One share for each cause. */
const createReachBy = (
  options: OutboundOptions,
  { logger, now }: ReachContext,
): ((cause?: string) => Reach) => {
  const outbound = createOutbound(options)
  const [jwks, requestObjects] = [
    createClientJwks({ outbound, logger, now }),
    createRequestObjects(outbound, now),
  ]
  return (cause) => ({
    outbound:
      cause === undefined
        ? outbound
        : { ...outbound, request: (url, init) => outbound.request(url, { ...init, cause }) },
    jwks: jwks(cause),
    requestObjects: requestObjects(cause),
  })
}

export interface ReachesOptions {
  /** For URLs that the host named. */
  readonly host: OutboundOptions
  /** For those of self-described clients. */
  readonly strangers: OutboundOptions
  /** The most requests at one time: of those that networks cause, and of those for clients that users have allowed. */
  readonly atOnce: Record<'networks' | 'clients', AtOnce>
  /** Whether a user has allowed a client something. */
  isAllowed(clientId: string): Promise<boolean>
  /** The network to count an address under. */
  networkOf(address: string): string
}

/** The most clients that are remembered as allowed. */
const maxRemembered = 10_000

export const createReaches = (
  { host, strangers, atOnce, isAllowed, networkOf }: ReachesOptions,
  context: ReachContext,
): Reaches => {
  const ofClient = createReachBy({ ...strangers, atOnce: atOnce.clients }, context)
  const ofNetwork = createReachBy({ ...strangers, atOnce: atOnce.networks }, context)
  const allowed = new Set<string>()

  const isInUse = async (clientId: string | undefined): Promise<boolean> => {
    if (clientId === undefined) return false
    if (allowed.has(clientId)) return true
    if (!(await isAllowed(clientId))) return false
    if (allowed.size >= maxRemembered) allowed.clear()
    allowed.add(clientId)
    return true
  }

  return {
    host: createReachBy(host, context)(),
    strangers: ({ clientId, address }) => {
      const network = ofNetwork(address === undefined ? '' : networkOf(address))
      const own = async (): Promise<Reach> => ((await isInUse(clientId)) ? ofClient(clientId) : network)
      return {
        outbound: {
          ...network.outbound,
          request: async (url, init) => (await own()).outbound.request(url, init),
        },
        jwks: {
          find: async (uri) => (await own()).jwks.find(uri),
          renew: async (uri) => (await own()).jwks.renew(uri),
        },
        // Each visitor causes one, as often as they like, whichever client they name.
        requestObjects: network.requestObjects,
      }
    },
  }
}

/**
 * Who named the URLs of a client decides what the server reaches for it.
 *
 * @param address of the request that leads to it; undefined for what the server does by itself
 */
export const reachOf = (
  { reach }: { readonly reach: Reaches },
  { clientId, metadata }: Pick<Client, 'clientId' | 'metadata'>,
  address?: string,
): Reach => (metadata.self_described === undefined ? reach.host : reach.strangers({ clientId, address }))
