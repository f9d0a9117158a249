import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'

/** An app that listens in this process. */
export interface Listener {
  readonly origin: string
  close(): Promise<void>
}

export const listen = async (app: RequestListener): Promise<Listener> => {
  const server = createServer(app)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
