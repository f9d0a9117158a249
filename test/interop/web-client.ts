import type { RequestListener } from 'node:http'
import type { ClientSeed } from '../../lib/index.ts'
import { openServer } from '../support/client-server.ts'
import { type HostSettings, secret } from '../support/host.ts'
import { type Answer, formOf, locationOf, RawBrowser } from '../support/raw-browser.ts'
import { authorize, type Provider, startProvider } from '../support/stock-client.ts'

/** What a stock client is told about itself and its provider. */
export interface WebClientPlace {
  readonly issuer: string
  readonly origin: string
  readonly redirectUri: string
}

interface WebClientSettings {
  /** Path of the redirect URI. */
  readonly callback: string
  /** How it is registered where it differs from a confidential client that may have every standard scope. */
  readonly registration?: Partial<ClientSeed>
  readonly options?: HostSettings['options']
  readonly app: (place: WebClientPlace) => RequestListener
}

/** Where a login ended, and the two tabs of the person's browser to go on with. */
export interface Visit {
  /** The authorization request that the client made. */
  readonly request: URL
  /** How the client was called back. */
  readonly by: 'redirect' | 'form_post'
  /** The client's page after the callback. */
  readonly page: Answer
  readonly atClient: RawBrowser
  readonly atProvider: RawBrowser
}

/** A web app on a port of its own with a stock client in it, and a provider that knows it as `app`. */
export interface WebClient {
  readonly origin: string
  readonly provider: Provider
  /**
   * Comes as Ada for the first time, signs in through the client and answers the consent page.
   *
   * @param begin the client's path that leads to the provider, or the steps there
   */
  signIn(
    begin: string | ((atClient: RawBrowser) => Promise<Answer>),
    decision?: 'allow' | 'deny',
  ): Promise<Visit>
  close(): Promise<void>
}

/** Follows the redirect, or sends the form that a browser with scripts would send by itself (form_post). */
const callBack = async (atClient: RawBrowser, answer: Answer): Promise<Answer> => {
  if (answer.location !== undefined) return atClient.open(answer.location.href)
  const { action, fields } = formOf(answer.html, 'id="form-post"')
  return atClient.follow(await atClient.post(action, fields))
}

/**
 * Starts both on free ports of localhost.
 *
 * @example
 * const client = await startWebClient({ callback: '/callback', app: ({ issuer }) => express().use(…) })
 * const { page } = await client.signIn('/login')
 */
export const startWebClient = async (settings: WebClientSettings): Promise<WebClient> => {
  const server = await openServer()
  const { origin } = server
  const redirectUri = origin + settings.callback
  const isPublic = settings.registration?.token_endpoint_auth_method === 'none'
  const registration: ClientSeed = {
    client_id: 'app',
    client_name: 'App',
    redirect_uris: [redirectUri],
    ...(isPublic ? {} : { client_secret: secret }),
    post_logout_redirect_uris: [origin],
    ...settings.registration,
  }
  const provider = await startProvider({ clients: [registration], options: settings.options }).catch(
    async (error: unknown) => {
      await server.close()
      throw error
    },
  )
  server.serve(settings.app({ issuer: provider.issuer, origin, redirectUri }))
  return {
    origin,
    provider,
    signIn: async (begin, decision = 'allow') => {
      const atClient = new RawBrowser(origin, origin)
      const atProvider = provider.browser()
      const request = locationOf(await (typeof begin === 'string' ? atClient.open(begin) : begin(atClient)))
      const answer = await authorize(atProvider, request, decision)
      const by = answer.location === undefined ? 'form_post' : 'redirect'
      return { request, by, page: await callBack(atClient, answer), atClient, atProvider }
    },
    close: async () => {
      await server.close()
      await provider.close()
    },
  }
}
