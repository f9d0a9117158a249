import type { Choices } from '../choices.ts'
import { claimNames, type ScopeClaims } from '../claims.ts'
import {
  allowedScopes,
  type Client,
  isIntroduced,
  isPublic,
  isStranger,
  requiresPkce,
} from '../clients/client.ts'
import { responseTypes } from '../clients/client-metadata.ts'
import { isRegisteredRedirectUri } from '../clients/redirect-uri.ts'
import { type AuthorizationTarget, asAuthorizationError, type ResponseDelivery } from '../errors.ts'
import { readable } from '../explanation.ts'
import { parseUiLocales } from '../languages.ts'
import type { Parameters } from '../parameters.ts'
import { refusal } from '../refusal.ts'
import { grantableScopes, parseScope, scopesStillAllowed } from '../scope.ts'
import { isSameBinding, isThumbprint, type KeyBinding } from '../tokens/token-binding.ts'
import { type AuthorizationDetail, assertDetailTypes } from './authorization-details.ts'
import { type ClaimsRequest, narrowedClaims } from './claims-request.ts'
import { type CodeChallenge, type CodeChallengeMethod, parseCodeChallenge } from './pkce.ts'
import {
  defaultScopes,
  formatFor,
  impliedResources,
  type KnownResource,
  parseResources,
  type ResourceScopes,
  scopesByResource,
  scopesWithin,
  tokenResources,
  tokenScopes,
} from './resource.ts'
import {
  assertResponseMode,
  normalResponseType,
  responseSettings,
  returnsPart,
  signingFor,
} from './response-type.ts'
import { StoppedClientError } from './stopped-client.ts'

export const promptValues = ['none', 'login', 'consent', 'select_account'] as const
export type Prompt = (typeof promptValues)[number]

/** A validated authorization request (RFC 6749 §4.1.1, OIDC Core §3.1.2.1), as it is stored while it is pending. */
export interface AuthorizationRequest {
  readonly clientId: string
  /** Absent if the client waits for the answer elsewhere: it polls for it. */
  readonly redirectUri?: string
  readonly state?: string
  /** `code` also for a client that polls: like a code, what it is granted is redeemed at the token endpoint. */
  readonly responseType: string
  /** Absent together with the redirect URI. */
  readonly responseMode?: ResponseDelivery
  readonly scopes: readonly string[]
  readonly codeChallenge?: CodeChallenge
  readonly nonce?: string
  readonly prompt: readonly Prompt[]
  /** Seconds; by default the client's `default_max_age`. */
  readonly maxAge?: number
  /** The login must have one of these authentication levels; only supported ones are listed (RFC 9470 §4). */
  readonly acrValues?: readonly string[]
  /** A login without such a level is accepted after all (OIDC Core §5.5.1.1). */
  readonly acrIsVoluntary?: boolean
  /** The host asked for these levels, and not the client. */
  readonly acrIsRaised?: boolean
  readonly loginHint?: string
  /** Requested languages of the pages, preferred first. */
  readonly uiLocales?: readonly string[]
  /** Claims requested individually (OIDC Core §5.5). */
  readonly claims?: ClaimsRequest
  /** Subject of the `id_token_hint`: only this user may answer (OIDC Core §3.1.2.1). */
  readonly hintedSubject?: string
  /** The requested organization, if the host has organizations; an extension parameter. */
  readonly organization?: string
  /** Each login must confirm the request on the page of its kind, where the user can also change the account. */
  readonly needsConfirmation?: true
  /** The resources that the tokens are for (RFC 8707), each with its scopes among those requested. */
  readonly resources?: ResourceScopes
  /**
   * The key that the client must prove to redeem the code (RFC 9449 §10). Once it is redeemed, a public client must prove the same to
   * use its refresh tokens (RFC 9449 §5, RFC 8705 §4).
   */
  readonly binding?: KeyBinding
  /** The authorization details of the request (RFC 9396). */
  readonly authorizationDetails?: readonly AuthorizationDetail[]
  /** The things that the client suggests, by kind (RFC 9396 §2.2). The user decides. */
  readonly suggested?: Choices
  /** Some of these details need the user's consent each time. */
  readonly alwaysAsks?: true
}

