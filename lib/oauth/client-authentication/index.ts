import type { Options } from '../../options/options.ts'
import type { Client } from '../../protocol/clients/client.ts'
import { OAuthError } from '../../protocol/errors.ts'
import type { Explanation } from '../../protocol/explanation.ts'
import type { TokenRequest } from '../../protocol/tokens/token-request.ts'
import { type ClientLookup, findClient } from '../../storage/repositories/index.ts'
import type { AuthorizationServer, EndpointDescription } from '../authorization-server.ts'
import type { ClientAuthMethod, ClientCredentials } from './client-auth-method.ts'
import { clientSecretBasic, clientSecretPost, ExpiredSecretError, none } from './client-secret.ts'
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
  description = 'client authentication failed',
  about: { readonly clientId?: string | undefined; readonly explanation?: Explanation } = {},
): OAuthError =>
  new OAuthError('invalid_client', description, {
    ...about,
    headers:
      authorization === undefined ? {} : { 'WWW-Authenticate': 'Basic realm="token", charset="UTF-8"' },
  })

/** A client must use its registered method; a confidential client that registered none may use Basic or the body. */
const mayUse = ({ metadata }: Client, method: ClientAuthMethod): boolean => {
  const { token_endpoint_auth_method: registered, key_is_optional: isOptional } = metadata
  if (isOptional && method === none) return true
  if (registered !== undefined) return registered === method.name
  return method === clientSecretBasic || method === clientSecretPost
}

/** A method with the credentials that a request has for it. */
interface Presented {
  readonly method: ClientAuthMethod
  readonly credentials: ClientCredentials
}

/**
 * The credentials of the request. If it only names the client, they are those of `none` or of the connection, as the client
 * is registered.
 *
 * @throws OAuthError `invalid_request` unless the request uses exactly one method
 */
const presentedBy = (request: TokenRequest, options: Options): readonly [Presented, ...Presented[]] => {
  const [method, second] = requestMethods.filter((candidate) => candidate.isUsed(request))
  if (method === undefined || second !== undefined) {
    throw new OAuthError('invalid_request', 'the client must authenticate with exactly one method')
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

/**
 * The client, if the request has its credentials. It must be enabled and registered for the method.
 *
 * @param called the endpoint
 */
const authenticated = async (
  server: AuthorizationServer,
  client: Client,
  presented: readonly Presented[],
  called: EndpointDescription,
): Promise<Client | undefined> => {
  const used = presented.find(({ method }) => mayUse(client, method))
  if (client.disabledAt !== null || used === undefined) return undefined
  return (await used.credentials.verify(client, server, called)) ? by(client, used.method) : undefined
}

/** Why a client is not authenticated. It names neither the presented identifier nor the secret. */
const explanationFor = (client: Client | undefined, methods: readonly ClientAuthMethod[]): Explanation => {
  if (client === undefined) {
    return { expected: 'the client_id of a registered client', received: 'one that is not registered' }
  }
  if (client.disabledAt !== null) return { expected: 'a client that is enabled', received: 'a disabled one' }
  const used = methods.map(({ name }) => name).join(' or ')
  const registered = client.metadata.token_endpoint_auth_method ?? 'client_secret_basic or client_secret_post'
  return methods.some((method) => mayUse(client, method))
    ? { expected: `the credentials of the client, by ${used}`, received: 'others, which do not match' }
    : { expected: `the registered method ${registered}`, received: used }
}

/** Reads a client, and what else the request is about. */
type FindClient<Found> = (lookup: ClientLookup) => Promise<Found | undefined>

/** The client as it is now; undefined also if it described itself elsewhere and is gone there. */
const currentClient = async <Found extends { readonly client: Client }>(
  server: AuthorizationServer,
  clientId: string,
  find: FindClient<Found>,
  from: { readonly address?: string },
): Promise<Found | undefined> => {
  try {
    await refreshClient(server, clientId, from)
  } catch (error) {
    if (error instanceof OAuthError && error.code === 'unauthorized_client') return undefined
    throw error
  }
  const found = await find({ clientId, now: server.now() })
  return found && isServed(server, found.client) ? found : undefined
}

/**
 * Authenticates the client of a request by its registered method.
 *
 * @param endpoint the one that was called; each has its own limit on failures
 * @throws OAuthError `invalid_client`, the same for an unknown client, a disabled one and wrong credentials;
 *   `invalid_request` for several methods at once; status 429 after too many failures of this client at this address
 */
export const authenticateClient = async (
  server: AuthorizationServer,
  request: TokenRequest,
  endpoint: EndpointDescription,
): Promise<Client> => {
  const found = await authenticateClientWith(server, request, endpoint, async (lookup) => {
    const client = await findClient(server.database, lookup)
    return client && { client }
  })
  return found.client
}

/**
 * The same, with a function that reads the client together with what the request is about. It is not called beyond the limit
 * on failures.
 *
 * @param from.address of a request that may introduce a client that describes itself elsewhere
 * @returns what the function has read
 * @throws OAuthError as {@link authenticateClient}
 */
export const authenticateClientWith = async <Found extends { readonly client: Client }>(
  server: AuthorizationServer,
  request: TokenRequest,
  endpoint: EndpointDescription,
  find: FindClient<Found>,
  from: { readonly address?: string } = {},
): Promise<Found> => {
  const presented = presentedBy(request, server.options)
  const { clientId: named } = presented[0].credentials
  const clientId = isClientId(named) ? named : undefined
  const { info } = request
  const attempt = { address: info.address, name: clientId ?? '' }
  const throttle = server.throttle.of(endpoint)
  await throttle.assertOpen(attempt)
  const found = clientId === undefined ? undefined : await currentClient(server, clientId, find, from)
  const client = found?.client
  try {
    const authentic = found && (await authenticated(server, found.client, presented, endpoint))
    if (found && authentic) return { ...found, client: authentic }
    const used = presented.map(({ method }) => method)
    const about = { clientId: client?.clientId, explanation: explanationFor(client, used) }
    throw invalidClient(request, undefined, about)
  } catch (error) {
    if (!(error instanceof OAuthError && error.code === 'invalid_client')) throw error
    const isExpired = error instanceof ExpiredSecretError
    // Never the presented identifier: a client may have sent its secret or a token there by mistake.
    server.events.announce('client.refused', info, {
      clientId: client?.clientId,
      endpoint: endpoint.path.slice(1),
      ...(isExpired && { reason: 'secret_expired' }),
    })
    const limited = await throttle.failed(attempt)
    throw limited ?? (isExpired ? expiredSecret(request, error.message, client) : error)
  }
}

const expiredSecret = (request: TokenRequest, description: string, client: Client | undefined): OAuthError =>
  invalidClient(request, description, {
    clientId: client?.clientId,
    explanation: { expected: 'a client_secret that is not expired', received: 'an expired one' },
  })

/** Whether this can be a client_id; anything else is not looked up. */
const isClientId = (clientId: string | undefined): clientId is string =>
  clientId !== undefined && clientId.length <= 255 && /^[\x20-\x7e]+$/.test(clientId)
