import { knownScopes, unknownScope } from '../../options/scopes.ts'
import { namedOnly } from '../../protocol/choices.ts'
import { allowedScopes, type Client } from '../../protocol/clients/client.ts'
import { responseTypes } from '../../protocol/clients/client-metadata.ts'
import { aboutClient, asAuthorizationError, OAuthError } from '../../protocol/errors.ts'
import { readable } from '../../protocol/explanation.ts'
import { Parameters } from '../../protocol/parameters.ts'
import { refusal } from '../../protocol/refusal.ts'
import { parseAuthorizationDetails } from '../../protocol/requests/authorization-details.ts'
import {
  type AuthorizationRequest,
  parseAuthorizationRequest,
  parseAuthorizationTarget,
  parseCodeBinding,
  parseDirectRequest,
} from '../../protocol/requests/authorization-request.ts'
import { maxValuesOf, parseChoiceDetails } from '../../protocol/requests/choice-details.ts'
import { claimsRequest, parseClaims } from '../../protocol/requests/claims-request.ts'
import { requestedLevels } from '../../protocol/requests/next-step.ts'
import type { CodeChallengeMethod } from '../../protocol/requests/pkce.ts'
import type { RequestInfo } from '../../protocol/requests/request-info.ts'
import { frontChannelResponseTypes } from '../../protocol/requests/response-type.ts'
import { parseScope } from '../../protocol/scope.ts'
import { findForAuthorize } from '../../storage/repositories/index.ts'
import type { AuthorizationServer } from '../authorization-server.ts'
import { isServed, refreshClient } from '../client-authentication/served-client.ts'
import { withCurrentScope } from '../clients/followed-scope.ts'
import { metadataFields } from '../extension-point.ts'
import { acceptedDetails } from '../tokens/accepted-details.ts'
import { type IdTokenHint, readIdTokenHint } from '../tokens/id-token.ts'
import type { ClientRequest, IncomingRequest } from './request-kind.ts'
import { type ReadingOptions, withRequestObject } from './request-object.ts'

/** Every response type that is on; discovery publishes this list. */
export const supportedResponseTypes = ({
  options,
}: Pick<AuthorizationServer, 'options'>): readonly string[] => [
  ...responseTypes,
  ...(options.protocol.implicit ? frontChannelResponseTypes : []),
]

/**
 * The ID token of a hint. One that is not valid is ignored, because the user may answer all the same.
 *
 * @throws OAuthError `login_required` if the user is not asked
 */
const usableHint = async (
  server: AuthorizationServer,
  parameters: Parameters,
  prompt: AuthorizationRequest['prompt'],
): Promise<IdTokenHint | undefined> => {
  try {
    return await readIdTokenHint(server, parameters)
  } catch (error) {
    if (!(error instanceof OAuthError) || error.status >= 500) throw error
    if (prompt.includes('none')) throw refusal('login_hint_invalid', { cause: error })
    return undefined
  }
}

/** Parameters that need the server's keys or options: single claims, the subject of a hint, the organization. */
const serverSideParameters = async (
  server: AuthorizationServer,
  parameters: Parameters,
  client: Client,
  { scopes, prompt }: AuthorizationRequest,
): Promise<Partial<AuthorizationRequest>> => {
  const claims = parameters.optional('claims')
  const requested = claims === undefined ? undefined : parseClaims(claims)
  const supported = server.options.acrValues
  const byDefault = requested?.acr ? undefined : client.metadata.default_acr_values?.join(' ')
  const levels = requestedLevels(parameters.first('acr_values') ?? byDefault, requested?.acr, supported)
  const read = await usableHint(server, parameters, prompt)
  // With the ID token of another client, this one could learn that both have the same user.
  const hinted = read?.clientId === client.clientId ? read : undefined
  const hintedSubject = requested?.subject ?? hinted?.subject
  const organization = server.options.organizations && parameters.optional('organization')
  if (hinted && hinted.subject !== hintedSubject) {
    throw refusal('login_hints_differ')
  }
  const binding = server.options.protocol.dpop && parseCodeBinding(parameters.optional('dpop_jkt'))
  const ofScopes = { scopes, allowed: allowedScopes(client) }
  return {
    ...(requested && { claims: claimsRequest(requested, ofScopes, server.scopeClaims) }),
    ...(hintedSubject !== undefined && { hintedSubject }),
    ...(organization !== undefined && { organization }),
    ...levels,
    ...(binding && { binding }),
    ...(await requestedDetails(server, parameters, client, scopes)),
  }
}

/** Whether a request has a request object, or must have one; without `protocol.requestObjects` none is read (RFC 9101 §5, §10.5). */
const usesRequestObject = (
  { options }: AuthorizationServer,
  sent: Parameters,
  client: Client | undefined,
): boolean =>
  client?.metadata.require_signed_request_object === true ||
  (options.protocol.requestObjects && (sent.has('request') || sent.has('request_uri')))

/** `plain` is for clients that the host registered, without a security profile (RFC 7636 §4.2). */
const challengeMethods = (
  { options: { codeChallengeMethods } }: AuthorizationServer,
  { metadata }: Client,
): readonly CodeChallengeMethod[] =>
  metadata.self_described === undefined && metadata.security_profile === undefined
    ? codeChallengeMethods
    : ['S256']

/** Whether the request must be pushed: this server publishes it for every client, or the client registered it (RFC 9126 §5, §6). */
const requiresPushing = ({ added }: AuthorizationServer, { metadata }: Client): boolean =>
  [metadata, ...added(metadataFields)].some((each) => each.require_pushed_authorization_requests === true)

