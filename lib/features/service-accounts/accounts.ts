import type { Tell } from '../../events/events.ts'
import { createSecret, hashSecret } from '../../keys/secrets.ts'
import type { AuthorizationServer } from '../../oauth/authorization-server.ts'
import { beginErasure, eraseClient } from '../../oauth/clients/erasure.ts'
import { checkedRegistration, refuseUnknownClient, storeClient } from '../../oauth/clients/register.ts'
import { registrableOf } from '../../options/registrable.ts'
import { allowedScopes, type Client, usesSecret } from '../../protocol/clients/client.ts'
import {
  type ClientMetadata,
  type OwningOrganization,
  withoutInternals,
} from '../../protocol/clients/client-metadata.ts'
import type { PublicJwks } from '../../protocol/clients/jwks.ts'
import { refusal } from '../../protocol/refusal.ts'
import type { RequestInfo } from '../../protocol/requests/request-info.ts'
import { intersectScopes } from '../../protocol/scope.ts'
import { isUniqueViolation } from '../../storage/database/errors.ts'
import type { Database } from '../../storage/database/types.ts'
import {
  findClient,
  lockClient,
  rotateClientSecret,
  updateClient,
} from '../../storage/repositories/clients.ts'
import { lockLogin } from '../../storage/repositories/logins.ts'
import { freeSlot } from '../../storage/repositories/slots.ts'
import type { ServiceAccountFields } from './declarations.ts'
import type { ServiceAccountOption } from './option.ts'
import { type AccountFields, checkedFields, secondsOfDay } from './rules.ts'
import {
  createAccountRow,
  createSecretRow,
  dropCurrentSecret,
  dropPreviousSecret,
  findAccountRow,
  forgetOtherSecrets,
  listAccountSecrets,
  listAccountSlots,
  setMissingSecret,
} from './table.ts'

/** The part of the server that changes service accounts. */
export interface AccountContext
  extends Pick<AuthorizationServer, 'database' | 'events' | 'installed' | 'now' | 'options'> {
  readonly option: ServiceAccountOption
}

/** Who changes an account: an administrator of the organization, or the host. */
export interface Changer {
  readonly subject?: string | undefined
  /** The login of the administrator, which must still stand. */
  readonly sid?: string | undefined
  /** The host's own name for who does it. */
  readonly actor?: string | undefined
  readonly info?: RequestInfo | undefined
}

/** An account of an organization. */
export interface NamedAccount {
  readonly organization: string
  readonly clientId: string
}

/** A new account, or a new secret of it. Only a hash of the secret is stored. */
export interface AccountCredentials {
  readonly clientId: string
  /** Absent for an account with a key. */
  readonly secret?: string
}

/** The outcome of a change that loses a race with the end of a login. */
export type LoginEnded = 'signed-out'

const stands = async (tx: Database, { sid }: Changer, now: number): Promise<boolean> =>
  sid === undefined || (await lockLogin({ sid, now }).run(tx)) > 0

const eventOf = (
  { organization, clientId }: NamedAccount,
  { subject, actor }: Changer,
): ServiceAccountFields => ({
  organization,
  clientId,
  ...(subject !== undefined && { subject }),
  ...(actor !== undefined && { actor }),
})

const ownerOf = (
  organization: string,
  { choices, until }: AccountFields,
  generation: number,
): OwningOrganization => ({
  id: organization,
  until,
  generation,
  ...(Object.keys(choices).length > 0 && { choices }),
})

const metadataOf = (
  { options }: Pick<AccountContext, 'options'>,
  { name, scopes }: AccountFields,
  jwks: PublicJwks | undefined,
): ClientMetadata => {
  const described = {
    client_name: name,
    scope: scopes.join(' '),
    grant_types: ['client_credentials' as const],
    response_types: [],
    ...(jwks && { token_endpoint_auth_method: 'private_key_jwt' as const, jwks }),
  }
  return checkedRegistration(described, registrableOf(options)).metadata
}

/**
 * Makes a service account.
 *
 * @param account.clientId a random one, which names the form: sent twice, it makes one account
 * @param account.jwks its public key; without one it gets a secret
 * @returns `full` if the organization has as many as the host allows, `exists` if the form was sent before
 * @throws OAuthError `invalid_client_metadata`
 */
