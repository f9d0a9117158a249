import type { LookupAddress } from 'node:dns'
import { isIP } from 'node:net'
import { isPublicAddress } from './public-address.ts'

/** A failed request. The message contains the origin and the reason, never path, query or content. */
export class OutboundError extends Error {
  override readonly name = 'OutboundError'
  /** The request was not sent, and retrying cannot help. */
  readonly refused: boolean

  constructor(message: string, { refused = false, cause }: { refused?: boolean; cause?: unknown } = {}) {
    super(message, { cause })
    this.refused = refused
  }
}

const refusal = (origin: string, reason: string): OutboundError =>
  new OutboundError(`${origin}: ${reason}`, { refused: true })

export interface OutboundTarget {
  readonly url: URL
  /** The origin may use http and private addresses. */
  readonly allowed: boolean
}

/**
 * Parses the URL of a request and checks everything that does not need name resolution.
 *
 * @throws OutboundError refused
 */
export const parseTarget = (text: string, allow: readonly string[]): OutboundTarget => {
  if (!URL.canParse(text)) throw refusal('outbound request', 'not a URL')
  const url = new URL(text)
  const allowed = allow.includes(url.origin)
  if (url.protocol !== 'https:' && !(allowed && url.protocol === 'http:')) {
    throw refusal(url.origin, 'only https is allowed')
  }
  if (url.username !== '' || url.password !== '') throw refusal(url.origin, 'the URL contains credentials')
  // A literal address is not resolved.
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const isPrivate = isIP(host) === 0 ? localName.test(host) : !isPublicAddress(host)
  if (!allowed && isPrivate) throw notPublic(url.origin)
  return { url, allowed }
}

/** Names that only this machine or network resolves (RFC 6761 §6.3, RFC 6762 §3, RFC 8375 §3), and those without a dot. */
const localName = /^[^.]+\.?$|(^|\.)(localhost|local|internal|home\.arpa)\.?$/

const notPublic = (origin: string): OutboundError => refusal(origin, 'the address is not public')

/**
 * Requires that a name has addresses and that all are public. One private address refuses the whole name.
 *
 * @throws OutboundError refused
 */
export const assertPublic = (origin: string, addresses: readonly LookupAddress[]): void => {
  if (addresses.length === 0 || !addresses.every(({ address }) => isPublicAddress(address))) {
    throw notPublic(origin)
  }
}
