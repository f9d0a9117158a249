import { promises as dns, type LookupAddress } from 'node:dns'

/**
 * Resolves a host name to its addresses.
 *
 * @param signal ends the work that is left
 * @throws Error if the name has none
 */
export type ResolveName = (hostname: string, signal: AbortSignal) => Promise<readonly LookupAddress[]>

/** Resolves as every program of the machine does, with `/etc/hosts`. It takes a thread of Node's pool, and cannot be ended. */
export const resolveBySystem: ResolveName = (hostname) => dns.lookup(hostname, { all: true })

/** Milliseconds for one question to one name server. */
const timeout = 2000

/**
 * Resolves by DNS alone, without a thread: a slow name server would hold one for half a minute, and all other lookups of the
 * process with it.
 *
 * @param servers addresses of name servers, instead of those of this machine
 */
export const createDns =
  (servers?: readonly string[]): ResolveName =>
  async (hostname, signal) => {
    const resolver = new dns.Resolver({ timeout, tries: 1 })
    if (servers) resolver.setServers(servers)
    const cancel = (): void => resolver.cancel()
    signal.addEventListener('abort', cancel, { once: true })
    try {
      const [ipv4, ipv6] = await Promise.allSettled([
        resolver.resolve4(hostname),
        resolver.resolve6(hostname),
      ])
      const found = [
        ...(ipv4.status === 'fulfilled' ? ipv4.value.map((address) => ({ address, family: 4 })) : []),
        ...(ipv6.status === 'fulfilled' ? ipv6.value.map((address) => ({ address, family: 6 })) : []),
      ]
      if (found.length === 0 && ipv4.status === 'rejected') throw ipv4.reason
      return found
    } finally {
      signal.removeEventListener('abort', cancel)
    }
  }

/** Resolves by the name servers of this machine alone. */
export const resolveByDns: ResolveName = createDns()
