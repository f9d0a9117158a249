import { BlockList, isIP } from 'node:net'

type Network = readonly [address: string, prefix: number]

const blockList = (networks: readonly Network[], family: 'ipv4' | 'ipv6'): BlockList => {
  const list = new BlockList()
  for (const [address, prefix] of networks) list.addSubnet(address, prefix, family)
  return list
}

/** Addresses that are not public: the special-purpose registry (RFC 6890), multicast and reserved ranges. */
const specialIpv4 = blockList(
  [
    ['0.0.0.0', 8], // "this network", unspecified
    ['10.0.0.0', 8], // private
    ['100.64.0.0', 10], // shared by carrier-grade NAT (RFC 6598)
    ['127.0.0.0', 8], // loopback
    ['169.254.0.0', 16], // link-local, where clouds keep their metadata
    ['172.16.0.0', 12], // private
    ['192.0.0.0', 24], // protocol assignments
    ['192.0.2.0', 24], // documentation
    ['192.88.99.0', 24], // 6to4 relays
    ['192.168.0.0', 16], // private
    ['198.18.0.0', 15], // benchmarks
    ['198.51.100.0', 24], // documentation
    ['203.0.113.0', 24], // documentation
    ['224.0.0.0', 4], // multicast
    ['240.0.0.0', 4], // reserved, broadcast
  ],
  'ipv4',
)

/**
 * The only part of IPv6 with public hosts. Outside it are loopback, unspecified, unique-local, link-local, multicast,
 * and embedded IPv4 addresses: mapped (`::ffff:…`), compatible, translated by NAT64 (`64:ff9b::`).
 */
const globalIpv6 = blockList([['2000::', 3]], 'ipv6')

/** Ranges inside it that are not public. */
const specialIpv6 = blockList(
  [
    ['2001::', 23], // protocol assignments, Teredo among them
    ['2001:db8::', 32], // documentation
    ['2002::', 16], // 6to4 holds any IPv4 address
    ['3fff::', 20], // documentation
  ],
  'ipv6',
)

/**
 * Whether an address is public, so that a request to it reveals nothing about the server's own network.
 *
 * @param address an IPv4 or IPv6 address as the resolver or `new URL()` writes it, without brackets
 */
export const isPublicAddress = (address: string): boolean => {
  // A zone is a network interface of this machine (RFC 6874).
  if (address.includes('%')) return false
  if (isIP(address) === 4) return !specialIpv4.check(address, 'ipv4')
  return isIP(address) === 6 && globalIpv6.check(address, 'ipv6') && !specialIpv6.check(address, 'ipv6')
}
