import { once } from 'node:events'
import type { AddressInfo, Server } from 'node:net'

/** Lets a proxy listen, and gives the URL of its target with the proxy in the target's place. */
export const listenInPlaceOf = async (target: string, proxy: Server): Promise<string> => {
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  const url = new URL(target)
  url.hostname = '127.0.0.1'
  url.port = String((proxy.address() as AddressInfo).port)
  return url.href
}
