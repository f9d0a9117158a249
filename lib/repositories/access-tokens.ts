import {
  command,
  jsonOrUndefined,
  number,
  numberOrNull,
  query,
  scopes,
  text,
  textOrNull,
  type Write,
} from '../database/statement.ts'
import type { Database, Row } from '../database/types.ts'
import type { ClientMetadata } from '../protocol/clients/client-metadata.ts'
import type { Family } from '../protocol/requests/authorization.ts'
import { bearer, formatBinding, parseBinding, type TokenBinding } from '../protocol/tokens/token-binding.ts'
import type { TokenContext } from '../protocol/tokens/token-context.ts'
import { familyColumns, familyOf } from './authorizations.ts'

/** An access token, with its authorization and its client, all from one statement. */
export interface AccessToken {
  readonly clientId: string
  /** Undefined for a client's own token. */
  readonly subject: string | undefined
  readonly scopes: readonly string[]
  /** Identifiers; empty for a token for no resource. */
  readonly resources: readonly string[]
  readonly binding: TokenBinding
  readonly createdAt: number
  readonly expiresAt: number
  readonly revokedAt: number | null
  /** Undefined for a client's own token, and if the authorization was removed. */
  readonly family: Family | undefined
  /** The client's metadata; undefined if the client is disabled or was removed. */
  readonly client: ClientMetadata | undefined
  /** What it says beyond its authorization; absent for nothing. */
  readonly context?: TokenContext
}

/** Columns that decide whether what a token was issued for stands. */
const grantColumns = [
  'clients.metadata as client_metadata',
  'clients.disabled_at as client_disabled_at',
  ...familyColumns,
]

const familyOrUndefined = (row: Row): Family | undefined =>
  textOrNull(row, 'authorization_request') === null ? undefined : familyOf(row)

const grantOf = (row: Row): Pick<AccessToken, 'family' | 'client'> => ({
  family: familyOrUndefined(row),
  client:
    textOrNull(row, 'client_disabled_at') === null ? jsonOrUndefined(row, 'client_metadata') : undefined,
})

/** The client of the authorization, which is another one than the token's after a token exchange. */
const ownerColumns = ['owners.client_id as owner_client_id', 'owners.disabled_at as owner_disabled_at']

const ownerStands = (row: Row): boolean =>
  textOrNull(row, 'owner_client_id') !== null && textOrNull(row, 'owner_disabled_at') === null

const byHash = query<{ hash: string }>((table, v, name) =>
  table('access_tokens as tokens')
    .leftJoin(name('authorizations as authorizations'), 'authorizations.id', 'tokens.authorization_id')
    .leftJoin(name('logins as logins'), 'logins.sid', 'authorizations.sid')
    .leftJoin(name('clients as clients'), (on) =>
      on.on('clients.client_id', 'tokens.client_id').andOnNull('clients.disabled_at'),
    )
    .leftJoin(name('clients as owners'), (on) =>
      on.on('owners.client_id', 'authorizations.client_id').andOnNull('owners.disabled_at'),
    )
    .select([
      'tokens.client_id',
      'tokens.subject',
      'tokens.scopes',
      'tokens.resources',
      'tokens.binding',
      'tokens.context',
      'tokens.created_at',
      'tokens.expires_at',
      'tokens.revoked_at',
      'clients.metadata as client_metadata',
      'owners.client_id as owner_client_id',
      ...familyColumns,
    ])
    .where('tokens.hash', v.hash),
)

/** An opaque access token, valid or not. After a token exchange its authorization is that of another client. */
export const findAccessToken = async (
  db: Database,
  values: { hash: string },
): Promise<AccessToken | undefined> => {
  const [row] = await byHash(db, values)
  if (row === undefined) return undefined
  const binding = textOrNull(row, 'binding')
  const context = jsonOrUndefined<TokenContext>(row, 'context')
  const family = familyOrUndefined(row)
  const stands = family === undefined || textOrNull(row, 'owner_client_id') !== null
  return {
    clientId: text(row, 'client_id'),
    subject: textOrNull(row, 'subject') ?? undefined,
    scopes: scopes(row),
    resources: textOrNull(row, 'resources')?.split(' ') ?? [],
    binding: binding === null ? bearer : parseBinding(binding),
    createdAt: number(row, 'created_at'),
    expiresAt: number(row, 'expires_at'),
    revokedAt: numberOrNull(row, 'revoked_at'),
    family,
    client: stands ? jsonOrUndefined(row, 'client_metadata') : undefined,
    ...(context && { context }),
  }
}