/** Where the response of a request goes; undefined if it has no redirect URI. */
export const responseTarget = (
  { redirectUri, responseMode, state }: AuthorizationRequest,
  client: Client,
): AuthorizationTarget | undefined =>
  redirectUri === undefined || responseMode === undefined
    ? undefined
    : { redirectUri, state, responseMode, ...signingFor(responseMode, client) }

/**
 * The key to which a code will be bound (RFC 9449 §10).
 *
 * @param thumbprint the parameter `dpop_jkt`
 * @throws OAuthError `invalid_request`
 */
export const parseCodeBinding = (thumbprint: string | undefined): KeyBinding | undefined => {
  if (thumbprint === undefined) return undefined
  if (isThumbprint(thumbprint)) return { type: 'dpop', thumbprint }
  throw refusal('parameter_invalid', {
    values: { parameter: 'dpop_jkt', problem: 'must be the SHA-256 thumbprint of a key in base64url' },
  })
}

/**
 * A pushed request whose code is bound to the key that the client has proved (RFC 9449 §10.1).
 *
 * @throws OAuthError `invalid_request` if `dpop_jkt` names another key
 */
export const withProvedKey = (
  request: AuthorizationRequest,
  key: KeyBinding | undefined,
): AuthorizationRequest => {
  if (key === undefined) return request
  if (request.binding !== undefined && !isSameBinding(request.binding, key)) {
    throw refusal('key_thumbprint_differs')
  }
  return { ...request, binding: key }
}

/** A client together with the target that it registered. */
export interface VerifiedTarget {
  readonly client: Client
  readonly target: AuthorizationTarget
}

/**
 * The client of a request, if it may make one.
 *
 * @param client the client that `client_id` names, if any
 * @param known the resources of the host; none can be a client
 * @param presented the `client_id` of the request, for the log
 * @throws StoppedClientError
 */
export const parseClient = (
  client: Client | undefined,
  known: readonly KnownResource[],
  presented: string | undefined = client?.clientId,
): Client => {
  // The audience of its ID tokens would be that of access tokens.
  const isResource = known.some(({ identifier }) => identifier === client?.clientId)
  if (client === undefined || client.disabledAt !== null || isResource) {
    throw client?.disabledAt
      ? new StoppedClientError('disabled', client)
      : new StoppedClientError('unknown', client, presented)
  }
  return client
}

/**
 * Verifies the client and its redirect URI. Until then an error cannot be returned to the client and ends on a page.
 *
 * @param named the client that `client_id` names, if any
 * @param known the resources of the host; none can be a client
 * @throws OAuthError `invalid_request` or StoppedClientError
 */
export const parseAuthorizationTarget = (
  parameters: Parameters,
  named: Client | undefined,
  known: readonly KnownResource[] = [],
): VerifiedTarget => {
  const client = parseClient(named, known, parameters.first('client_id'))
  const redirectUri = parameters.required('redirect_uri')
  if (!isRegisteredRedirectUri(redirectUri, client.metadata.redirect_uris, { isPublic: isPublic(client) })) {
    const registered = client.metadata.redirect_uris.map(readable).join(' or ')
    const explanation = { expected: registered || 'none', received: readable(redirectUri) }
    const about = { clientId: client.clientId, explanation }
    throw refusal('redirect_uri_unregistered', about)
  }
  const isSilent = parameters.first('prompt')?.split(' ').includes('none') ?? false
  const byLink = isStranger(client) && !isSilent
  const target = { redirectUri, ...responseSettings(parameters, client), ...(byLink && { byLink }) }
  return { client, target }
}

/** OIDC Core §3.1.2.1: unsupported languages are not an error, so malformed ones are ignored too. */
const uiLocalesOf = (parameters: Parameters): string[] | undefined => {
  const tags = parseUiLocales(parameters.first('ui_locales'))
  return tags.length > 0 ? tags : undefined
}

/** The requested response type, if this server supports it. */
const supportedType = (parameters: Parameters, types: readonly string[]): string | undefined => {
  const requested = normalResponseType(parameters.first('response_type') ?? '')
  return types.find((type) => normalResponseType(type) === requested)
}

/**
 * Parses the request itself; an error is returned to the verified target.
 *
 * @param methods PKCE methods that this server accepts
 * @param types response types that this server accepts
 * @param known the resources of the host; if there are none, the parameter `resource` is ignored
 * @throws AuthorizationResponseError
 */
