import type { Choices } from '../choices.ts'
import { responseModes } from '../errors.ts'
import { isPlainValue } from '../json.ts'
import { requestObjectAlgorithms } from '../requests/request-object.ts'
import {
  frontChannelResponseTypes,
  isFrontChannel,
  normalResponseType,
  returnsPart,
} from '../requests/response-type.ts'
import { type SigningAlgorithm, signingAlgorithms } from '../signing-algorithms.ts'
import { tokenExchangeGrantType } from '../tokens/token-exchange.ts'
import { clientAssertionAlgorithms } from './client-assertion.ts'
import {
  absoluteUri,
  acrValues,
  checkedList,
  chosen,
  displayText,
  distinguishedName,
  epochTime,
  hostName,
  httpsUri,
  ipAddress,
  type Member,
  mailAddress,
  maxAge,
  member,
  oneChoice,
  redirectUris,
  refuseClient,
  refuseMetadata,
  requestUris,
  scopeString,
  someChoices,
  strings,
  texts,
  trueOrFalse,
  webUri,
  wholeSeconds,
} from './client-metadata-checks.ts'
import {
  hasTooManyLanguages,
  type LocalizedName,
  localizedNames,
  parseLocalizedName,
} from './client-metadata-languages.ts'
import { type DefinedGrantType, isDefinedGrantType } from './defined-grant.ts'
import { parseJwks } from './jwks.ts'
import { assertRedirectUriOf, webHost } from './redirect-uri.ts'
import { certificateSubjectNames } from './registered-certificate.ts'
import { assertProfile, profileDefaults, type SecurityProfile, securityProfiles } from './security-profile.ts'

export const grantTypes = [
  'authorization_code',
  'refresh_token',
  'client_credentials',
  'implicit',
  'urn:ietf:params:oauth:grant-type:jwt-bearer',
  'urn:ietf:params:oauth:grant-type:device_code',
  tokenExchangeGrantType,
] as const
export const responseTypes = ['code'] as const
export const tokenEndpointAuthMethods = [
  'client_secret_basic',
  'client_secret_post',
  'private_key_jwt',
  'tls_client_auth',
  'self_signed_tls_client_auth',
  'none',
] as const
export { signingAlgorithms }

/** A grant of the standards, or the absolute URI of one that the host defined (RFC 6749 §4.5). */
export type GrantType = (typeof grantTypes)[number] | DefinedGrantType
/** `code`, and with `protocol.implicit` the response types that return tokens at the authorization endpoint. */
export type ResponseType = (typeof responseTypes)[number] | (typeof frontChannelResponseTypes)[number]
export type TokenEndpointAuthMethod = (typeof tokenEndpointAuthMethods)[number]
export type { SigningAlgorithm }

const everyResponseType = [...responseTypes, ...frontChannelResponseTypes]

const responseTypeList = member('choices', (name, value) =>
  someChoices(everyResponseType).check(name, checkedList(name, value).map(normalResponseType)),
)

/** Whether the host has defined a grant is not known here; registration checks it. */
const grantTypeList = member('choices', (name, value) =>
  checkedList(name, value).map((item) => (isDefinedGrantType(item) ? item : chosen(grantTypes, name, item))),
)

const responseModeList = member('choices', (name, value) => {
  const modes = checkedList(name, value).map((item) => chosen(responseModes, name, item))
  return modes.length > 0 ? modes : refuseMetadata(name, 'must not be empty')
})

