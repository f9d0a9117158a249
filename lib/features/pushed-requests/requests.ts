import { createSecret, hashSecret, isSecretOf } from '../../keys/secrets.ts'
import { toDecide } from '../../oauth/authorization/context.ts'
import { assertPending, pendingLifetime, readyBrowser } from '../../oauth/authorization/pending-request.ts'
import type { OpenedRequest } from '../../oauth/authorization/request-kind.ts'
import type { AuthorizationServer } from '../../oauth/authorization-server.ts'
import { type Client, profileLifetime } from '../../protocol/clients/client.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import type { AuthorizationRequest } from '../../protocol/requests/authorization-request.ts'
import { EndedRequestError, type RequestName } from '../../protocol/requests/ended-request.ts'
import { createPendingRequest, findPendingRequest } from '../../storage/repositories/index.ts'
import type { PageContext } from '../../web/http/context.ts'
import { boundBrowser } from '../../web/sessions/browser-binding.ts'
import { activeLogin } from '../../web/sessions/login.ts'
import type { PushedRequestOption } from './option.ts'
import { pushedRequestUri, pushedSecret } from './rules.ts'
import { bindPendingRequest, removeUnopenedRequests } from './table.ts'

/** Pushed requests of one client that no browser has opened. The oldest make room, so that no client fills the table. */
const maxUnopened = 1000

/** Stands for the browser until one opens the request. A browser's secret has a prefix, so no cookie has this hash. */
const unopenedHash = (clientId: string): string => hashSecret(`client ${clientId}`)

/** Seconds that a pushed request waits with a security profile (FAPI 2.0 Security Profile §5.3.2.2). */
const longest = 599

/** Seconds for which a browser can open a request that the client pushes. */
const lifetimeOf = ({ lifetime }: PushedRequestOption, { metadata }: Client): number =>
  profileLifetime(metadata, lifetime, longest)

/** Stores a validated request until a browser opens it. @returns the answer of the endpoint (RFC 9126 §2.2) */
export const keepPushed = async (
  server: AuthorizationServer,
  option: PushedRequestOption,
  client: Client,
  request: AuthorizationRequest,
): Promise<{ readonly request_uri: string; readonly expires_in: number }> => {
  const { database } = server
  const expires_in = lifetimeOf(option, client)
  const secret = createSecret('authorizationRequest')
  const browserHash = unopenedHash(request.clientId)
  const now = server.now()
  await removeUnopenedRequests(database, { browserHash, keep: maxUnopened - 1, now })
  const pending = { id: hashSecret(secret), kind: 'authorize', browserHash, sid: undefined, request, now }
  await createPendingRequest(database, { ...pending, expiresAt: now + expires_in })
  return { request_uri: pushedRequestUri(secret), expires_in }
}

const reference: RequestName = { parameter: 'request_uri', code: 'invalid_request_uri', texts: 'pushed' }

const ended = (reason: 'unknown' | 'expired', client?: Client): EndedRequestError =>
  new EndedRequestError(reason, client, reference)

/**
 * Opens the pushed request that `request_uri` names. It belongs to the first browser that opens it, which may open it again
 * until it is used or `expires_in` is over (RFC 9126 §4).
 *
 * @returns undefined if `request_uri` does not name a pushed request
 * @throws EndedRequestError if it is unknown, expired, used, or another browser's or client's, and if its client is gone
 * @throws AuthorizationResponseError if its client is no longer registered for it
 */
export const openPushed = async (
  context: PageContext,
  option: PushedRequestOption,
  parameters: Parameters,
): Promise<OpenedRequest | undefined> => {
  const secret = pushedSecret(parameters)
  if (secret === undefined) return undefined
  const { server, session } = context
  const { database } = server
  // Sent twice, it is refused.
  parameters.required('request_uri')
  const clientId = parameters.required('client_id')
  if (!isSecretOf('authorizationRequest', secret)) throw ended('unknown')
  const now = server.now()
  const id = hashSecret(secret)
  const found = await findPendingRequest(database, { id, sessionHash: session.secretHash(), now })
  if (found?.client.clientId !== clientId) throw ended('unknown')
  const { pending, client } = found
  if (pending.createdAt + lifetimeOf(option, client) <= now) throw ended('expired', client)
  const unopened = unopenedHash(clientId)
  const bound = boundBrowser(context)
  if (![unopened, bound?.hash].includes(pending.browserHash)) throw ended('unknown')
  const request = assertPending(server, found, reference)
  const opened = { ...found, ...pending, request, secret }
  if (bound?.hash === pending.browserHash)
    return { request: toDecide({ ...opened, browser: bound }), changes: {} }
  const active = await activeLogin(context, found)
  const changes = active ? { active } : {}
  const browser = await readyBrowser(context)
  const binding = { browserHash: browser.hash, sid: active?.login.sid, expiresAt: now + pendingLifetime }
  if (!(await bindPendingRequest(database, { id, from: unopened, ...binding }))) throw ended('unknown')
  return { request: toDecide({ ...opened, ...binding, browser }), changes }
}
