import { isIPv4, isIPv6 } from 'node:net'

/** The eight groups of an IPv6 address, with `::` expanded; the URL parser normalizes the rest. */
const groupsOf = (address: string): string[] => {
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const [first, last] = [head, tail ?? ''].map((half) => half.split(':').filter(Boolean)) as [
    string[],
    string[],
  ]
  return [...first, ...Array<string>(8 - first.length - last.length).fill('0'), ...last]
}

/**
 * An address without its zone; one that is mapped to IPv6 as IPv4.
 *
 * @example plainAddress('::ffff:203.0.113.7') // '203.0.113.7'
 */
export const plainAddress = (address: string): string => {
  const [bare = ''] = address.split('%')
  const mapped = /^::ffff:([0-9.]+)$/i.exec(bare)?.[1]
  return mapped !== undefined && isIPv4(mapped) ? mapped : bare
}

/**
 * The network to count an address under. An IPv4 address counts by itself, also if it is mapped to IPv6. An IPv6 address
 * counts by its /64, because one household or server has all of it. Anything else, which a trusted proxy may send, counts
 * as one network.
 *
 * @example networkOf('2001:db8::1') // '2001:db8:0:0::/64'
 */
export const networkOf = (address: string): string => {
  const bare = plainAddress(address)
  if (isIPv4(bare)) return bare
  return isIPv6(bare) ? `${groupsOf(bare).slice(0, 4).join(':')}::/64` : 'unknown'
}

/**
 * A network as people read it (RFC 5952).
 *
 * @param network what {@link networkOf} returned
 * @example shownNetwork('2001:db8:0:0::/64') // '2001:db8::/64'
 */
export const shownNetwork = (network: string): string => {
  const [address = '', bits] = network.split('/')
  return bits === undefined ? network : `${new URL(`http://[${address}]`).hostname.slice(1, -1)}/${bits}`
}

/**
 * The site of an IPv6 address: its /48, the most that a subscriber commonly gets (RFC 6177). Undefined for all others.
 *
 * @example siteOf('2001:db8:7:1::1') // '2001:db8:7::/48'
 */
export const siteOf = (address: string): string | undefined => {
  const bare = plainAddress(address)
  return isIPv6(bare) ? `${groupsOf(bare).slice(0, 3).join(':')}::/48` : undefined
}

/** Whom an address belongs to, as far as it shows: its site, or its network if it is part of none. */
export const subscriberOf = (address: string): string => siteOf(address) ?? networkOf(address)
