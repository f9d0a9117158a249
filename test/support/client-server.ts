import { createServer, type Server as HttpServer, type RequestListener } from 'node:http'
import type { AddressInfo, Server } from 'node:net'

/** Listens from now on. @returns the port */
export const listenOn = (server: Server, host = '127.0.0.1', port = 0): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once('error', reject).listen(port, host, () => resolve((server.address() as AddressInfo).port))
  })

/** Clients keep connections alive, which would keep the server. */
export const closeServer = (server: Pick<HttpServer, 'close' | 'closeAllConnections'>): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })

/** A server of a test's own on a free port of localhost: a provider, or a client that is a web app. */
export interface TestServer {
  /** Known before there is anything to serve: issuers and redirect URIs are made of it. */
  readonly origin: string
  serve(listener: RequestListener): void
  close(): Promise<void>
}

const nothingYet: RequestListener = (_req, res) => void res.writeHead(503).end()

/**
 * Listens at once and serves later.
 *
 * @example
 * const server = await openServer()
 * server.serve(express().get('/callback', …))
 */
export const openServer = async (): Promise<TestServer> => {
  let listener = nothingYet
  const server = createServer((req, res) => listener(req, res))
  return {
    origin: `http://localhost:${await listenOn(server, 'localhost')}`,
    serve: (next) => {
      listener = next
    },
    close: () => closeServer(server),
  }
}

/** An app that listens from now on. */
export const listen = async (app: RequestListener): Promise<TestServer> => {
  const server = await openServer()
  server.serve(app)
  return server
}
