import { createServer, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'

/** A server that already listens and answers 503 until its app is set. */
export interface Listening {
  url: string
  serve(listener: RequestListener): void
  /** Stops accepting connections and waits up to five seconds for running requests. */
  close(): Promise<void>
}

/** Whether a server listens on the port, on IPv4 or IPv6. */
const isTaken = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ port, host: 'localhost', autoSelectFamily: true })
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })

const bind = (server: Server, port: number): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const refused = (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve(false) : reject(error)
    server.once('error', refused)
    server.listen({ port, host: 'localhost' }, () => {
      server.off('error', refused)
      resolve(true)
    })
  })

const notReady: RequestListener = (_req, res) => {
  res.writeHead(503, { 'Retry-After': '1' }).end('Starting …\n')
}

/** Listens on localhost, on the first free port from `port`; 0 lets the system choose. Throws after 100 attempts. */
export const listen = async (port: number): Promise<Listening> => {
  let listener = notReady
  const server = createServer((req, res) => listener(req, res))
  const last = port === 0 ? 0 : Math.min(port + 100, 65_535)
  for (let candidate = port; candidate <= last; candidate += 1) {
    if (candidate !== 0 && (await isTaken(candidate))) continue
    if (!(await bind(server, candidate))) continue
    return {
      url: `http://localhost:${(server.address() as AddressInfo).port}`,
      serve: (next) => {
        listener = next
      },
      close: () =>
        new Promise((resolve) => {
          server.close(() => resolve())
          setTimeout(() => server.closeAllConnections(), 5000).unref()
        }),
    }
  }
  throw new Error(`no free port from ${port} to ${last}`)
}
