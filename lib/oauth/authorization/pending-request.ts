import { createSecret, hashSecret, isSecretOf } from '../../keys/secrets.ts'
import { type Client, isPublic, isStranger } from '../../protocol/clients/client.ts'
import { isRegisteredRedirectUri } from '../../protocol/clients/redirect-uri.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import {
  type AuthorizationRequest,
  stillAuthorizedRequest,
} from '../../protocol/requests/authorization-request.ts'
import {
  EndedRequestError,
  type EndedState,
  type RequestName,
} from '../../protocol/requests/ended-request.ts'
import { StoppedClientError } from '../../protocol/requests/stopped-client.ts'
import {
  createPendingRequest,
  findClient,
  findPendingRequest,
  type PendingRequestLookup,
  removeOldestPendingRequests,
} from '../../storage/repositories/index.ts'
import type { Outcome, PageContext } from '../../web/http/context.ts'
import { languageOf } from '../../web/http/language.ts'
import { pagesIn } from '../../web/http/send-page.ts'
import { type BoundBrowser, bindBrowser, boundBrowser } from '../../web/sessions/browser-binding.ts'
import type { AuthorizationServer } from '../authorization-server.ts'
import type { PendingRequest } from './request-kind.ts'
import { renderPageError } from './response.ts'

/** The parameter by which our own pages name the request they are about. */
export const requestParameter = 'authorization_request'

/** Seconds that a request waits for login and consent. */
export const pendingLifetime = 3600

/** Pending requests of one browser, one for each tab. */
const maxPerBrowser = 10
/** Used requests of one browser; a page tells that browser that it has finished them. */
const maxUsed = 20

/**
 * The browser of this request. The oldest of its pending requests make room, so that no page can fill the table. A browser
 * that has none is new, whatever its cookie says: anyone can make up a cookie.
 *
 * @throws OAuthError with status 429 if too many new browsers came from this address
 */
export const readyBrowser = async (context: PageContext): Promise<BoundBrowser> => {
  const { server, info } = context
  const browser = bindBrowser(context)
  const keep = { browserHash: browser.hash, keep: maxPerBrowser - 1, keepUsed: maxUsed }
  const kept = browser.isNew ? 0 : await removeOldestPendingRequests(server.database, keep)
  if (kept === 0) await server.throttle.takeLocalQuota([{ name: 'newBrowser', address: info.address }])
  return browser
}

/**
 * Stores a validated request until login and consent are done.
 *
 * @param kind how it continues: the name of a kind
 * @param sid the login of the browser now
 * @returns the secret id that the pages carry
 */
export const keepPending = async (
  context: PageContext,
  kind: string,
  request: AuthorizationRequest,
  sid: string | undefined,
): Promise<string> => {
  const { server } = context
  const secret = createSecret('authorizationRequest')
  const { hash: browserHash } = await readyBrowser(context)
  const now = server.now()
  const pending = { id: hashSecret(secret), kind, browserHash, sid, request, now }
  await createPendingRequest(server.database, { ...pending, expiresAt: now + pendingLifetime })
  return secret
}

/** Whether the client may still be answered: at the URI that was verified when the request arrived, if it has one. */
const isStillRegistered = (client: Client, redirectUri: string | undefined): boolean =>
  redirectUri === undefined ||
  isRegisteredRedirectUri(redirectUri, client.metadata.redirect_uris, { isPublic: isPublic(client) })

/**
 * The request as it stands now, if it can continue.
 *
 * @param name what names it; by default the parameter of our own pages
 * @throws EndedRequestError if it is expired or used, and if its client is gone
 * @throws StoppedClientError if its client is disabled
 * @throws AuthorizationResponseError if its client is no longer registered for it
 */
export const assertPending = (
  server: AuthorizationServer,
  { pending, client }: Pick<PendingRequestLookup, 'pending' | 'client'>,
  name?: RequestName,
): AuthorizationRequest => {
  if (client.disabledAt !== null) throw new StoppedClientError('disabled', client)
  if (!isStillRegistered(client, pending.request.redirectUri))
    throw new EndedRequestError('unknown', undefined, name)
  if (pending.consumedAt !== null) throw new EndedRequestError('used', client, name)
  if (pending.expiresAt <= server.now()) throw new EndedRequestError('expired', client, name)
  return stillAuthorizedRequest(pending.request, client, server.scopeClaims, server.resources)
}

/** The client that a URL names, for a browser that has no such request. It is public, and no part of the
 * request. Anyone can write such a URL, so the name of a client that describes itself is not shown. */
const namedClient = async ({ server }: PageContext, parameters: Parameters): Promise<Client | undefined> => {
  const clientId = parameters.optional('client_id')
  if (clientId === undefined) return undefined
  const client = await findClient(server.database, { clientId, now: server.now() })
  return client?.disabledAt === null && !isStranger(client) ? client : undefined
}

/**
 * The pending request that a page or form names, for the browser that started it. A request that has ended stays for a
 * day, so that its browser learns how it ended.
 *
 * @throws EndedRequestError if it is unknown, expired, used, or another browser's, and if its client is gone
 * @throws AuthorizationResponseError if its client is no longer registered for it
 */
export const openPending = async (context: PageContext, parameters: Parameters): Promise<PendingRequest> => {
  const { server, session } = context
  const secret = parameters.optional(requestParameter) ?? ''
  const browser = boundBrowser(context)
  const unknown = async (state: EndedState = 'unknown'): Promise<EndedRequestError> =>
    new EndedRequestError(state, await namedClient(context, parameters))
  if (!isSecretOf('authorizationRequest', secret)) throw await unknown()
  if (browser === undefined) throw await unknown('without_cookie')
  const now = server.now()
  const lookup = { id: hashSecret(secret), sessionHash: session.secretHash(), now }
  const found = await findPendingRequest(server.database, lookup)
  if (found?.pending.browserHash !== browser.hash) throw await unknown()
  const { pending, client, knownLogin, since } = found
  const request = assertPending(server, found)
  return { ...pending, request, secret, client, browser, knownLogin, since }
}

/**
 * Answers a request in the languages that its client asked for.
 *
 * @param work makes the answer; an error that it throws is shown in that language, too
 * @param formLanguage the language of the page that a form was on
 */
export const inItsLanguage = async (
  outer: PageContext,
  { uiLocales }: Pick<AuthorizationRequest, 'uiLocales'>,
  work: (context: PageContext) => Promise<Outcome>,
  formLanguage?: string,
): Promise<void> => {
  const language = languageOf(outer.server, outer.req, { requested: uiLocales, shown: formLanguage })
  const context: PageContext = { ...outer, ...pagesIn(outer, language) }
  try {
    context.deliver(context, await work(context))
  } catch (error) {
    if (outer.res.headersSent) throw error
    await renderPageError(context, error)
  }
}
