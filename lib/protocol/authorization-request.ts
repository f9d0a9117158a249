import type { ClaimsRequest } from './claims-request.ts'
import { allowedScopes, type Client, isPublic, requiresPkce } from './client.ts'
import { responseTypes } from './client-metadata.ts'
import {
  type AuthorizationTarget,
  asAuthorizationError,
  OAuthError,
  type ResponseMode,
  responseModes,
} from './errors.ts'
import { parseUiLocales } from './languages.ts'
import type { Parameters } from './parameters.ts'
import { type CodeChallenge, type CodeChallengeMethod, parseCodeChallenge } from './pkce.ts'
import { isRegisteredRedirectUri } from './redirect-uri.ts'
import { isFrontChannel, normalResponseType, returnsPart } from './response-type.ts'
import { grantableScopes, parseScope } from './scope.ts'

export const promptValues = ['none', 'login', 'consent', 'select_account'] as const
export type Prompt = (typeof promptValues)[number]

/** A validated authorization request (RFC 6749 §4.1.1, OIDC Core §3.1.2.1), as it waits and as a code remembers it. */
export interface AuthorizationRequest {
  readonly clientId: string
  readonly redirectUri: string
  readonly state?: string
  readonly responseType: string
  readonly responseMode: ResponseMode
  readonly scopes: readonly string[]
  readonly codeChallenge?: CodeChallenge
  readonly nonce?: string
  readonly prompt: readonly Prompt[]
  /** Seconds; the client's own default when the request is silent. */
  readonly maxAge?: number
  readonly loginHint?: string
  /** Languages that the pages shall be in, the preferred one first. */
  readonly uiLocales?: readonly string[]
  /** Claims asked for one by one (OIDC Core §5.5). */
  readonly claims?: ClaimsRequest
  /** Whom the `id_token_hint` was about: nobody else may answer (OIDC Core §3.1.2.1). */
  readonly hintedSubject?: string
  /** The workspace that it names, where the host knows workspaces: an extension of ours. */
  readonly organization?: string
}

/**
 * The client's place for answers. Until it is verified nothing may be sent anywhere, so failing here is a page.
 *
 * @param client the client that `client_id` names, if there is one
 * @throws OAuthError `invalid_request` or `unauthorized_client`
 */
export const parseAuthorizationTarget = (
  parameters: Parameters,
  client: Client | undefined,
  types: readonly string[] = responseTypes,
): AuthorizationTarget => {
  if (client === undefined || client.disabledAt !== null) {
    throw new OAuthError('unauthorized_client', 'client_id does not name a registered client')
  }
  const redirectUri = parameters.required('redirect_uri')
  if (!isRegisteredRedirectUri(redirectUri, client.metadata.redirect_uris, { isPublic: isPublic(client) })) {
    throw new OAuthError('invalid_request', 'redirect_uri is not registered for this client')
  }
  return { redirectUri, state: stateOf(parameters), responseMode: responseModeOf(parameters, types) }
}

/** The state to return; one that must not be returned is left out here and refused by {@link parseAuthorizationRequest}. */
const stateOf = (parameters: Parameters): string | undefined => {
  try {
    return parameters.optional('state')
  } catch {
    return undefined
  }
}

/** OIDC Core §3.1.2.1: languages that are not supported are no error, and so malformed ones are none. */
const uiLocalesOf = (parameters: Parameters): string[] | undefined => {
  const tags = parseUiLocales(firstValue(parameters, 'ui_locales'))
  return tags.length > 0 ? tags : undefined
}

const firstValue = (parameters: Parameters, asked: string): string | undefined =>
  parameters.pairs().find(([name]) => name === asked)?.[1]

/** The response type asked for, if this server has it. */
const supportedType = (parameters: Parameters, types: readonly string[]): string | undefined => {
  const asked = normalResponseType(firstValue(parameters, 'response_type') ?? '')
  return types.find((type) => normalResponseType(type) === asked)
}

/** Tokens never travel in a query, whatever was asked for (Multiple Response Types §5). */
const maySend = (mode: string | undefined, type: string | undefined): boolean =>
  mode === undefined ||
  mode === 'form_post' ||
  mode === 'fragment' ||
  (mode === 'query' && !isFrontChannel(type ?? ''))

/** The mode asked for where it is possible, else the default of the response type: errors travel that way too. */
const responseModeOf = (parameters: Parameters, types: readonly string[]): ResponseMode => {
  const type = supportedType(parameters, types)
  const asked = responseModes.find((mode) => mode === firstValue(parameters, 'response_mode'))
  if (asked !== undefined && maySend(asked, type)) return asked
  return isFrontChannel(type ?? '') ? 'fragment' : 'query'
}