/**
 * Tells a developer which requested scopes the client does not get: the request goes on without them (RFC 6749 §3.3), and the
 * API refuses the token later.
 */
const warnOfLostScopes = (
  { options, warnOnce }: AuthorizationServer,
  parameters: Parameters,
  client: Client,
  scopes: readonly string[],
): void => {
  const lost = parseScope(parameters.optional('scope')).find(
    (scope) => scope !== 'offline_access' && !scopes.includes(scope),
  )
  if (lost === undefined) return
  const unregistered = allowedScopes(client).includes(lost)
    ? `${lost} does not belong to the resources of the request`
    : `${lost} is not in the scope that the client is registered with`
  const why = unknownScope([lost], knownScopes(options)) ?? unregistered
  warnOnce(readable(`client ${client.clientId} asked for ${lost} and does not get it: ${why}`))
}

/** The request of a client that has been looked up. */
const validRequest = async (
  server: AuthorizationServer,
  sent: Parameters,
  named: Client | undefined,
  options: ReadingOptions,
): Promise<ClientRequest> => {
  const resources = server.resources
  const parameters = usesRequestObject(server, sent, named)
    ? await withRequestObject(server, sent, named, options)
    : sent
  const verified = parseAuthorizationTarget(parameters, named, resources)
  const { client, target } = verified
  try {
    if (!options.isPushed && requiresPushing(server, client)) {
      throw refusal('request_not_pushed')
    }
    const methods = challengeMethods(server, client)
    const types = supportedResponseTypes(server)
    const request = parseAuthorizationRequest(parameters, verified, methods, types, resources)
    if (!server.options.production) warnOfLostScopes(server, parameters, client, request.scopes)
    const more = await serverSideParameters(server, parameters, client, request)
    return { client, request: { ...request, ...more } }
  } catch (error) {
    throw asAuthorizationError(target, aboutClient(error, client.clientId))
  }
}

/**
 * Parses and validates an authorization request (RFC 6749 §4.1.1, OIDC Core §3.1.2.1), with one statement. A client that
 * describes itself elsewhere is read there first, and a request object after the client is known.
 *
 * @param sent the parameters of the query
 * @param from.sessionHash of what the session of the browser holds, if it has one
 * @throws OAuthError when client or redirect URI is wrong, to be shown to the user
 * @throws AuthorizationResponseError for everything else, to be sent to the client
 */
export const readIncomingRequest = async (
  server: AuthorizationServer,
  sent: Parameters,
  { sessionHash, info }: { readonly sessionHash: string | undefined; readonly info: RequestInfo },
): Promise<IncomingRequest> => {
  const clientId = sent.required('client_id')
  await refreshClient(server, clientId, info)
  const found = await findForAuthorize(server.database, { clientId, sessionHash, now: server.now() })
  const served = found && isServed(server, found.client) ? found.client : undefined
  const current = served && (await withCurrentScope(server, served))
  const from = { isPushed: false, address: info.address }
  return { ...(await validRequest(server, sent, current, from)), knownLogin: found?.knownLogin }
}

/**
 * Parses and validates a request that its client pushes (RFC 9126 §2.1), by the same rules.
 *
 * @param sent the parameters of the form
 * @param authenticated the client that sent it
 * @param info.address the IP address of the client
 * @throws OAuthError also where a browser would be sent back: there is none
 */
export const readPushedRequest = async (
  server: AuthorizationServer,
  sent: Parameters,
  authenticated: Client,
  { address }: RequestInfo,
): Promise<ClientRequest> => {
  // With Basic or an assertion, the form need not repeat it.
  const named = Parameters.from([
    ...sent.pairs(),
    ...(sent.has('client_id') ? [] : [['client_id', authenticated.clientId] as const]),
  ])
  return validRequest(server, named, await withCurrentScope(server, authenticated), {
    isPushed: true,
    address,
  })
}

/**
 * Parses a request that its client makes without a browser, and whose answer it gets elsewhere.
 *
 * @param client authenticated
 * @throws OAuthError
 */
export const readDirectRequest = async (
  server: AuthorizationServer,
  parameters: Parameters,
  client: Client,
): Promise<AuthorizationRequest> => {
  const current = await withCurrentScope(server, client)
  const request = parseDirectRequest(parameters, current, server.resources)
  if (!server.options.production) warnOfLostScopes(server, parameters, current, request.scopes)
  return { ...request, ...(await serverSideParameters(server, parameters, current, request)) }
}

/**
 * The parameter `authorization_details` of an authorization request (RFC 9396 §3), as the host's types accept it. Without
 * types it is ignored.
 *
 * @throws OAuthError `invalid_authorization_details`
 */
const requestedDetails = async (
  server: AuthorizationServer,
  parameters: Parameters,
  client: Client,
  scopes: readonly string[],
): Promise<Pick<AuthorizationRequest, 'authorizationDetails' | 'alwaysAsks' | 'suggested'>> => {
  const { choices: kinds, protocol } = server.options
  const types = protocol.authorizationDetails
  const isOn = Object.keys(types).length > 0 || kinds.length > 0
  const json = isOn ? parameters.optional('authorization_details') : undefined
  if (json === undefined) return {}
  const requested = parseAuthorizationDetails(json, maxValuesOf(kinds))
  const { choices, others } = parseChoiceDetails(kinds, requested, scopes)
  const details = await acceptedDetails(server, client, others)
  const alwaysAsks = details.some(({ type }) => types[type]?.remember !== true)
  const suggested = namedOnly(choices)
  return {
    ...(details.length > 0 && { authorizationDetails: details }),
    ...(alwaysAsks && { alwaysAsks }),
    ...(Object.keys(suggested).length > 0 && { suggested }),
  }
}
