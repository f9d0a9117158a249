import { createServer, type IncomingMessage } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { connect, type Server, type Socket } from 'node:net'
import tls from 'node:tls'
import { certificate } from './certificate.ts'
import { listenOn, type TestServer } from './client-server.ts'

/** A server and its connections, which would keep it open. */
const openSockets = (server: Server): Set<Socket> => {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket.on('close', () => sockets.delete(socket)).on('error', () => {}))
  })
  return sockets
}

const ended = (server: Server, sockets: Set<Socket>): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve())
    for (const socket of sockets) socket.destroy()
  })

/** A server of the internet, at a name that only a proxy of the tests resolves; until it closes, this process trusts its certificate. */
export const openPublicServer = async (): Promise<TestServer & { readonly port: number }> => {
  let listener: Parameters<TestServer['serve']>[0] = (_req, res) => void res.writeHead(503).end()
  // Node 22.19 and newer have both functions; the types are those of Node 20.
  const [trust, trusted] = ['setDefaultCACertificates', 'getCACertificates'].map((name) =>
    Reflect.get(tls, name),
  )
  const before = trusted()
  trust([...before, certificate.cert])
  const server = createTlsServer(certificate, (req, res) => listener(req, res))
  const sockets = openSockets(server)
  const port = await listenOn(server)
  return {
    origin: 'https://client.test',
    port,
    serve: (next) => {
      listener = next
    },
    close: () => {
      // Other files run in this process too.
      trust(before)
      return ended(server, sockets)
    },
  }
}

/** A proxy on this machine that opens tunnels by CONNECT. */
export interface TestProxy {
  readonly url: string
  /** What it was asked for, as `host:port`, in order. */
  readonly asked: string[]
  /** The headers of these requests. */
  readonly headers: IncomingMessage['headers'][]
  /** Connections that are open. */
  readonly open: ReadonlySet<Socket>
  /** What it does with a request from now on, instead of opening a tunnel. */
  answer(how: ((socket: Socket, asked: string) => unknown) | undefined): void
  close(): Promise<void>
}

/**
 * @param portOf where a tunnel leads, by its name: the proxy resolves all of them to this machine
 */
export const openProxy = async (
  portOf: (asked: string) => number,
  { isTls = false }: { readonly isTls?: boolean } = {},
): Promise<TestProxy> => {
  const asked: string[] = []
  const headers: IncomingMessage['headers'][] = []
  let answer: ((socket: Socket, asked: string) => unknown) | undefined
  const server = isTls ? createTlsServer(certificate) : createServer()
  const open = openSockets(server)
  server.on('connect', (req: IncomingMessage, socket: Socket) => {
    const authority = req.url ?? ''
    asked.push(authority)
    headers.push(req.headers)
    if (answer) return void answer(socket.on('end', () => socket.destroy()).resume(), authority)
    const onward = connect(portOf(authority), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      socket.pipe(onward).pipe(socket)
    })
    onward.on('error', () => {}).on('close', () => socket.destroy())
    socket.on('close', () => onward.destroy())
  })
  const port = await listenOn(server)
  return {
    url: isTls ? `https://localhost:${port}` : `http://127.0.0.1:${port}`,
    asked,
    headers,
    open,
    answer: (how) => {
      answer = how
    },
    close: () => ended(server, open),
  }
}
