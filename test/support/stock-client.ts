import { locationOf, type Stop } from './browser-agent.ts'
import { openServer } from './client-server.ts'
import { type HostSettings, people, startHost } from './host.ts'
import { HttpBrowser } from './http-browser.ts'

/** A host with the kit mounted, on a real port, so that a stock client can discover it and talk to it. */
export interface Provider {
  readonly issuer: string
  /** A browser of somebody who comes for the first time. */
  browser(): HttpBrowser
  close(): Promise<void>
}

/** Starts a host with the clients and people of ./host.ts and the kit at this mount. */
export type Start = (settings: { mount: string }) => Promise<Provider>

export const ada = people[0]!

/**
 * Starts the host of ./host.ts on a free port; the issuer follows from port and mount.
 *
 * @example A client that is a web app: its address is known before it is registered, and two browsers do the rest.
 * const app = await openServer()
 * const provider = await startProvider({ clients: [{ …, redirect_uris: [`${app.origin}/callback`] }] })
 * app.serve(express().use(theStockClient({ issuer: provider.issuer, … })))
 * const atClient = new HttpBrowser(app.origin)
 * const back = await answer(provider.browser(), locationOf(await atClient.get('/login')))
 * pageOf(await atClient.get(back.href))
 */
export const startProvider = async (settings: HostSettings = {}): Promise<Provider> => {
  const { mount = '/oauth', options } = settings
  const server = await openServer()
  const issuer = server.origin + (mount === '/' ? '' : mount)
  const host = await startHost({ ...settings, options: { issuer, ...options } }).catch(async (error) => {
    await server.close()
    throw error
  })
  server.serve(host.app)
  return {
    issuer,
    browser: () => new HttpBrowser(server.origin),
    close: async () => {
      await server.close()
      await host.close()
    },
  }
}

const isAt = (stop: Stop, path: string): boolean => 'page' in stop && stop.page.url.includes(path)

/**
 * Opens an authorization URL as Ada, who signs in where she is asked to and answers the consent page.
 *
 * @returns where the client is called back
 */
export const answer = async (
  browser: HttpBrowser,
  authorizationUrl: URL | string,
  decision: 'allow' | 'deny' = 'allow',
): Promise<URL> => {
  let stop = await browser.get(String(authorizationUrl))
  if (isAt(stop, '/login')) stop = await browser.signIn(stop, ada.email, ada.password)
  if (isAt(stop, '/consent')) stop = await browser.decide(stop, decision)
  return locationOf(stop)
}
