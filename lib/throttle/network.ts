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
 * The network to count an address under. An IPv4 address counts by itself, also if it is mapped to IPv6. An IPv6 address
 * counts by its /64, because one household or server has all of it. Anything else, which a trusted proxy may send, counts
 * as one network.
 *
 * @example networkOf('2001:db8::1') // '2001:db8:0:0::/64'
 */
export const networkOf = (address: string): string => {
  const [bare = ''] = address.split('%')
  const mapped = /^::ffff:([0-9.]+)$/i.exec(bare)?.[1]
  if (mapped !== undefined && isIPv4(mapped)) return mapped
  if (isIPv4(bare)) return bare
  return isIPv6(bare) ? `${groupsOf(bare).slice(0, 4).join(':')}::/64` : 'unknown'
}
