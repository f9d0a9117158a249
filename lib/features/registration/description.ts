import type { AuthorizationServer } from '../../oauth/authorization-server.ts'
import { scopesOfAllResources } from '../../oauth/clients/followed-scope.ts'
import type { Grant } from '../../oauth/grants/grant.ts'
import { grantsOf } from '../../oauth/grants/index.ts'
import { featureNamed } from '../../options/features.ts'
import type { Options } from '../../options/options.ts'
import { registrableOf, unregistrable } from '../../options/registrable.ts'
import { isOwnLimit, type Outbound, OutboundError } from '../../outbound/outbound.ts'
import type { Client } from '../../protocol/clients/client.ts'
import {
  assertHttpsPages,
  type ClientChanges,
  type ClientMetadata,
  calledUrls,
  parseClientMetadata,
  parseRegistration,
  withoutInternals,
} from '../../protocol/clients/client-metadata.ts'
import { refuseClient, refuseMetadata, refuseUnknown } from '../../protocol/clients/client-metadata-checks.ts'
import { assertPlainNames } from '../../protocol/clients/client-name.ts'
import { assertKnownScheme, isRegistrableRedirectUri } from '../../protocol/clients/redirect-uri.ts'
import { OAuthError } from '../../protocol/errors.ts'
import { sizes } from '../../protocol/lengths.ts'
import { HostError } from '../../protocol/problem.ts'
import { refusal } from '../../protocol/refusal.ts'
import { frontChannelResponseTypes, normalResponseType } from '../../protocol/requests/response-type.ts'
import { identityScopes } from '../../protocol/scope.ts'
import { askHost } from '../../users/host-function.ts'
import type { AllowClient, RegistrationRequest } from './option.ts'

/** The metadata that a client sent about itself, not checked yet. Unknown members are ignored. */
export type Described = Readonly<Record<string, unknown>>

/** The values of a list that a client may choose. A server may drop the others (RFC 7591 §2). */
const supported = (input: Described, name: string, isSupported: (value: string) => boolean): object => {
  const given = input[name]
  if (!Array.isArray(given) || given.length === 0) return {}
  const left = given.filter((value) => typeof value !== 'string' || isSupported(value))
  return left.length > 0
    ? { [name]: left }
    : refuseMetadata(name, 'has no value that a client may register itself for')
}

/**
 * Without redirect URIs that no such client may have, if others remain: some clients register one for each way in which they
 * can run.
 */
const usableRedirectUris = (input: Described): object => {
  const { redirect_uris: given, token_endpoint_auth_method: method } = input
  if (!Array.isArray(given)) return {}
  const left = given.filter(
    (uri) => typeof uri !== 'string' || isRegistrableRedirectUri(uri, { isPublic: method === 'none' }),
  )
  return left.length > 0 ? { redirect_uris: left } : {}
}

const jwtBearerGrantType = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

/** Without grant and response types that are off, or that only the host may give, such as `client_credentials`. */
const supportedInput = (
  input: Described,
  server: AuthorizationServer,
  kind: RegistrationRequest['kind'],
): Described => {
  const { implicit, requestObjects, mutualTls, frontChannelLogout, authorizationDetails } =
    server.options.protocol
  const hasPushedRequests = server.has('pushedRequests')
  // An assertion names a client by its id, which a client that registers itself has only here.
  const isOfAssertions = ({ grantType }: Grant): boolean => grantType === jwtBearerGrantType
  const hasAssertions = kind === 'document' && grantsOf(server).some(isOfAssertions)
  const grants = [
    'authorization_code',
    'refresh_token',
    ...(implicit ? ['implicit'] : []),
    ...(hasAssertions ? [jwtBearerGrantType] : []),
  ]
  const types: string[] = ['code', ...(implicit ? frontChannelResponseTypes : [])].map(normalResponseType)
  if (!mutualTls && String(input.token_endpoint_auth_method).endsWith('tls_client_auth')) {
    refuseMetadata(
      'token_endpoint_auth_method',
      'must not be one with certificates, which this server does not read',
    )
  }
  return {
    ...input,
    ...usableRedirectUris(input),
    ...supported(input, 'grant_types', (value) => grants.includes(value)),
    ...(!mutualTls && { tls_client_certificate_bound_access_tokens: undefined }),
    ...(!hasPushedRequests && { require_pushed_authorization_requests: undefined }),
    ...(!frontChannelLogout && {
      frontchannel_logout_uri: undefined,
      frontchannel_logout_session_required: undefined,
    }),
    ...(!requestObjects && {
      request_uris: undefined,
      request_object_signing_alg: undefined,
      require_signed_request_object: undefined,
    }),
    ...(Object.keys(authorizationDetails).length > 0
      ? supported(input, 'authorization_details_types', (type) => Object.hasOwn(authorizationDetails, type))
      : { authorization_details_types: undefined }),
    ...supported(input, 'response_types', (value) => types.includes(normalResponseType(value))),
  }
}

/** The most entries of one list in it. */
const maxEntries = 50

/** Infinite for what is too deep to be written, and what a host's own parser makes of JSON. */
const bytesOf = (input: Described): number => {
  try {
    return Buffer.byteLength(JSON.stringify(input))
  } catch {
    return Number.POSITIVE_INFINITY
  }
}

/** Walks without recursion: it may be very deep. */
const hasLongList = (input: Described): boolean => {
  const left: unknown[] = [input]
  for (const value of left) {
    if (Array.isArray(value) && value.length > maxEntries) return true
    if (typeof value === 'object' && value !== null) left.push(...Object.values(value))
  }
  return false
}

