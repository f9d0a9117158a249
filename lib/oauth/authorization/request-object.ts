import { isOfType, openClientAssertion } from '../../keys/client-assertion.ts'
import { openWithKeys } from '../../outbound/client-jwks.ts'
import { isOwnLimit } from '../../outbound/outbound.ts'
import { reachOf } from '../../outbound/reach.ts'
import type { Client } from '../../protocol/clients/client.ts'
import { asAuthorizationError } from '../../protocol/errors.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import { refusal } from '../../protocol/refusal.ts'
import { parseAuthorizationTarget, parseClient } from '../../protocol/requests/authorization-request.ts'
import {
  assertObjectUsed,
  assertRequestObject,
  mergedParameters,
  parseRequestObject,
  type RequestObjectClaims,
  type RequestObjectSource,
  registeredRequestUri,
  requestObjectSource,
} from '../../protocol/requests/request-object.ts'
import type { AuthorizationServer } from '../authorization-server.ts'

/** RFC 9101 §4: most clients send `JWT` or no `typ`. */
const isRequestObject = (typ: unknown): boolean =>
  typ === undefined || isOfType('oauth-authz-req+jwt', 'jwt')(typ)

const fetchObject = async (
  server: AuthorizationServer,
  client: Client,
  uri: string,
  address: string,
): Promise<string> => {
  const registered = registeredRequestUri(uri, client.metadata.request_uris)
  try {
    return await reachOf(server, client, address).requestObjects.fetch(registered)
  } catch (cause) {
    if (isOwnLimit(cause)) throw cause.cause
    throw refusal('request_uri_unreadable', { cause })
  }
}

const verifiedClaims = async (
  server: AuthorizationServer,
  client: Client,
  jwt: string,
  source: RequestObjectSource,
  address: string,
): Promise<RequestObjectClaims> => {
  const { jwks, jwks_uri: jwksUri } = client.metadata
  const { algorithm, claims } = parseRequestObject(jwt, source, client.metadata)
  if (algorithm === 'none') return claims
  const opened = await openWithKeys(reachOf(server, client, address).jwks, { jwks, jwksUri }, (keys) =>
    openClientAssertion(keys, jwt, [algorithm], isRequestObject),
  )
  if (opened) return opened
  throw refusal('request_object_unverified')
}

const readObject = async (
  server: AuthorizationServer,
  client: Client,
  parameters: Parameters,
  source: RequestObjectSource,
  { isPushed, address }: ReadingOptions,
): Promise<Parameters> => {
  parameters.assertEachOnce()
  const value = parameters.required(source)
  const jwt = source === 'request' ? value : await fetchObject(server, client, value, address)
  const claims = await verifiedClaims(server, client, jwt, source, address)
  const { issuer } = server
  const isStrict = client.metadata.require_signed_request_object === true
  assertRequestObject(claims, parameters, { clientId: client.clientId, issuer, isStrict, now: server.now() })
  return mergedParameters(claims, parameters, { objectOnly: isStrict || isPushed })
}

export interface ReadingOptions {
  /** Whether the client pushes the request. */
  readonly isPushed: boolean
  /** The IP address of the request. */
  readonly address: string
}

/**
 * The parameters of an authorization request, with those of its request object (RFC 9101, OIDC Core §6). Nothing is read
 * before the client is known, and its redirect URI too if that is outside the object.
 *
 * @param client the client that `client_id` names, if any
 * @returns the same parameters if `protocol.requestObjects` is off
 * @throws OAuthError when client or redirect URI is wrong, or the object and there is no redirect URI outside
 * @throws AuthorizationResponseError when the object is wrong, to be sent to the redirect URI outside
 */
export const withRequestObject = async (
  server: AuthorizationServer,
  parameters: Parameters,
  client: Client | undefined,
  options: ReadingOptions,
): Promise<Parameters> => {
  const resources = server.resources
  const requester = parseClient(client, resources)
  const verified = parameters.has('redirect_uri')
    ? parseAuthorizationTarget(parameters, requester, resources)
    : undefined
  try {
    assertObjectUsed(parameters, requester.metadata)
    const source = server.options.protocol.requestObjects ? requestObjectSource(parameters) : undefined
    return source ? await readObject(server, requester, parameters, source, options) : parameters
  } catch (error) {
    throw verified ? asAuthorizationError(verified.target, error) : error
  }
}
