import { isIPv4, isIPv6 } from 'node:net'

/** The eight groups of an IPv6 address, `::` filled in; the URL parser writes the rest in one way. */
const groupsOf = (address: string): string[] => {
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const [first, last] = [head, tail ?? ''].map((half) => half.split(':').filter(Boolean)) as [
    string[],
    string[],
  ]
  return [...first, ...Array<string>(8 - first.length - last.length).fill('0'), ...last]
}

/**
 * Whom an address stands for: an IPv4 address, also in the guise of IPv6, for itself; an IPv6 address for its /64,
 * which one household or server has whole. What is no address (a proxy may be trusted that passes on anything) is one and
 * the same for all.
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