export const createAccount = async (
  context: AccountContext,
  account: AccountFields & NamedAccount & { readonly jwks?: PublicJwks | undefined },
  by: Changer,
): Promise<AccountCredentials | 'full' | 'exists' | LoginEnded> => {
  const { database, events, option, options, now: clock } = context
  const { organization, clientId, jwks } = account
  const fields = checkedFields(account, { option, kinds: options.choices, now: clock() })
  const described = metadataOf(context, fields, jwks)
  try {
    return await events.change(database, async (tx, tell) => {
      const now = clock()
      if (!(await stands(tx, by, now))) return 'signed-out'
      const slot = freeSlot(await listAccountSlots(tx, { organization }), option.maxPerOrganization)
      if (slot === undefined) return 'full'
      await createAccountRow(tx, {
        clientId,
        organization,
        slot,
        createdBy: by.subject ?? '',
        createdAt: now,
      })
      const metadata = { ...described, owned_by: ownerOf(organization, fields, 1) }
      const { client_secret: secret } = await storeClient(
        tx,
        context,
        { clientId, secret: undefined, metadata },
        undefined,
        now,
      )
      if (secret !== undefined) await createSecretRow(tx, { hash: hashSecret(secret), clientId, now })
      await tell('service_account.created', by.info, eventOf({ organization, clientId }, by))
      return { clientId, ...(secret !== undefined && { secret }) }
    })
  } catch (error) {
    if (!isUniqueViolation(error)) throw error
    if (await findAccountRow(database, account)) return 'exists'
    // A parallel request has taken the slot.
    if ((await findClient(database, { clientId, now: clock() })) === undefined)
      return createAccount(context, account, by)
    throw error
  }
}

/** An account that is locked until the end of the transaction. */
interface LockedAccount {
  readonly client: Client
  readonly owner: OwningOrganization
  readonly now: number
}

/**
 * Changes an account in a transaction, if the login of the administrator still stands.
 *
 * @throws OAuthError `invalid_client`, the same for an unknown account and for one of another organization
 */
const changing = <T>(
  { database, events, now: clock }: AccountContext,
  named: NamedAccount,
  by: Changer,
  work: (tx: Database, locked: LockedAccount, tell: Tell) => Promise<T>,
): Promise<T | LoginEnded> =>
  events.change(database, async (tx, tell) => {
    const now = clock()
    if (!(await stands(tx, by, now))) return 'signed-out'
    const { clientId, organization } = named
    const client = await lockClient(tx, { clientId, now })
    const owner = client?.metadata.owned_by
    if (client === undefined || owner?.id !== organization) return refuseUnknownClient(clientId)
    return work(tx, { client, owner, now }, tell)
  })

/** Ends the tokens that the account has. */
const endTokens = (
  tx: Database,
  { client: { clientId, metadata }, owner, now }: LockedAccount,
): Promise<void> => {
  const owned_by = { ...owner, generation: owner.generation + 1 }
  return updateClient(tx, { clientId, metadata: { ...metadata, owned_by }, secretHash: undefined, now })
}

/**
 * Changes what an account may do, when it expires, or its key. What it loses, its tokens lose at their next use; another key
 * ends them.
 *
 * @param change.jwks another public key of an account that has one
 * @throws OAuthError `invalid_client_metadata` · as {@link replaceSecret}
 */
export const changeAccount = (
  context: AccountContext,
  named: NamedAccount,
  change: Partial<AccountFields> & { readonly jwks?: PublicJwks | undefined },
  by: Changer,
): Promise<AccountFields | LoginEnded> =>
  changing(context, named, by, async (tx, { client, owner, now }, tell) => {
    const { metadata } = client
    const { jwks, ...changed } = change
    if (jwks && usesSecret(metadata))
      throw refusal('client_of_organization', { values: { client: named.clientId } })
    const { option, options } = context
    const scopes = intersectScopes(allowedScopes(client), option.scopes)
    const kept = { name: metadata.client_name ?? '', scopes, choices: owner.choices ?? {} }
    const rules = { option, kinds: options.choices, now }
    const wanted = { ...kept, until: owner.until, ...changed }
    // An account that has expired can be renamed.
    const isSameEnd = wanted.until === owner.until
    const checked = checkedFields({ ...wanted, ...(isSameEnd && { until: now + 1 }) }, rules)
    const fields = { ...checked, until: wanted.until }
    const described = {
      ...withoutInternals(metadata),
      ...metadataOf(context, fields, jwks ?? metadata.jwks),
    }
    const owned_by = ownerOf(owner.id, fields, owner.generation + (jwks ? 1 : 0))
    const registration = { clientId: named.clientId, secret: undefined, metadata: { ...described, owned_by } }
    await storeClient(tx, context, registration, client, now)
    await tell('service_account.changed', by.info, eventOf(named, by))
    return fields
  })