/** Refuses long descriptions: the server reads and stores again and again how a stranger describes a client. */
const assertShort = (input: Described): void => {
  if (bytesOf(input) > sizes.description)
    refuseClient(`the metadata of a client must not exceed ${sizes.description} bytes`)
  if (hasLongList(input))
    refuseClient(`no list in the metadata of a client may have more than ${maxEntries} entries`)
}

const assertReachable = (outbound: Outbound, metadata: ClientMetadata): void => {
  for (const name of calledUrls) {
    try {
      for (const url of [metadata[name] ?? []].flat()) outbound.assertAllowed(url)
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error
      refuseMetadata(name, 'must be an https URL at a public address', 'metadata_insecure')
    }
  }
}

/** Otherwise a client could join any sector, and see the subjects of its users (OIDC Registration §5). */
const assertSector = async (outbound: Outbound, metadata: ClientMetadata): Promise<void> => {
  const { sector_identifier_uri: uri, redirect_uris: redirectUris } = metadata
  if (uri === undefined) return
  const uris: readonly unknown[] = await outbound.request(uri).then(
    ({ status, body }) => (status === 200 ? parseList(body) : []),
    (error: unknown) => {
      if (isOwnLimit(error)) throw error.cause
      return []
    },
  )
  if (!redirectUris.every((redirectUri) => uris.includes(redirectUri))) {
    refuseMetadata('sector_identifier_uri', 'must return a JSON array that contains all redirect_uris')
  }
}

const parseList = (body: string): readonly unknown[] => {
  try {
    const value: unknown = JSON.parse(body)
    return Array.isArray(value) ? value : []
  } catch {
    return []
  }
}

/** The metadata as the host changed it. What is wrong with the changes is the host's mistake, not the client's. */
const withChanges = (
  { options }: AuthorizationServer,
  metadata: ClientMetadata,
  changes: ClientChanges,
): ClientMetadata => {
  try {
    const changed = parseClientMetadata({ ...metadata, ...changes })
    const unknown = unregistrable(changed, registrableOf(options))
    return unknown === undefined ? changed : refuseUnknown(unknown)
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    throw new HostError(`allow returned wrong metadata of a client: ${error.message}`)
  }
}

/** Grants that begin with a redirect URI. */
const redirectGrants = ['authorization_code', 'implicit', 'refresh_token']

/** A client that could never get a token would only take up room. */
const assertUseful = ({ grant_types: grants, redirect_uris: uris }: ClientMetadata): void => {
  if (uris.length === 0 && grants.every((grant) => redirectGrants.includes(grant)))
    refuseMetadata('redirect_uris', 'is required', 'metadata_missing')
}

/** Whether the host keeps identity scopes from clients of a kind; undefined while the feature is off. */
const isWithheld = (options: Options, kind: RegistrationRequest['kind']): boolean | undefined => {
  const name = kind === 'registration' ? 'registration' : 'clientMetadataDocuments'
  const found = featureNamed(options, name)
  return found && !Object(found.option).identityScopes
}

/**
 * The scopes that the host keeps from a client. Clients that registered stay when the feature is turned off; then they get no
 * scope that they did not have.
 */
export const withheldScopes = (options: Options, { metadata }: Client): readonly string[] => {
  const { self_described: kind, scope = '' } = metadata
  if (kind !== 'registration' && kind !== 'document') return []
  const had = scope.split(' ')
  const areWithheld = isWithheld(options, kind) ?? !identityScopes.some((name) => had.includes(name))
  return areWithheld ? identityScopes : []
}

/**
 * Applies all rules to what a client says about itself, and asks the host.
 *
 * @param input the members of the request or document; unknown ones are ignored
 * @param allow of the feature by which the client describes itself
 * @returns what is stored; its `scope` is what the client may request
 * @throws OAuthError `invalid_client_metadata` or `invalid_redirect_uri` (RFC 7591 §3.2.2), or what `allow` throws
 */
export const describedClient = async (
  server: AuthorizationServer,
  input: Described,
  request: RegistrationRequest,
  allow: AllowClient | undefined,
): Promise<ClientMetadata> => {
  const { options, reach } = server
  const { outbound } = reach.strangers(request)
  assertShort(input)
  const { scope: _, ...said } = parseRegistration(
    supportedInput(input, server, request.kind),
    registrableOf(options).securityProfile,
  )
  assertPlainNames(said)
  for (const uri of [...said.redirect_uris, ...(said.post_logout_redirect_uris ?? [])]) assertKnownScheme(uri)
  if (options.production) assertHttpsPages(said)
  assertReachable(outbound, said)
  await assertSector(outbound, said)
  const feature = request.kind === 'document' ? 'clientMetadataDocuments' : 'registration'
  const decision = (allow && (await askHost(`features.${feature}.allow`, () => allow(said, request)))) ?? true
  if (decision === false) throw refusal('client_unaccepted')
  const changes = typeof decision === 'object' ? withoutInternals(decision as ClientMetadata) : {}
  const metadata = withChanges(server, said, changes)
  assertUseful(metadata)
  const withheld = isWithheld(options, request.kind) ? identityScopes : []
  const scope = metadata.scope ?? scopesOfAllResources(options, withheld).join(' ')
  const methods = input.token_endpoint_auth_methods_supported
  const offersNone = request.kind === 'document' && Array.isArray(methods) && methods.includes('none')
  const isOptional =
    offersNone &&
    metadata.token_endpoint_auth_method === 'private_key_jwt' &&
    metadata.security_profile === undefined
  const follows = metadata.scope === undefined ? { scope_follows_resources: true as const } : {}
  return {
    ...metadata,
    scope,
    self_described: request.kind,
    ...follows,
    ...(isOptional && { key_is_optional: true as const }),
  }
}