/** Members of RFC 7591 §2 and OIDC Registration §2. */
const registered = {
  /** Where responses may go, compared as strings (RFC 6749 §3.1.2.2). */
  redirect_uris: redirectUris,
  /** Where the browser may be sent after a logout (RP-Initiated Logout §2.1). */
  post_logout_redirect_uris: redirectUris,
  /** Receives a logout token when a login ends from which the client got tokens (Back-Channel Logout §2.2). */
  backchannel_logout_uri: webUri,
  /** Whether the client requires `sid` in logout tokens; they always have it. */
  backchannel_logout_session_required: trueOrFalse,
  /** Opened in a frame of the user's browser when they sign out (Front-Channel Logout §2). */
  frontchannel_logout_uri: webUri,
  /** Whether the client requires `iss` and `sid` there; they are always sent. */
  frontchannel_logout_session_required: trueOrFalse,
  /** Absent: a confidential client that may use Basic or the request body. */
  token_endpoint_auth_method: oneChoice(tokenEndpointAuthMethods),
  /** The only algorithm of its assertions; if absent, every supported one is accepted (OIDC Registration §2). */
  token_endpoint_auth_signing_alg: oneChoice(clientAssertionAlgorithms),
  /** The subject of its certificates, for `tls_client_auth`: exactly one of these (RFC 8705 §2.1.2). In the form of RFC 4514. */
  tls_client_auth_subject_dn: distinguishedName,
  /** A host name in the subject alternative name of its certificates. */
  tls_client_auth_san_dns: hostName,
  /** A URI there. */
  tls_client_auth_san_uri: absoluteUri,
  /** An IP address there. */
  tls_client_auth_san_ip: ipAddress,
  /** An e-mail address there. */
  tls_client_auth_san_email: mailAddress,
  /** Its access tokens work only with the client certificate of the token request (RFC 8705 §3.4). */
  tls_client_certificate_bound_access_tokens: trueOrFalse,
  /** The client's public keys. */
  jwks: member('object', parseJwks),
  /** Where the client publishes its keys instead, and rotates them itself. */
  jwks_uri: httpsUri,
  /** Where the client publishes its request objects (OIDC Registration §2). */
  request_uris: requestUris,
  /** The only algorithm of its request objects; if absent, every supported one is accepted (OIDC Registration §2). */
  request_object_signing_alg: oneChoice(requestObjectAlgorithms),
  /** All its authorization requests must be request objects that it signed (RFC 9101 §10.5). */
  require_signed_request_object: trueOrFalse,
  /** All its authorization requests must be pushed (RFC 9126 §6). */
  require_pushed_authorization_requests: trueOrFalse,
  /** All its access tokens must be bound to a key (RFC 9449 §5.2). */
  dpop_bound_access_tokens: trueOrFalse,
  /** The grants that it may exchange at the token endpoint. */
  grant_types: grantTypeList,
  /** The response types that it may request. */
  response_types: responseTypeList,
  /** The kind of program. Latchkey stores it; its rules follow from the redirect URIs (OIDC Registration §2). */
  application_type: oneChoice(['web', 'native']),
  /** Its name on the pages. */
  client_name: displayText,
  /** Its home page. */
  client_uri: httpsUri,
  /** Where the client starts a sign-in by itself (OIDC Core §4). Pages of expired requests link to it. */
  initiate_login_uri: httpsUri,
  /** Its logo, which Latchkey fetches and serves itself: PNG, JPEG, WebP or GIF. */
  logo_uri: httpsUri,
  /** Its privacy policy. */
  policy_uri: httpsUri,
  /** Its terms of service. */
  tos_uri: httpsUri,
  /** Space-separated; absent: all standard scopes. */
  scope: scopeString,
  /** Types of `authorization_details` that it may request (RFC 9396 §10); absent: none. */
  authorization_details_types: strings,
  /** People to contact about the client. */
  contacts: texts,
  /** The algorithm of its ID tokens. */
  id_token_signed_response_alg: oneChoice(signingAlgorithms),
  /** UserInfo as a signed JWT instead of plain JSON (OIDC Core §5.3.2). */
  userinfo_signed_response_alg: oneChoice(signingAlgorithms),
  /** Allows signed authorization responses, and says how they are signed (JARM §3). */
  authorization_signed_response_alg: oneChoice(signingAlgorithms),
  /** `pairwise`: clients of different sectors see different `sub` values for a user (OIDC Core §8). */
  subject_type: oneChoice(['public', 'pairwise']),
  /** Its host is the sector; required when redirect URIs have several hosts. It is not fetched. */
  sector_identifier_uri: httpsUri,
  /** Maximum age of a login for this client, in seconds (OIDC Registration §2). */
  default_max_age: maxAge,
  /** Authentication levels that its requests ask for unless they name others (OIDC Registration §2). */
  default_acr_values: acrValues,
  /** Whether ID tokens must have `auth_time`; they always have it. */
  require_auth_time: trueOrFalse,
}

