import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { refuse } from '../../options/check.ts'
import { isLoopbackHost } from '../../protocol/clients/redirect-uri.ts'

/** An app that can be attacked. */
export interface Listening {
  readonly base: URL
  close(): Promise<void>
}

/** Refuses addresses other than loopback, so that a wrong variable cannot attack a real server. */
const loopback = (address: string | URL): Listening => {
  if (!URL.canParse(String(address))) refuse('the app to attack must be an Express app or the URL of one')
  const base = new URL(address)
  if (!/^https?:$/.test(base.protocol) || !isLoopbackHost(base.hostname)) {
    refuse(`attack() attacks localhost, 127.0.0.1 or [::1], never ${base.host}`)
  }
  return { base, close: async () => {} }
}

/**
 * Makes the app listen on a free port of 127.0.0.1, or uses the address of a running app.
 *
 * @throws OptionsError for an address that is not on loopback
 */
export const listening = async (app: RequestListener | string | URL): Promise<Listening> => {
  if (typeof app !== 'function') return loopback(app)
  const server = createServer(app)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    base: new URL(`http://127.0.0.1:${port}`),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