/** Tells whether a secret is still the same one, without its hash. */
export const markOfSecret = (hash: string | undefined): string =>
  hash === undefined ? 'none' : hashSecret(hash).slice(0, 12)

/**
 * Gives an account another secret beside the current one, which stays valid for a while; a third one ends.
 *
 * @param keeping.keepFor seconds; a day by default
 * @param keeping.seen {@link markOfSecret} of the current secret as it was seen; by default any
 * @returns `stale` if another request has replaced the secret since
 * @throws OAuthError `invalid_client` for an unknown account and one of another organization · `invalid_client_metadata` for one
 *   without a secret
 */
export const replaceSecret = (
  context: AccountContext,
  named: NamedAccount,
  by: Changer,
  { keepFor = secondsOfDay, seen }: { readonly keepFor?: number; readonly seen?: string | undefined } = {},
): Promise<AccountCredentials | 'stale' | LoginEnded> =>
  changing(context, named, by, async (tx, { client, now }, tell) => {
    const { clientId } = named
    if (!usesSecret(client.metadata)) throw refusal('client_without_secret', { values: { client: clientId } })
    const secret = createSecret('clientSecret')
    const next = hashSecret(secret)
    const current = (await listAccountSecrets(tx, { clientId, now })).find(({ isCurrent }) => isCurrent)?.hash
    if (seen !== undefined && seen !== markOfSecret(current)) return 'stale'
    const isStored =
      current === undefined
        ? await setMissingSecret(tx, { clientId, hash: next, now })
        : await rotateClientSecret(tx, { clientId, current, next, currentExpiresAt: now + keepFor, now })
    if (!isStored) throw refusal('client_busy', { values: { client: clientId } })
    await createSecretRow(tx, { hash: next, clientId, now })
    await forgetOtherSecrets(tx, { clientId, current: next, previous: current ?? '' })
    await tell('service_account.secret_replaced', by.info, eventOf(named, by))
    return { clientId, secret }
  })

/** Which of the two secrets of an account. */
export type WhichSecret = 'current' | 'previous'

/**
 * Ends a secret of an account at once, together with all tokens of the account, because a thief of the secret may have some.
 *
 * @param seen {@link markOfSecret} of the current secret as it was seen; by default any
 * @returns `stale` if it has ended already, or if another request has replaced the current secret since
 * @throws OAuthError as {@link replaceSecret}
 */
export const revokeSecret = (
  context: AccountContext,
  named: NamedAccount,
  which: WhichSecret,
  by: Changer,
  seen?: string,
): Promise<'revoked' | 'stale' | LoginEnded> =>
  changing(context, named, by, async (tx, locked, tell) => {
    const { clientId } = named
    const { now } = locked
    const secrets = await listAccountSecrets(tx, { clientId, now })
    const current = secrets.find(({ isCurrent }) => isCurrent)
    const secret = which === 'current' ? current : secrets.find(({ isCurrent }) => !isCurrent)
    if (secret === undefined || (seen !== undefined && seen !== markOfSecret(current?.hash))) return 'stale'
    const drop = which === 'current' ? dropCurrentSecret : dropPreviousSecret
    await drop(tx, { clientId, hash: secret.hash, now })
    await endTokens(tx, locked)
    await tell('service_account.secret_revoked', by.info, eventOf(named, by))
    return 'revoked'
  })

/**
 * Removes an account with its tokens. If this is interrupted, pruning finishes it.
 *
 * @throws OAuthError as {@link replaceSecret}
 */
export const removeAccount = async (
  context: AccountContext,
  named: NamedAccount,
  by: Changer,
): Promise<'removed' | LoginEnded> => {
  const removed = await changing(context, named, by, async (tx, _locked, tell) => {
    await beginErasure({ ...context, database: tx }, named.clientId)
    await tell('service_account.removed', by.info, eventOf(named, by))
    return 'removed' as const
  })
  if (removed === 'removed') await eraseClient(context, named.clientId)
  return removed
}
