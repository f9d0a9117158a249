import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { listenOn } from './client-server.ts'

/** A way to a server that breaks as networks do. */
export interface FaultProxy {
  /** The same URL, through the proxy. */
  readonly url: string
  /** By which the server knows the connections that were made so far. */
  readonly ports: ReadonlySet<number>
  /** How many connections were made so far. */
  readonly connections: number
  /** Resets every connection there is; new ones get through. */
  cut(): void
  /**
   * The connections that are there never say a word again; new ones get through.
   *
   * @returns settles when each of them is closed
   */
  forget(): Promise<unknown>
  /** Resets every connection once this many more pieces of answers have passed; the piece that was due is lost. */
  cutAfter(pieces: number): void
  /** Resets every connection, and new ones at once, until it heals. */
  refuse(): void
  /** Nothing passes any more and nothing is closed, new connections included, until it heals. */
  blackHole(): void
  /** Round trips since the last call: however much is sent before an answer comes, it is one. */
  takeTurns(): number
  /** Every piece takes so many milliseconds longer, both ways. */
  delay(milliseconds: number): void
  /** Connections that were in the black hole are reset, as by a firewall that has forgotten them; new ones get through. */
  heal(): void
  close(): Promise<void>
}

type State = 'open' | 'refusing' | 'black hole'

/** One that has said its farewell cannot be reset any more, and would stay open for ever. */
const reset = (socket: Socket): void => {
  if (socket.writableEnded) socket.destroy()
  else socket.resetAndDestroy()
}

/** @param target the URL of the server; only its host and port matter */
export const openFaultProxy = async (target: string, defaultPort = 0): Promise<FaultProxy> => {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  const clients = new Set<Socket>()
  const forgotten = new WeakSet<Socket>()
  const ports = new Set<number>()
  let connections = 0
  let turns = 0
  let state: State = 'open'
  let latency = 0
  let toGo: number | undefined

  const cut = (): void => {
    toGo = undefined
    for (const socket of sockets) reset(socket)
  }
  const track = (socket: Socket): Socket => {
    sockets.add(socket)
    return socket.on('error', () => {}).on('close', () => sockets.delete(socket))
  }
  /** Whether a piece of an answer gets through. */
  const isLost = (): boolean => {
    if (toGo === undefined) return false
    toGo -= 1
    if (toGo > 0) return false
    cut()
    return true
  }
  const pass = (from: Socket, to: Socket, isAnswer: boolean): void => {
    from.on('data', (piece) => {
      if (state === 'black hole' || forgotten.has(from) || forgotten.has(to) || (isAnswer && isLost())) return
      const write = (): void => {
        if (state !== 'black hole' && to.writable) to.write(piece)
      }
      if (latency > 0) setTimeout(write, latency)
      else write()
    })
    from.on('close', () => {
      if (state !== 'black hole') to.destroy()
    })
  }

  const server = createServer((client) => {
    connections += 1
    clients.add(track(client).on('close', () => clients.delete(client)))
    if (state === 'refusing') return void reset(client)
    if (state === 'black hole') return void client.resume()
    const upstream = track(connect(Number(port || defaultPort), hostname))
    upstream.on('connect', () => ports.add(Number(upstream.localPort)))
    let isAnswered = true
    client.on('data', () => {
      if (isAnswered) turns += 1
      isAnswered = false
    })
    upstream.on('data', () => {
      isAnswered = true
    })
    pass(client, upstream, false)
    pass(upstream, client, true)
  })
  const url = new URL(target)
  url.hostname = '127.0.0.1'
  url.port = String(await listenOn(server))
  return {
    url: url.href,
    ports,
    get connections() {
      return connections
    },
    cut,
    takeTurns: () => {
      const taken = turns
      turns = 0
      return taken
    },
    forget: () => {
      for (const client of clients) forgotten.add(client)
      return Promise.all([...clients].map((client) => once(client, 'close')))
    },
    cutAfter: (pieces) => {
      toGo = pieces
    },
    refuse: () => {
      state = 'refusing'
      cut()
    },
    blackHole: () => {
      state = 'black hole'
    },
    delay: (milliseconds) => {
      latency = milliseconds
    },
    heal: () => {
      if (state === 'black hole') cut()
      state = 'open'
      latency = 0
      toGo = undefined
    },
    close: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
