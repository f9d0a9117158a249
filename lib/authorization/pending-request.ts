import type { Request, Response } from 'express'
import type { AuthorizationServer } from '../authorization-server.ts'
import { askForLanguages } from '../http/language.ts'
import { createSecret, hashSecret, isSecretOf } from '../keys/secrets.ts'
import type { AuthorizationRequest } from '../protocol/authorization-request.ts'
import { type Client, isPublic } from '../protocol/client.ts'
import type { Parameters } from '../protocol/parameters.ts'
import { isRegisteredRedirectUri } from '../protocol/redirect-uri.ts'
import {
  createPendingRequest,
  findClient,
  findPendingRequest,
  type PendingRequest,
} from '../repositories/index.ts'
import { type Browser, bindBrowser, boundBrowser } from '../sessions/browser-binding.ts'
import { ExpiredRequestError } from './expired-request.ts'

/** The parameter by which our own pages name the request they are about. */
export const requestParameter = 'authorization_request'

/** Seconds that a request waits for login and consent. */
const waitingTime = 600

/** A waiting request in the hands of the browser that started it, with its client as it is now. */
export interface OpenPendingRequest extends PendingRequest {
  /** The secret id, as the pages carry it. */
  readonly secret: string
  readonly client: Client
  readonly browser: Browser
}

/**
 * Keeps a validated request until login and consent are done.
 *
 * @param sid the login that it found
 * @returns the secret id that the pages carry
 */
export const createPending = async (
  server: AuthorizationServer,
  req: Request,
  res: Response,
  request: AuthorizationRequest,
  sid: string | undefined,
): Promise<string> => {
  const secret = createSecret('authorizationRequest')
  const { hash: browserHash } = bindBrowser(server, req, res)
  const now = server.now()
  const waiting = { id: hashSecret(secret), browserHash, sid, request, now, expiresAt: now + waitingTime }
  await createPendingRequest(server.database, waiting)
  return secret
}

/** Whether the client may still get an answer at the place that was verified when the request came. */
const isStillRegistered = (client: Client | undefined, redirectUri: string): client is Client =>
  client !== undefined &&
  client.disabledAt === null &&
  isRegisteredRedirectUri(redirectUri, client.metadata.redirect_uris, { isPublic: isPublic(client) })

/**
 * The waiting request that a page or form names, for the browser that started it and nobody else.
 *
 * @throws ExpiredRequestError alike for unknown, expired, used, another browser's, and a client that is gone
 */
export const openPending = async (
  server: AuthorizationServer,
  req: Request,
  parameters: Parameters,
): Promise<OpenPendingRequest> => {
  const secret = parameters.optional(requestParameter) ?? ''
  const browser = boundBrowser(server, req)
  const waiting = isSecretOf('authorizationRequest', secret)
    ? await findPendingRequest(server.database, { id: hashSecret(secret) })
    : undefined
  const now = server.now()
  if (
    !waiting ||
    waiting.browserHash !== browser?.hash ||
    waiting.consumedAt !== null ||
    waiting.expiresAt <= now
  ) {
    throw new ExpiredRequestError()
  }
  const client = await findClient(server.database, { clientId: waiting.request.clientId, now })
  if (!isStillRegistered(client, waiting.request.redirectUri)) throw new ExpiredRequestError()
  askForLanguages(req, waiting.request.uiLocales)
  return { ...waiting, secret, client, browser }
}