/** Members that only the host may set. */
const extensions = {
  /** When its current secret stops working, in epoch seconds; absent: never (RFC 7591 §3.2.1). */
  client_secret_expires_at: epochTime,
  /** The client belongs to the host and needs no consent, except a public one on loopback or a private-use scheme. */
  first_party: trueOrFalse,
  /** Requires PKCE although it authenticates. Public clients always need it. */
  require_pkce: trueOrFalse,
  /** The only values of `response_mode` that it may use; absent: all, the signed ones if it registered an algorithm. */
  response_modes: responseModeList,
  /**
   * Its assertions must have the issuer as their only audience: if absent, also in a list; with `true` as a string, as FAPI 2.0
   * requires. `false` accepts the URL of an endpoint too, for libraries that cannot send the issuer.
   */
  require_issuer_audience: trueOrFalse,
  /** An API that may introspect every access token for no resource (RFC 7662), not only its own. */
  may_introspect: trueOrFalse,
  /** Whether `name`, `email` and the other claims of the scopes are in the ID token too, not only in UserInfo. */
  id_token_scope_claims: trueOrFalse,
  /** Whether the token response says which things the user chose, although the client did not ask: `false` leaves it out. */
  token_response_choices: trueOrFalse,
  /** Scopes, separated by spaces, that its users cannot leave out, also where they are optional. */
  required_scope: scopeString,
  /** Whether each refresh returns a new refresh token. Always on for public clients. */
  refresh_token_rotation: trueOrFalse,
  /** The profile whose rules its metadata and requests must meet. */
  security_profile: oneChoice(securityProfiles),
  /** Lifetime of its access tokens in seconds, if it differs from the option `lifetimes`. */
  access_token_lifetime: wholeSeconds,
  /** Lifetime of its ID tokens in seconds. */
  id_token_lifetime: wholeSeconds,
  /** Seconds after which a refresh token that is not used expires. */
  refresh_token_idle_lifetime: wholeSeconds,
  /** Seconds after which all refresh tokens of an authorization expire. */
  refresh_token_absolute_lifetime: wholeSeconds,
}

/** All members that the host may set, each with the form of its value. */
export const clientMembers = { ...registered, ...extensions }

/** Their names, for messages that suggest the nearest name. */
export const clientMetadataNames = Object.keys(clientMembers)

/** Three of these differ from the defaults of RFC 7591, so that the shortest seed works. */
export const seedDefaults = {
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  id_token_signed_response_alg: 'RS256',
  subject_type: 'public',
  first_party: false,
  require_pkce: false,
  id_token_scope_claims: true,
  refresh_token_rotation: true,
}

/** RFC 7591 §2, OIDC Registration §2. */
const registrationDefaults = {
  ...seedDefaults,
  token_endpoint_auth_method: 'client_secret_basic',
  grant_types: ['authorization_code'],
  id_token_scope_claims: false,
}

/** The value of a member. */
type ValueOf<Of> = Of extends Member<infer Value> ? Value : never
/** Mapped over the names of the members themselves, so that editors show their comments. */
type Values<Members, Name extends keyof Members> = { -readonly [Each in Name]: ValueOf<Members[Each]> }
type Described = typeof clientMembers
/** Members that always have a value, because they have a default. */
type Defaulted = 'redirect_uris' | keyof typeof seedDefaults

/** The access that an organization gives a client of its own. */
export interface OwningOrganization {
  /** The id of the organization, from the option `organizations`. */
  readonly id: string
  /** When all access of the client ends, in epoch seconds. */
  readonly until: number
  /** The things that its tokens are for, with the option `choices`. */
  readonly choices?: Choices
  /** Grows when a credential of the client is withdrawn: tokens from before are refused. */
  readonly generation: number
}

/** Members that Latchkey sets itself. */
interface InternalMembers {
  /** Set if the client belongs to an organization and acts for it: a service account. */
  owned_by?: OwningOrganization
  /**
   * Set if the client described itself, by dynamic registration (RFC 7591) or by a metadata document, or if a user described
   * it, so that what it says is not verified. A change by the host removes it.
   */
  self_described?: 'registration' | 'document' | 'user'
  /** Set with `self_described` if `scope` follows the option `resources`. */
  scope_follows_resources?: true
  /** Set with `self_described` if the client also offers to use no method: then it may prove that it has its key, or not. */
  key_is_optional?: true
}

/** Client metadata with the names of RFC 7591 §2 and OIDC Registration §2, including defaults. */
export interface ClientMetadata
  extends Values<Described, Defaulted>,
    Partial<Values<Described, Exclude<keyof Described, Defaulted>>>,
    InternalMembers {
  /** A member for display in a given language, such as `client_name#de` (RFC 7591 §2.2). */
  [inLanguage: `${LocalizedName}#${string}`]: string | undefined
}

/** Changed metadata. `null` removes a field, so that its default applies. */
export type ClientChanges = { readonly [Name in keyof ClientMetadata]?: ClientMetadata[Name] | null }

/**
 * Checks the metadata of one client by the registration rules, and adds the defaults.
 *
 * @param input members by name; unknown names are refused
 * @throws OAuthError `invalid_client_metadata` or `invalid_redirect_uri` (RFC 7591 §3.2.2)
 * @example parseClientMetadata({ redirect_uris: ['https://app.example.com/callback'] })
 */
export const parseClientMetadata = (input: Readonly<Record<string, unknown>>): ClientMetadata => {
  if (typeof input !== 'object' || input === null) refuseClient('client metadata must be an object')
  return checkedMetadata(input, clientMembers, seedDefaults)
}