export const parseAuthorizationRequest = (
  parameters: Parameters,
  { client, target }: VerifiedTarget,
  methods: readonly CodeChallengeMethod[],
  types: readonly string[] = responseTypes,
  known: readonly KnownResource[] = [],
): AuthorizationRequest => {
  try {
    parameters.assertEachOnce()
    parameters.optional('state')
    assertNoRequestObject(parameters)
    const responseType = responseTypeOf(parameters, client, types)
    const codeChallenge = parseCodeChallenge(
      parameters.optional('code_challenge'),
      parameters.optional('code_challenge_method'),
      methods,
    )
    if (codeChallenge === undefined && requiresPkce(client) && returnsPart(responseType, 'code')) {
      throw refusal('code_challenge_missing')
    }
    const allowed = scopesFor(responseType, allowedScopes(client))
    const asked = askedFor(parameters, client, allowed, known)
    if (returnsPart(responseType, 'token')) formatFor(Object.keys(asked.resources ?? {}), known)
    const nonce = parameters.optional('nonce')
    if (returnsPart(responseType, 'id_token')) assertIdTokenRequest(asked.scopes, nonce)
    return withoutUndefined({
      ...asked,
      clientId: client.clientId,
      redirectUri: target.redirectUri,
      state: target.state,
      responseType,
      responseMode: target.responseMode,
      codeChallenge,
      nonce,
    })
  } catch (error) {
    throw asAuthorizationError(target, error)
  }
}

/** The resources that a request names, or that a client means which describes itself. */
const resourcesOf = (
  parameters: Parameters,
  client: Client,
  requested: readonly string[],
  known: readonly KnownResource[],
): readonly string[] => {
  if (known.length === 0) return []
  const named = parseResources(parameters.all('resource'), known)
  return named.length > 0 || !isIntroduced(client) ? named : impliedResources(requested, known)
}

/**
 * Whether a client that describes itself is taken to ask for `offline_access` at a resource. That scope is one of OpenID
 * Connect, which MCP clients do not know: they register the grant `refresh_token`, and mean that.
 */
const keepsAccess = (client: Client, scopes: readonly string[], allowed: readonly string[]): boolean =>
  isIntroduced(client) &&
  client.metadata.grant_types.includes('refresh_token') &&
  !scopes.includes('openid') &&
  !scopes.includes('offline_access') &&
  allowed.includes('offline_access')

/** The scopes, resources and claims of a request, and how the user is to answer it. */
const askedFor = (
  parameters: Parameters,
  client: Client,
  allowed: readonly string[],
  known: readonly KnownResource[],
): Pick<AuthorizationRequest, 'scopes' | 'prompt' | 'maxAge' | 'loginHint' | 'uiLocales' | 'resources'> => {
  const requested = parseScope(parameters.optional('scope'))
  const resources = resourcesOf(parameters, client, requested, known)
  const grantable = resources.length === 0 ? allowed : scopesWithin(allowed, resources, known)
  const asked =
    requested.length > 0 ? grantableScopes(requested, grantable) : defaultScopes(resources, allowed, known)
  const scopes =
    resources.length > 0 && keepsAccess(client, asked, allowed) ? [...asked, 'offline_access'] : asked
  return {
    scopes,
    prompt: promptOf(parameters),
    maxAge: maxAgeOf(parameters) ?? client.metadata.default_max_age,
    loginHint: parameters.optional('login_hint'),
    uiLocales: uiLocalesOf(parameters),
    resources: resources.length === 0 ? undefined : scopesByResource(scopes, resources, known),
  }
}

/**
 * Parses a request that comes without a browser, such as that of a device. It may ask for everything that an authorization
 * request may ask for.
 *
 * @param known the resources of the host; if there are none, the parameter `resource` is ignored
 * @throws OAuthError
 */
export const parseDirectRequest = (
  parameters: Parameters,
  client: Client,
  known: readonly KnownResource[] = [],
): AuthorizationRequest => {
  const asked = askedFor(parameters, client, allowedScopes(client), known)
  if (asked.prompt.includes('none')) {
    throw refusal('parameter_invalid', {
      values: { parameter: 'prompt', problem: 'must not be none: the request has no browser' },
    })
  }
  return withoutUndefined({ ...asked, clientId: client.clientId, responseType: 'code' })
}

