import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { listenInPlaceOf } from './proxy-url.ts'

/** A way to a server that can fall silent as a network does: nothing is refused and nothing is closed, bytes just stop. */
export interface SilentProxy {
  /** The same URL, through the proxy. */
  readonly url: string
  /** Connections that were made so far. */
  readonly connections: number
  /**
   * The connections that are there never say a word again; new ones get through.
   *
   * @returns settles when somebody has hung up on each of them
   */
  forget(): Promise<unknown>
  /** Nor do new ones, until the recovery. */
  fallSilent(): void
  recover(): void
  close(): Promise<void>
}

export const openSilentProxy = async (target: string): Promise<SilentProxy> => {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  const clients = new Set<Socket>()
  let isSilent = false
  let connections = 0
  const track = (socket: Socket): Socket => {
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    return socket
  }
  const server = createServer((client) => {
    connections += 1
    clients.add(track(client))
    client.on('close', () => clients.delete(client))
    if (isSilent) return void client.pause()
    const upstream = track(connect(Number(port), hostname))
    client.pipe(upstream)
    upstream.pipe(client)
    client.on('close', () => upstream.destroy())
  })
  const url = await listenInPlaceOf(target, server)
  const forget = (): Promise<unknown> => {
    for (const socket of sockets) socket.unpipe().pause()
    // What comes is swallowed, so that the end is seen.
    for (const client of clients) client.resume()
    return Promise.all([...clients].map((client) => once(client, 'close')))
  }
  return {
    url,
    get connections() {
      return connections
    },
    forget,
    fallSilent: () => {
      isSilent = true
      void forget()
    },
    recover: () => {
      isSilent = false
    },
    close: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
