import { randomUUID } from 'node:crypto'
import { authenticationCode, createSecret, hashSecret, isEqual, isSecretOf } from '../../keys/secrets.ts'
import { networkOf, siteOf } from '../../limits/network.ts'
import type { QuotaUse } from '../../limits/quota.ts'
import type { AuthorizationServer } from '../../oauth/authorization-server.ts'
import { beginErasure, eraseClient } from '../../oauth/clients/erasure.ts'
import { type ClientCredentials, storeClient } from '../../oauth/clients/register.ts'
import { withSuppliedClaims } from '../../protocol/claims.ts'
import type { Client } from '../../protocol/clients/client.ts'
import { type ClientMetadata, registeredMembers } from '../../protocol/clients/client-metadata.ts'
import { refuseMetadata } from '../../protocol/clients/client-metadata-checks.ts'
import { OAuthError } from '../../protocol/errors.ts'
import { isPlainText } from '../../protocol/json.ts'
import { refusal } from '../../protocol/refusal.ts'
import type { RequestInfo } from '../../protocol/requests/request-info.ts'
import { formatScope, intersectScopes } from '../../protocol/scope.ts'
import { type ClientRecord, findClientRecord, lockClient } from '../../storage/repositories/clients.ts'
import { type Described, describedClient } from './description.ts'
import type { RegistrationOption } from './option.ts'
import {
  countUsedClients,
  createClientRegistration,
  findClientRegistration,
  type RegistrationOrigin,
} from './table.ts'
import { makeRoom, removeIfUnused } from './unused.ts'

/** A client that registered itself, with what it needs to manage its registration (RFC 7592 §3). */
export interface Registration extends ClientCredentials {
  /** Epoch seconds. */
  readonly issuedAt: number
  readonly metadata: ClientMetadata
  /** The scopes that the answer names. */
  readonly scope: string
  /** The registration access token. Only its hash is stored. */
  readonly token: string
}

/**
 * The scopes that the answer names (RFC 7591 §3.2.1). Clients ask users for all of them at once, so they are no more than the
 * client registered, although it may ask for more later, and none that reveals nothing.
 */
const answeredScope = (
  { scopeClaims, users }: AuthorizationServer,
  metadata: ClientMetadata,
  input: Described = {},
): string => {
  const allowed = metadata.scope?.split(' ') ?? []
  if (metadata.scope_follows_resources === undefined) return formatScope(allowed)
  const registered = typeof input.scope === 'string' ? intersectScopes(input.scope.split(' '), allowed) : []
  const named =
    registered.length > 0 ? registered : withSuppliedClaims(allowed, scopeClaims, users.claimNames)
  return formatScope(named)
}

const manyRegistrations =
  'latchkey: one address has registered as many clients that no user has allowed as registration({ limits }) allows; hosted clients register from few addresses for all of their users: docs/registration.md#limits'

/** Where a registration comes from. An address is not stored as it is: the client may live for years. */
export const originOf = ({ options }: AuthorizationServer, address: string): RegistrationOrigin => {
  const hashOf = (place: string): string =>
    authenticationCode(options.secrets[0], 'origin of a registration', [place])
  const network = networkOf(address)
  return { network: hashOf(network), site: hashOf(siteOf(address) ?? network) }
}

/** Clients that users have allowed something do not count: hosted clients register for all of their users from few addresses. */
const takeQuota = async (server: AuthorizationServer, address: string): Promise<void> => {
  const { site, network } = originOf(server, address)
  const excused: QuotaUse['excused'] = (from, since) =>
    countUsedClients(server.database, { site, network: from === 'network' ? network : undefined, since })
  try {
    await server.throttle.takeQuota([
      { name: 'registration', address, excused },
      { name: 'registrationDaily', address, excused },
    ])
  } catch (error) {
    if (error instanceof OAuthError && error.status === 429) server.warnOnce(manyRegistrations)
    throw error
  }
}

/**
 * Registers a client that describes itself (RFC 7591 §3).
 *
 * @param input the members of the request
 * @param address the IP address of the request, for the quotas
 * @throws OAuthError `invalid_client_metadata` or `invalid_redirect_uri`; status 429 after too many registrations
 */
export const registerSelf = async (
  server: AuthorizationServer,
  { allow }: RegistrationOption,
  input: Described,
  info: RequestInfo,
): Promise<Registration> => {
  const { database, events, options, now: clock } = server
  const { address } = info
  await takeQuota(server, address)
  const metadata = await describedClient(server, input, { kind: 'registration', address }, allow)
  const origin = originOf(server, address)
  await makeRoom(server, origin)
  const [clientId, token, now] = [randomUUID(), createSecret('registrationToken'), clock()]
  // The host lets this client act on its own behalf, so it stays even if no user ever uses it.
  const isForItself = metadata.grant_types.includes('client_credentials')
  const expiresAt = isForItself ? null : now + options.lifetimes.unusedClient
  const registration = {
    clientId,
    tokenHash: hashSecret(token),
    now,
    expiresAt,
    readAt: null,
    freshUntil: null,
    origin,
  }
  const credentials = await events.change(database, async (tx, tell) => {
    const stored = await storeClient(tx, server, { clientId, secret: undefined, metadata }, undefined, now)
    await createClientRegistration(tx, registration)
    await tell('client.created', info, { clientId })
    return stored
  })
  return { ...credentials, issuedAt: now, metadata, scope: answeredScope(server, metadata, input), token }
}