/** JSON has no undefined, so that a stored request and a new one are equal. */
const withoutUndefined = <T extends object>(value: T): T =>
  Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as T

/** OIDC Core §6: what is still here was not read, because `protocol.requestObjects` is off. */
const assertNoRequestObject = (parameters: Parameters): void => {
  if (parameters.has('request')) throw refusal('request_unsupported')
  if (parameters.has('request_uri')) throw refusal('request_uri_unsupported')
}

const responseTypeOf = (parameters: Parameters, client: Client, types: readonly string[]): string => {
  parameters.required('response_type')
  const type = supportedType(parameters, types)
  if (type === undefined) {
    throw refusal('response_type_unsupported', { values: { types: types.join(', ') } })
  }
  assertRegisteredType(type, client)
  assertResponseMode(parameters.optional('response_mode'), type, client)
  return type
}

const assertRegisteredType = (type: string, { metadata }: Client): void => {
  const { response_types, grant_types } = metadata
  const mayUseCode = !returnsPart(type, 'code') || grant_types.includes('authorization_code')
  if (!response_types.some((registered) => registered === type) || !mayUseCode) {
    throw refusal('response_type_unregistered')
  }
}

/**
 * A request that was stored, as its client may make it now: without the scopes that the client has lost meanwhile, and
 * without resources that the host no longer has.
 *
 * @throws AuthorizationResponseError if the client may no longer make it at all; OAuthError if it has no redirect URI
 */
export const stillAuthorizedRequest = (
  request: AuthorizationRequest,
  client: Client,
  scopeClaims: ScopeClaims,
  resources: readonly KnownResource[] = [],
): AuthorizationRequest => {
  const { responseType, claims } = request
  const target = responseTarget(request, client)
  try {
    if (target) {
      assertRegisteredType(responseType, client)
      assertResponseMode(target.responseMode, responseType, client)
    }
    const { authorizationDetails: details = [] } = request
    const types = details.map(({ type }) => type)
    assertDetailTypes(details, types, client.metadata.authorization_details_types)
    const allowed = allowedScopes(client)
    const targets = tokenResources([], request.resources, resources)
    const left = scopesStillAllowed(request.scopes, allowed)
    const scopes = tokenScopes(left, targets, request.resources, resources)
    const resourceScopes = scopesByResource(scopes, targets, resources)
    if (returnsPart(responseType, 'id_token')) assertIdTokenRequest(scopes, request.nonce)
    const known = claims ? claimNames(allowed, scopeClaims) : []
    const claimsLeft = narrowedClaims(claims, (name) => known.includes(name))
    return withoutUndefined({ ...request, scopes, claims: claimsLeft, resources: resourceScopes })
  } catch (error) {
    throw target ? asAuthorizationError(target, error) : error
  }
}

/** OIDC Core §3.2.2.1 and §3.3.2.11: an ID token in the front channel requires `openid`, and a nonce against replay. */
const assertIdTokenRequest = (scopes: readonly string[], nonce: string | undefined): void => {
  if (!scopes.includes('openid')) throw refusal('openid_missing')
  if (nonce === undefined) throw refusal('nonce_missing')
}

/** OIDC Core §11: `offline_access` is ignored unless the response has a code. */
const scopesFor = (responseType: string, allowed: readonly string[]): readonly string[] =>
  returnsPart(responseType, 'code') ? allowed : allowed.filter((scope) => scope !== 'offline_access')

/** OIDC Core §3.1.2.1: `none` must be the only value. */
const promptOf = (parameters: Parameters): Prompt[] => {
  const requested = parameters.optional('prompt')?.split(' ') ?? []
  const values = promptValues.filter((value) => requested.includes(value))
  if (values.includes('none') && requested.length > 1) {
    throw refusal('parameter_invalid', {
      values: { parameter: 'prompt', problem: 'must not combine none with another value' },
    })
  }
  return values
}

const maxAgeOf = (parameters: Parameters): number | undefined => {
  const value = parameters.optional('max_age')
  if (value === undefined) return undefined
  if (!/^[0-9]{1,9}$/.test(value))
    throw refusal('parameter_invalid', {
      values: { parameter: 'max_age', problem: 'must be a number of seconds' },
    })
  return Number(value)
}
