import type { JWK } from 'jose'
import type { ClientSeed } from '../../lib/index.ts'
import { openServer } from './client-server.ts'
import { callback, type HostSettings, startHost } from './host.ts'
import { type Answer, locationOf, RawBrowser } from './raw-browser.ts'
import { ada } from './tokens.ts'

/** A host with Latchkey mounted, on a real port, so that a stock client can discover it and talk to it. */
export interface Provider {
  readonly issuer: string
  /** A browser of a new user. */
  browser(): RawBrowser
  close(): Promise<void>
}

/** Starts a host with the clients and people of ./host.ts and Latchkey at this mount. */
export type Start = (settings: { mount: string }) => Promise<Provider>

/**
 * Starts the host of ./host.ts on a free port; the issuer follows from port and mount.
 *
 * @example A client that is a web app: its address is known before it is registered, and two browsers do the rest.
 * const app = await openServer()
 * const provider = await startProvider({ clients: [{ …, redirect_uris: [`${app.origin}/callback`] }] })
 * app.serve(express().use(theStockClient({ issuer: provider.issuer, … })))
 * const atClient = new RawBrowser(app.origin, app.origin)
 * const back = await answer(provider.browser(), locationOf(await atClient.open('/login')))
 * await atClient.open(back.href)
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
    browser: () => new RawBrowser(server.origin, server.origin),
    close: async () => {
      await server.close()
      await host.close()
    },
  }
}

/**
 * Opens an authorization URL as Ada, who signs in where she is asked to and answers the consent page.
 *
 * @returns the answer to the client: a redirect, or a page with a form for it
 */
export const authorize = async (
  browser: RawBrowser,
  authorizationUrl: URL | string,
  decision: 'allow' | 'deny' = 'allow',
): Promise<Answer> => {
  let page = await browser.open(String(authorizationUrl))
  if (page.url.pathname.endsWith('/login')) page = await browser.signIn(page, ada.email, ada.password)
  return page.url.pathname.endsWith('/consent') && page.status === 200 ? browser.decide(page, decision) : page
}

/** As {@link authorize}, where the answer is a redirect to the client. */
export const answer = async (...parameters: Parameters<typeof authorize>): Promise<URL> =>
  locationOf(await authorize(...parameters))

/** A client with a key, which must sign and push all its requests, and gets signed responses only. */
export const messageSigningClient = (publicJwk: JWK): ClientSeed => ({
  client_id: 'signing',
  token_endpoint_auth_method: 'private_key_jwt',
  redirect_uris: [callback],
  scope: 'openid',
  jwks: { keys: [publicJwk] } as ClientSeed['jwks'],
  require_signed_request_object: true,
  require_pushed_authorization_requests: true,
  authorization_signed_response_alg: 'ES256',
  response_modes: ['jwt'],
})
