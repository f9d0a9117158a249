import { isIP, type LookupFunction } from 'node:net'
import { isPublicAddress } from './public-address.ts'

/** No answer. The message names the origin and the reason, never path, query or content. */
export class OutboundError extends Error {
  override readonly name = 'OutboundError'
  /** Nothing was sent and nothing ever will be: trying again is in vain. */
  readonly refused: boolean

  constructor(message: string, { refused = false, cause }: { refused?: boolean; cause?: unknown } = {}) {
    super(message, { cause })
    this.refused = refused
  }
}

const refusal = (origin: string, reason: string): OutboundError =>
  new OutboundError(`${origin}: ${reason}`, { refused: true })

export interface Target {
  readonly url: URL
  /** The rules of scheme and address are waived for its origin. */
  readonly allowed: boolean
}

/**
 * Reads the address of a request and checks what can be seen without asking the resolver.
 *
 * @throws OutboundError refused
 */
export const parseTarget = (text: string, allow: readonly string[]): Target => {
  if (!URL.canParse(text)) throw refusal('outbound request', 'not a URL')
  const url = new URL(text)
  const allowed = allow.includes(url.origin)
  if (url.protocol !== 'https:' && !(allowed && url.protocol === 'http:')) {
    throw refusal(url.origin, 'only https is asked')
  }
  if (url.username !== '' || url.password !== '') throw refusal(url.origin, 'the URL holds credentials')
  // The resolver is never asked about a literal address.
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (!allowed && isIP(host) !== 0 && !isPublicAddress(host)) throw notPublic(url.origin)
  return { url, allowed }
}

const notPublic = (origin: string): OutboundError => refusal(origin, 'the address is not a public one')

/**
 * Resolves and checks in one step, and the socket connects to what was checked: a name that answers differently the
 * second time (DNS rebinding) is never asked a second time. One address out of line refuses them all.
 */
export const checkedLookup =
  (origin: string, resolve: LookupFunction): LookupFunction =>
  (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, '')
      const found = Array.isArray(addresses) ? addresses : []
      const [first] = found
      if (first === undefined || !found.every(({ address }) => isPublicAddress(address))) {
        return callback(notPublic(origin), '')
      }
      return options.all ? callback(null, found) : callback(null, first.address, first.family)
    })
  }
