import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { listenInPlaceOf } from './proxy-url.ts'

/** A way to a server that counts how often somebody on this side waits for it. */
export interface TurnCounter {
  /** The same URL, through the counter. */
  readonly url: string
  /** Round trips since the last call: however much is sent before an answer comes, it is one. */
  take(): number
  close(): Promise<void>
}

export const openTurnCounter = async (target: string): Promise<TurnCounter> => {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  let turns = 0
  const track = (socket: Socket): Socket => {
    sockets.add(socket)
    return socket.on('error', () => {}).on('close', () => sockets.delete(socket))
  }
  const server = createServer((client) => {
    const upstream = track(connect(Number(port || 5432), hostname))
    let isAnswered = true
    track(client).on('data', (piece) => {
      if (isAnswered) turns += 1
      isAnswered = false
      upstream.write(piece)
    })
    upstream.on('data', (piece) => {
      isAnswered = true
      client.write(piece)
    })
    client.on('close', () => upstream.destroy())
    upstream.on('close', () => client.destroy())
  })
  const url = await listenInPlaceOf(target, server)
  return {
    url,
    take: () => {
      const taken = turns
      turns = 0
      return taken
    },
    close: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
