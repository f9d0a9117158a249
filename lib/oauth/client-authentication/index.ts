import type { Failing } from '../../limits/throttle.ts'
import type { Options } from '../../options/options.ts'
import type { Client } from '../../protocol/clients/client.ts'
import { OAuthError } from '../../protocol/errors.ts'
import type { Explanation } from '../../protocol/explanation.ts'
import { type PlainReason, type ReasonOf, refusal } from '../../protocol/refusal.ts'
import type { TokenRequest } from '../../protocol/tokens/token-request.ts'
import type { ClientLookup } from '../../storage/repositories/index.ts'
import type { AuthorizationServer, EndpointDescription } from '../authorization-server.ts'
import type { ClientAuthMethod, PresentedCredentials } from './client-auth-method.ts'
import { clientSecretBasic, clientSecretPost, none } from './client-secret.ts'
import { privateKeyJwt } from './private-key-jwt.ts'
import { isServed, refreshClient } from './served-client.ts'
import { selfSignedTlsClientAuth, tlsClientAuth } from './tls-client-auth.ts'

/** Methods whose credentials are in the request, or are not needed. */
const requestMethods: readonly ClientAuthMethod[] = [clientSecretBasic, clientSecretPost, privateKeyJwt, none]

/** Methods whose credentials are those of the connection: the request only names the client, as with `none`. */
const connectionMethods: readonly ClientAuthMethod[] = [tlsClientAuth, selfSignedTlsClientAuth]

/** Every method that the host has turned on; discovery publishes their names. */
export const clientAuthMethodsOf = ({ options }: Pick<AuthorizationServer, 'options'>): ClientAuthMethod[] =>
  [...requestMethods, ...connectionMethods].filter((method) => method.isOn?.(options) ?? true)

/**
 * With a challenge if the client used the Authorization header (RFC 6749 §5.2). For credentials in the body RFC 9110
 * §15.5.2 asks for one, too. There is none, because openid-client and oauth4webapi then report the challenge instead of
 * the error code.
 */
export const invalidClient = (
  { authorization }: TokenRequest,
  reason: Extract<PlainReason, ReasonOf<'invalid_client'>>,
  about: { readonly clientId?: string | undefined; readonly explanation?: Explanation } = {},
): OAuthError => {
  const headers = { 'WWW-Authenticate': 'Basic realm="token", charset="UTF-8"' }
  return refusal(reason, { ...about, ...(authorization !== undefined && { headers }) })
}

/** A client must use its registered method; a confidential client that registered none may use Basic or the body. */
const mayUse = ({ metadata }: Client, method: ClientAuthMethod): boolean => {
  const { token_endpoint_auth_method: registered, key_is_optional: isOptional } = metadata
  if (isOptional && method === none) return true
  if (registered !== undefined) return registered === method.name
  return method === clientSecretBasic || method === clientSecretPost
}

/** A method with the credentials that a request has for it. */
interface PresentedMethod {
  readonly method: ClientAuthMethod
  readonly credentials: PresentedCredentials
}

/**
 * The credentials of the request. If it only names the client, they are those of `none` or of the connection, as the client
 * is registered.
 *
 * @throws OAuthError `invalid_request` unless the request uses exactly one method
 */
const methodsOf = (
  request: TokenRequest,
  options: Options,
): readonly [PresentedMethod, ...PresentedMethod[]] => {
  const [method, second] = requestMethods.filter((candidate) => candidate.isUsed(request))
  if (method === undefined || second !== undefined) {
    throw refusal('authentication_repeated')
  }
  const presented = { method, credentials: method.credentials(request) }
  if (request.certificate === undefined) return [presented]
  const ofConnection = connectionMethods.filter((each) => each.isOn?.(options) && each.isUsed(request))
  return [
    presented,
    ...ofConnection.map((each) => ({ method: each, credentials: each.credentials(request) })),
  ]
}

/** The client as it has authenticated. Without its key, one whose key is optional is a public client. */
const by = (client: Client, { name }: ClientAuthMethod): Client => {
  if (client.metadata.key_is_optional !== true) return client
  const { key_is_optional: _, ...metadata } = client.metadata
  return {
    ...client,
    metadata: { ...metadata, token_endpoint_auth_method: name, refresh_token_rotation: true },
  }
}

/** The error for a client that is not authenticated. It names neither the presented identifier nor the secret. */
const unauthenticated = (
  request: TokenRequest,
  client: Client | undefined,
  methods: readonly ClientAuthMethod[],
): OAuthError => {
  const clientId = client?.clientId
  if (client === undefined) {
    const expected = 'the client_id of a registered client'
    const explanation = { expected, received: 'one that is not registered' }
    return invalidClient(request, 'authentication_client_unknown', { explanation })
  }
  if (client.disabledAt !== null) {
    const explanation = { expected: 'a client that is enabled', received: 'a disabled one' }
    return invalidClient(request, 'authentication_client_disabled', { clientId, explanation })
  }
  const used = methods.map(({ name }) => name).join(' or ')
  if (!methods.some((method) => mayUse(client, method))) {
    const method = client.metadata.token_endpoint_auth_method ?? 'client_secret_basic or client_secret_post'
    const explanation = { expected: `the registered method ${method}`, received: used }
    return invalidClient(request, 'authentication_method_wrong', { clientId, explanation })
  }
  const expected = `the credentials of the client, by ${used}`
  const explanation = { expected, received: 'others, which do not match' }
  return invalidClient(request, 'credentials_wrong', { clientId, explanation })
}