const grant = query<{ clientId: string; authorizationId: string | null }>((table, v, name) =>
  table('clients as clients')
    .leftJoin(name('authorizations as authorizations'), (on) =>
      on.onVal('authorizations.id', v.authorizationId).andOn('authorizations.client_id', 'clients.client_id'),
    )
    .leftJoin(name('logins as logins'), 'logins.sid', 'authorizations.sid')
    .select(['clients.client_id', 'authorizations.subject', ...grantColumns])
    .where('clients.client_id', v.clientId),
)

/**
 * The state of what an access token that is not stored was issued for.
 *
 * @param values.authorizationId null for a client's own token
 * @returns undefined if the client was removed; without `family` if the authorization was
 */
export const findGrantOfToken = async (
  db: Database,
  values: { clientId: string; authorizationId: string | null },
): Promise<Pick<AccessToken, 'subject' | 'family' | 'client'> | undefined> => {
  const [row] = await grant(db, values)
  if (row === undefined) return undefined
  return { subject: textOrNull(row, 'subject') ?? undefined, ...grantOf(row) }
}

const exchanged = query<{ clientId: string; authorizationId: string; ownerId: string }>((table, v, name) =>
  table('clients as clients')
    .join(name('authorizations as authorizations'), (on) => on.onVal('authorizations.id', v.authorizationId))
    .join(name('clients as owners'), 'owners.client_id', 'authorizations.client_id')
    .leftJoin(name('logins as logins'), 'logins.sid', 'authorizations.sid')
    .select(['clients.client_id', 'authorizations.subject', ...ownerColumns, ...grantColumns])
    .where('clients.client_id', v.clientId)
    .where('owners.client_id', v.ownerId),
)

/**
 * The state of what an access token of a token exchange was issued for, which is not stored.
 *
 * @param values.ownerId the client of the authorization
 * @returns undefined if one of the clients or the authorization was removed
 */
export const findGrantOfExchangedToken = async (
  db: Database,
  values: { clientId: string; authorizationId: string; ownerId: string },
): Promise<Pick<AccessToken, 'subject' | 'family' | 'client'> | undefined> => {
  const [row] = await exchanged(db, values)
  if (row === undefined || !ownerStands(row)) return undefined
  return { subject: text(row, 'subject'), ...grantOf(row) }
}

const insert = command<{
  hash: string
  authorizationId: string | null
  clientId: string
  subject: string | null
  scopes: string
  resources: string | null
  binding: string | null
  context: string | null
  now: number
  expiresAt: number
}>((table, v) =>
  table('access_tokens').insert({
    hash: v.hash,
    authorization_id: v.authorizationId,
    client_id: v.clientId,
    subject: v.subject,
    scopes: v.scopes,
    resources: v.resources,
    binding: v.binding,
    context: v.context,
    created_at: v.now,
    expires_at: v.expiresAt,
  }),
)

export interface NewAccessToken {
  readonly hash: string
  /** Null for a client's own token. */
  readonly authorizationId: string | null
  readonly clientId: string
  readonly subject: string | null
  readonly scopes: readonly string[]
  readonly resources: readonly string[]
  readonly binding: TokenBinding
  readonly context?: TokenContext
  readonly now: number
  readonly expiresAt: number
}

/** Stores an opaque access token. */
export const createAccessToken = ({ context, ...token }: NewAccessToken): Write =>
  insert.with({
    ...token,
    scopes: token.scopes.join(' '),
    resources: token.resources.length > 0 ? token.resources.join(' ') : null,
    binding: formatBinding(token.binding),
    context: context ? JSON.stringify(context) : null,
  })

const revoke = command<{ hash: string; clientId: string; now: number }>((table, v) =>
  table('access_tokens')
    .where({ hash: v.hash, client_id: v.clientId })
    .whereNull('revoked_at')
    .update({ revoked_at: v.now }),
)

/** Revokes an access token of this client; a token of another client stays as it is. */
export const revokeAccessToken = async (
  db: Database,
  values: { hash: string; clientId: string; now: number },
): Promise<boolean> => (await revoke(db, values)) > 0