/** Before any name is read. */
const assertFewLanguages = (input: Readonly<Record<string, unknown>>): void => {
  if (hasTooManyLanguages(Object.keys(input)))
    refuseClient('client metadata has members in too many languages')
}

const checkedMetadata = (
  input: Readonly<Record<string, unknown>>,
  members: Readonly<Record<string, Member<unknown>>>,
  defaults: typeof seedDefaults & { readonly security_profile?: SecurityProfile },
): ClientMetadata => {
  assertFewLanguages(input)
  const given = Object.entries(input).filter(([, value]) => value !== undefined && value !== null)
  const checked = given.map(([name, value]): [string, unknown] => {
    const localized = parseLocalizedName(name)
    const plain = localized?.name ?? name
    const described = Object.hasOwn(members, plain) ? members[plain] : undefined
    const canonical = localized ? `${plain}#${localized.tag}` : name
    const kept = described ? described.check(name, value) : refuseName(name)
    if (!isPlainValue(kept)) refuseMetadata(canonical, 'must not contain control characters')
    return [canonical, kept]
  })
  const names = new Set<string>()
  for (const [name] of checked) {
    if (names.has(name)) refuseMetadata(name, 'appears twice, in different cases')
    names.add(name)
  }
  // Each field was checked by its rule above, or is a default.
  const said = Object.fromEntries(checked)
  const ofProfile = profileDefaults(said.security_profile ?? defaults.security_profile)
  const metadata = { redirect_uris: [], ...defaults, ...ofProfile, ...said } as ClientMetadata
  assertProfile(metadata)
  assertConsistent(metadata)
  return metadata
}

/**
 * The members that the host may change, without those that Latchkey set itself.
 *
 * @example const { client_name } = withoutInternals(client.metadata)
 */
export const withoutInternals = ({
  self_described: _,
  scope_follows_resources: __,
  key_is_optional: ___,
  owned_by: ____,
  ...metadata
}: ClientMetadata): Omit<ClientMetadata, keyof InternalMembers> => metadata

/** Members with URLs that this server calls; the option `outbound.allow` may let them use http. */
export const calledUrls = [
  'jwks_uri',
  'sector_identifier_uri',
  'backchannel_logout_uri',
  'request_uris',
] as const

/** Members with a URL that browsers open. Redirect URIs are none of them: they may lead to an app on the device. */
const pageUrls = Object.entries(registered)
  .filter(([name, { form }]) => form === 'uri' && !calledUrls.some((called) => called === name))
  .map(([name]) => name)

/**
 * Requires https for every page of a client that describes itself. `http://localhost` is for development: on a server it would
 * be the machine of the user who opens the page.
 *
 * @throws OAuthError `invalid_client_metadata`
 */
export const assertHttpsPages = (metadata: ClientMetadata): void => {
  for (const [name, value] of Object.entries(metadata)) {
    const isPage = pageUrls.includes(parseLocalizedName(name)?.name ?? name)
    if (isPage && new URL(String(value)).protocol !== 'https:')
      refuseMetadata(name, 'must be an https URL', 'metadata_insecure')
  }
}

const isRegisteredName = (name: string): boolean =>
  Object.hasOwn(registered, parseLocalizedName(name)?.name ?? name)

/** The members that a client may set and see: those of the standards (RFC 7591 §2, OIDC Registration §2). */
export const registeredMembers = (metadata: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(metadata).filter(([name]) => isRegisteredName(name)))

/**
 * Checks what a client says about itself by the same rules, with the defaults of RFC 7591 and OIDC Registration. Unknown
 * members, those that only the host may set, and empty strings are ignored (RFC 7591 §2).
 *
 * @param input members by name
 * @param profile of every client of the server
 * @throws OAuthError `invalid_client_metadata` or `invalid_redirect_uri` (RFC 7591 §3.2.2)
 */
export const parseRegistration = (
  input: Readonly<Record<string, unknown>>,
  profile?: SecurityProfile,
): ClientMetadata => {
  assertFewLanguages(input)
  const given = Object.entries(registeredMembers(input)).filter(([, value]) => value !== '')
  return checkedMetadata(Object.fromEntries(given), registered, {
    ...registrationDefaults,
    ...(profile && { security_profile: profile }),
  })
}

/** A name without case and separators, and without an `s` at its end. */
const plainName = (name: string): string => name.replace(/[_-]/g, '').toLowerCase().replace(/s$/, '')

/** The member that was meant by a name in another spelling, such as `redirectUri`. */
const similarName = (name: string): string | undefined =>
  ['client_id', 'client_secret', ...Object.keys(registered)].find(
    (known) => known !== name && plainName(known) === plainName(name),
  )

