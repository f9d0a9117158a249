import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'

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
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, 'localhost', resolve)
  })
  return {
    origin: `http://localhost:${(server.address() as AddressInfo).port}`,
    serve: (next) => {
      listener = next
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        // Clients keep connections alive, which would keep the server.
        server.closeAllConnections()
      }),
  }
}

/** An app that listens from now on. */
export const listen = async (app: RequestListener): Promise<TestServer> => {
  const server = await openServer()
  server.serve(app)
  return server
}
