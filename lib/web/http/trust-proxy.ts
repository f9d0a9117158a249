import { BlockList, isIP } from 'node:net'
import type { TrustProxy } from '../../options/trust-proxy.ts'
import { proxyRanges } from '../../options/trust-proxy.ts'

/**
 * Whether an address is that of a trusted proxy, as Express's setting `trust proxy` has it.
 *
 * @param hop 0 for the peer of the connection, 1 for the address that it names, and so on
 */
export type Trusts = (address: string | undefined, hop: number) => boolean

/** The function for the option `trustProxy`. */
export const trustsOf = (trustProxy: TrustProxy): Trusts => {
  if (typeof trustProxy === 'number') return (_address, hop) => hop < trustProxy
  const proxies = new BlockList()
  for (const range of proxyRanges(trustProxy)) {
    const { address, family, bits } = range
    proxies.addSubnet(address, bits, family)
  }
  return (address = '') => {
    const version = isIP(address)
    return version !== 0 && proxies.check(address, version === 4 ? 'ipv4' : 'ipv6')
  }
}

/**
 * The address of the client, as `req.ip` of Express: the last one that no trusted proxy has.
 *
 * @param forwardedFor the header X-Forwarded-For
 */
export const addressBehind = (
  trusts: Trusts,
  peer: string | undefined,
  forwardedFor: string | string[] | undefined = [],
): string | undefined => {
  const named = [forwardedFor].flat().join(',').split(',').reverse()
  const hops = [peer, ...named.map((each) => each.trim()).filter((each) => each !== '')]
  return hops.find((address, hop) => !trusts(address, hop)) ?? hops.at(-1)
}