/**
 * Finds the client that a registration access token is for.
 *
 * @throws OAuthError `invalid_token`, the same for an unknown client, a disabled one, and one that the host has adopted
 *   (RFC 7592 §2)
 */
const findOwn = async (
  { database, now }: AuthorizationServer,
  clientId: string,
  token: string,
): Promise<ClientRecord> => {
  const registration =
    isSecretOf('registrationToken', token) && isPlainText(clientId)
      ? await findClientRegistration(database, { clientId })
      : undefined
  const isOwn = registration?.tokenHash != null && isEqual(registration.tokenHash, hashSecret(token))
  const client = isOwn ? await findClientRecord(database, { clientId, now: now() }) : undefined
  if (client === undefined || client.disabledAt !== null) {
    throw refusal('registration_token_wrong')
  }
  return client
}

/**
 * Reads a registration (RFC 7592 §2.1).
 *
 * @throws OAuthError `invalid_token`
 */
export const readRegistration = async (
  server: AuthorizationServer,
  clientId: string,
  token: string,
): Promise<Registration> => {
  const { metadata, createdAt } = await findOwn(server, clientId, token)
  return { client_id: clientId, issuedAt: createdAt, metadata, scope: answeredScope(server, metadata), token }
}

/** A request that replaces a registration names the client, and nothing that only the server sets (RFC 7592 §2.2). */
const assertReplaces = (client: Client, input: Described): void => {
  const { client_id: clientId, client_secret: secret } = input
  if (clientId !== client.clientId) refuseMetadata('client_id', 'must be that of the client')
  const isOwnSecret = typeof secret === 'string' && client.secretHashes.includes(hashSecret(secret))
  if (secret !== undefined && !isOwnSecret) refuseMetadata('client_secret', 'must be that of the client')
  for (const name of [
    'registration_access_token',
    'registration_client_uri',
    'client_secret_expires_at',
    'client_id_issued_at',
  ]) {
    if (input[name] !== undefined) refuseMetadata(name, 'must not be sent')
  }
}

/**
 * Replaces a registration (RFC 7592 §2.2). A member that is left out gets its default.
 *
 * @throws OAuthError `invalid_token`, else as {@link registerSelf}
 */
export const replaceRegistration = async (
  server: AuthorizationServer,
  { allow }: RegistrationOption,
  clientId: string,
  { token, input, info }: { token: string; input: Described; info: RequestInfo },
): Promise<Registration> => {
  const { database, events, now } = server
  const { address } = info
  const client = await findOwn(server, clientId, token)
  await takeQuota(server, address)
  assertReplaces(client, input)
  const request = { kind: 'registration', clientId, address } as const
  const metadata = await describedClient(server, input, request, allow)
  const credentials = await events.change(database, async (tx, tell) => {
    const existing = await lockClient(tx, { clientId, now: now() })
    // The host has adopted, disabled or removed it meanwhile.
    if (existing?.metadata.self_described !== 'registration' || existing.disabledAt !== null) {
      throw refusal('registration_token_wrong')
    }
    await tell('client.updated', info, { clientId })
    return storeClient(tx, server, { clientId, secret: undefined, metadata }, existing, now())
  })
  const scope = answeredScope(server, metadata, input)
  return { ...credentials, issuedAt: client.createdAt, metadata, scope, token }
}

/**
 * Removes a client with its tokens and consents (RFC 7592 §2.3).
 *
 * @throws OAuthError `invalid_token`
 */
export const removeRegistration = async (
  server: AuthorizationServer,
  clientId: string,
  token: string,
  info: RequestInfo,
): Promise<void> => {
  await findOwn(server, clientId, token)
  const isGone = await server.events.change(server.database, async (tx, tell) => {
    await tell('client.deleted', info, { clientId })
    // It has no consents and tokens to look for.
    if (await removeIfUnused(tx, clientId)) return true
    await beginErasure({ ...server, database: tx }, clientId)
    return false
  })
  if (!isGone) await eraseClient(server, clientId)
}

/**
 * The answer to a registration (RFC 7591 §3.2.1, RFC 7592 §3).
 *
 * @param uri the client configuration endpoint
 */
export const registrationAnswer = (
  { client_id, client_secret, issuedAt, metadata, scope, token }: Registration,
  uri: string,
): object => ({
  client_id,
  client_id_issued_at: issuedAt,
  ...(client_secret !== undefined && {
    client_secret,
    client_secret_expires_at: metadata.client_secret_expires_at ?? 0,
  }),
  registration_access_token: token,
  registration_client_uri: uri,
  ...registeredMembers({ ...metadata, scope }),
})