/**
 * The request itself; failing here is a redirect to the verified target.
 *
 * @param methods PKCE methods that this server accepts
 * @param types response types that this server accepts
 * @throws AuthorizationResponseError
 */
export const parseAuthorizationRequest = (
  parameters: Parameters,
  client: Client,
  target: AuthorizationTarget,
  methods: readonly CodeChallengeMethod[],
  types: readonly string[] = responseTypes,
): AuthorizationRequest => {
  try {
    parameters.assertEachOnce()
    parameters.optional('state')
    parameters.optional('id_token_hint')
    assertNoRequestObject(parameters)
    const responseType = responseTypeOf(parameters, client, types)
    const codeChallenge = parseCodeChallenge(
      parameters.optional('code_challenge'),
      parameters.optional('code_challenge_method'),
      methods,
    )
    if (codeChallenge === undefined && requiresPkce(client) && returnsPart(responseType, 'code')) {
      throw new OAuthError('invalid_request', 'code_challenge is required for this client')
    }
    const scopes = grantableScopes(
      parseScope(parameters.optional('scope')),
      scopesFor(responseType, allowedScopes(client)),
    )
    const nonce = parameters.optional('nonce')
    if (returnsPart(responseType, 'id_token')) assertIdTokenRequest(scopes, nonce)
    const maxAge = maxAgeOf(parameters) ?? client.metadata.default_max_age
    return withoutUndefined({
      clientId: client.clientId,
      redirectUri: target.redirectUri,
      state: target.state,
      responseType,
      responseMode: target.responseMode,
      scopes,
      codeChallenge,
      nonce,
      prompt: promptOf(parameters),
      maxAge,
      loginHint: parameters.optional('login_hint'),
      uiLocales: uiLocalesOf(parameters),
    })
  } catch (error) {
    throw asAuthorizationError(target, error)
  }
}

/** JSON has no undefined, so a stored request and a fresh one are the same value. */
const withoutUndefined = <T extends object>(value: T): T =>
  Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as T

/** OIDC Core §6: request objects are not supported, and nothing is fetched to find out. */
const assertNoRequestObject = (parameters: Parameters): void => {
  if (parameters.has('request')) throw new OAuthError('request_not_supported', 'request is not supported')
  if (parameters.has('request_uri'))
    throw new OAuthError('request_uri_not_supported', 'request_uri is not supported')
}

const responseTypeOf = (parameters: Parameters, client: Client, types: readonly string[]): string => {
  parameters.required('response_type')
  const type = supportedType(parameters, types)
  if (type === undefined) {
    throw new OAuthError('unsupported_response_type', `response_type must be ${types.join(', ')}`)
  }
  const { response_types, grant_types } = client.metadata
  const mayUseCode = !returnsPart(type, 'code') || grant_types.includes('authorization_code')
  if (!response_types.some((registered) => registered === type) || !mayUseCode) {
    throw new OAuthError('unauthorized_client', 'response_type is not registered for this client')
  }
  const mode = parameters.optional('response_mode')
  if (mode !== undefined && !(responseModes.some((known) => known === mode) && maySend(mode, type))) {
    throw new OAuthError('invalid_request', 'response_mode is not supported for this response_type')
  }
  return type
}

/** OIDC Core §3.2.2.1 and §3.3.2.11: an ID token in the front channel needs `openid`, and a nonce against replay. */
const assertIdTokenRequest = (scopes: readonly string[], nonce: string | undefined): void => {
  if (!scopes.includes('openid'))
    throw new OAuthError('invalid_scope', 'scope must hold openid for an ID token')
  if (nonce === undefined) throw new OAuthError('invalid_request', 'nonce is required for this response_type')
}

/** OIDC Core §11: without a code there is no refresh token, and `offline_access` says nothing. */
const scopesFor = (responseType: string, allowed: readonly string[]): readonly string[] =>
  returnsPart(responseType, 'code') ? allowed : allowed.filter((scope) => scope !== 'offline_access')

/** OIDC Core §3.1.2.1: `none` stands alone. */
const promptOf = (parameters: Parameters): Prompt[] => {
  const asked = parameters.optional('prompt')?.split(' ') ?? []
  const values = promptValues.filter((value) => asked.includes(value))
  if (values.includes('none') && asked.length > 1) {
    throw new OAuthError('invalid_request', 'prompt must not join none with another value')
  }
  return values
}

const maxAgeOf = (parameters: Parameters): number | undefined => {
  const value = parameters.optional('max_age')
  if (value === undefined) return undefined
  if (!/^[0-9]{1,9}$/.test(value))
    throw new OAuthError('invalid_request', 'max_age must be a number of seconds')
  return Number(value)
}