const refuseName = (name: string): never => {
  if (localizedNames.some((plain) => name.startsWith(`${plain}#`))) {
    refuseMetadata(name, `must end with a language tag, such as ${name.split('#')[0]}#de`)
  }
  const near = similarName(name)
  return refuseMetadata(name, `is not client metadata${near === undefined ? '' : `; did you mean ${near}?`}`)
}

const hasOrigin = (uri: string, other: string): boolean => new URL(uri).origin === new URL(other).origin

/** Rules that read more than one field. */
const assertConsistent = (metadata: ClientMetadata): void => {
  const { grant_types: grants, jwks, jwks_uri, token_endpoint_auth_method: method } = metadata
  const usesRedirects = grants.includes('authorization_code')
  if (method === 'none') {
    if (grants.includes('client_credentials'))
      refuseMetadata('grant_types', 'must not include client_credentials for a public client')
    if (grants.includes(tokenExchangeGrantType))
      refuseMetadata('grant_types', 'must not include token exchange for a public client')
    if (metadata.may_introspect) refuseMetadata('may_introspect', 'must not be true for a public client')
    if (!metadata.refresh_token_rotation)
      refuseMetadata('refresh_token_rotation', 'must not be false for a public client')
  }
  if (metadata.require_signed_request_object && metadata.request_object_signing_alg === 'none') {
    refuseMetadata('request_object_signing_alg', 'must not be none with require_signed_request_object')
  }
  const usesFrontChannel = metadata.response_types.some(isFrontChannel)
  if (usesFrontChannel && !grants.includes('implicit')) {
    refuseMetadata(
      'grant_types',
      'must include implicit with response types that return tokens in the front channel',
    )
  }
  if (usesFrontChannel && metadata.response_modes?.every((mode) => mode.startsWith('query'))) {
    refuseMetadata(
      'response_modes',
      'must include fragment or form_post with response types that return tokens in the front channel',
    )
  }
  const { dpop_bound_access_tokens: toKey, tls_client_certificate_bound_access_tokens: toCertificate } =
    metadata
  if (toKey && toCertificate) {
    refuseMetadata(
      'dpop_bound_access_tokens',
      'must not be true with tls_client_certificate_bound_access_tokens',
    )
  }
  if ((toKey || toCertificate) && metadata.response_types.some((type) => returnsPart(type, 'token'))) {
    refuseMetadata(
      'response_types',
      'must not return access tokens in the front channel, where nothing binds them',
    )
  }
  if ((usesRedirects || usesFrontChannel) && metadata.redirect_uris.length === 0) {
    refuseMetadata(
      'redirect_uris',
      'is required with the grant types authorization_code and implicit',
      'metadata_missing',
    )
  }
  if (jwks !== undefined && jwks_uri !== undefined)
    refuseMetadata('jwks', 'and jwks_uri must not both be present')
  if (jwks === undefined && jwks_uri === undefined) {
    if (method === 'private_key_jwt' || method === 'self_signed_tls_client_auth')
      refuseMetadata('jwks', `or jwks_uri is required with ${method}`)
    if (metadata.require_signed_request_object)
      refuseMetadata('jwks', 'or jwks_uri is required with require_signed_request_object')
  }
  const subjects = certificateSubjectNames.filter((name) => metadata[name] !== undefined)
  if (method === 'tls_client_auth' ? subjects.length !== 1 : subjects.length > 0) {
    refuseMetadata(
      'exactly',
      `one of ${certificateSubjectNames.join(', ')} is required with tls_client_auth, and no other method`,
    )
  }
  const { frontchannel_logout_uri: logoutUri } = metadata
  if (logoutUri !== undefined && !metadata.redirect_uris.some((uri) => hasOrigin(uri, logoutUri))) {
    refuseMetadata('frontchannel_logout_uri', 'must have the origin of one of the redirect_uris')
  }
  const hosts = new Set(metadata.redirect_uris.map(webHost))
  const isPairwise = metadata.subject_type === 'pairwise'
  if (isPairwise && metadata.sector_identifier_uri === undefined && hosts.size !== 1) {
    refuseMetadata(
      'sector_identifier_uri',
      'is required with subject_type pairwise unless all redirect_uris have one host',
    )
  }
  for (const uri of [...metadata.redirect_uris, ...(metadata.post_logout_redirect_uris ?? [])])
    assertRedirectUriOf(uri, { isPublic: method === 'none' })
  if (metadata.redirect_uris.length > 50)
    refuseMetadata('redirect_uris', 'must not have more than 50 entries')
}