/** The request of a client that has not authenticated yet, at an endpoint that has admitted it. */
export interface AuthenticationAttempt {
  readonly request: TokenRequest
  readonly endpoint: EndpointDescription
  /** The one method that it uses; more only if the client has a certificate, and then its registration decides. */
  readonly methods: readonly PresentedMethod[]
  /** The client that it names; undefined for what is no client_id. */
  readonly clientId: string | undefined
}

const failingOf = ({ request, clientId }: Pick<AuthenticationAttempt, 'request' | 'clientId'>): Failing => ({
  address: request.info.address,
  name: clientId ?? '',
})

/**
 * Admits a request whose client has not authenticated yet. It reads nothing from the database.
 *
 * @param endpoint the one that was called; each has its own limit on failures
 * @throws OAuthError `invalid_request` for several methods at once (RFC 6749 §2.3); status 429 after too many failures of
 *   this client at this address
 * @example
 * const attempt = await admitAttempt(server, request, endpoint)
 * const lookup = await lookupFor(server, attempt)
 * const client = await authenticate(server, attempt, lookup && (await findClient(server.database, lookup)))
 */
export const admitAttempt = async (
  server: AuthorizationServer,
  request: TokenRequest,
  endpoint: EndpointDescription,
): Promise<AuthenticationAttempt> => {
  const methods = methodsOf(request, server.options)
  const { clientId: named } = methods[0].credentials
  const attempt = { request, endpoint, methods, clientId: isClientId(named) ? named : undefined }
  await server.throttle.of(endpoint).assertOpen(failingOf(attempt))
  return attempt
}

/**
 * The key by which the client of an attempt is read. A client that describes itself elsewhere is renewed before.
 *
 * @param from.address of a request that may introduce a client that describes itself elsewhere
 * @returns undefined if there is no such client, or if it is gone where it described itself
 * @throws OAuthError status 429 after too many new clients
 */
export const lookupFor = async (
  server: AuthorizationServer,
  { clientId }: AuthenticationAttempt,
  from: { readonly address?: string } = {},
): Promise<ClientLookup | undefined> => {
  if (clientId === undefined) return undefined
  try {
    await refreshClient(server, clientId, from)
  } catch (error) {
    if (error instanceof OAuthError && error.code === 'unauthorized_client') return undefined
    throw error
  }
  return { clientId, now: server.now() }
}

/**
 * Authenticates the client of an attempt by its registered method. A failure is announced, and counts for the limit.
 *
 * @param found the client as it was read; undefined if there is none
 * @throws OAuthError `invalid_client`, the same for an unknown client, a disabled one and wrong credentials; status 429 if
 *   this failure exceeds the limit
 */
export const authenticate = async (
  server: AuthorizationServer,
  attempt: AuthenticationAttempt,
  found: Client | undefined,
): Promise<Client> => {
  const client = found && isServed(server, found) ? found : undefined
  try {
    return await authenticated(server, attempt, client)
  } catch (error) {
    if (!(error instanceof OAuthError && error.code === 'invalid_client')) throw error
    throw await countedFailure(server, attempt, client, error)
  }
}

/** @throws OAuthError `invalid_client` unless the client is enabled and the request has its credentials */
const authenticated = async (
  server: AuthorizationServer,
  { request, endpoint, methods }: AuthenticationAttempt,
  client: Client | undefined,
): Promise<Client> => {
  const isEnabled = client !== undefined && client.disabledAt === null
  const used = isEnabled ? methods.find(({ method }) => mayUse(client, method)) : undefined
  if (isEnabled && used && (await used.credentials.verify(client, server, endpoint)))
    return by(client, used.method)
  const tried = methods.map(({ method }) => method)
  throw unauthenticated(request, client, tried)
}

/** Announces and counts a failed attempt. @returns the error to send */
const countedFailure = async (
  server: AuthorizationServer,
  attempt: AuthenticationAttempt,
  client: Client | undefined,
  error: OAuthError,
): Promise<OAuthError> => {
  const { request, endpoint } = attempt
  const isExpired = error.reason === 'client_secret_expired'
  // Never the presented identifier: a client may have sent its secret or a token there by mistake.
  server.events.announce('client.refused', request.info, {
    clientId: client?.clientId,
    endpoint: endpoint.path.slice(1),
    reason: isExpired ? 'secret_expired' : undefined,
  })
  const limited = await server.throttle.of(endpoint).failed(failingOf(attempt))
  return limited ?? (isExpired ? expiredSecret(request, client) : error)
}

const expiredSecret = (request: TokenRequest, client: Client | undefined): OAuthError =>
  invalidClient(request, 'client_secret_expired', {
    clientId: client?.clientId,
    explanation: { expected: 'a client_secret that is not expired', received: 'an expired one' },
  })

/** Whether this can be a client_id; anything else is not looked up. */
const isClientId = (clientId: string | undefined): clientId is string =>
  clientId !== undefined && clientId.length <= 255 && /^[\x20-\x7e]+$/.test(clientId)
