import type { Knex } from 'knex'
import {
  command,
  json,
  jsonOrUndefined,
  number,
  numberOrNull,
  query,
  scopes,
  text,
  textOrNull,
} from '../database/statement.ts'
import type { Database, Row } from '../database/types.ts'
import type { Family } from '../protocol/authorization.ts'
import type { ClientMetadata } from '../protocol/client-metadata.ts'
import { bearer, formatBinding, parseBinding, type TokenBinding } from '../protocol/token-binding.ts'
import type { TokenContext } from '../protocol/token-context.ts'
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

const accessTokenOf = (row: Row, hasResources: boolean): AccessToken => ({
  clientId: text(row, 'client_id'),
  subject: textOrNull(row, 'subject') ?? undefined,
  scopes: scopes(row),
  resources: hasResources ? (textOrNull(row, 'resources')?.split(' ') ?? []) : [],
  binding: bearer,
  createdAt: number(row, 'created_at'),
  expiresAt: number(row, 'expires_at'),
  revokedAt: numberOrNull(row, 'revoked_at'),
  ...grantOf(row),
})

/** Joins the authorization of a token, its login and its client, and selects what decides whether they stand. */
const grantColumns = [
  'clients.metadata as client_metadata',
  'clients.disabled_at as client_disabled_at',
  ...familyColumns,
]

const grantOf = (row: Row): Pick<AccessToken, 'family' | 'client'> => ({
  family: textOrNull(row, 'authorization_request') === null ? undefined : familyOf(row),
  client:
    textOrNull(row, 'client_disabled_at') === null ? jsonOrUndefined(row, 'client_metadata') : undefined,
})

const withGrant = (
  table: (name: string) => Knex.QueryBuilder,
  name: (table: string) => string,
  hash: Knex.Value,
): Knex.QueryBuilder =>
  table('access_tokens as tokens')
    .leftJoin(name('authorizations as authorizations'), 'authorizations.id', 'tokens.authorization_id')
    .leftJoin(name('logins as logins'), 'logins.sid', 'authorizations.sid')
    .leftJoin(name('clients as clients'), 'clients.client_id', 'tokens.client_id')
    .select([
      'tokens.client_id',
      'tokens.subject',
      'tokens.scopes',
      'tokens.created_at',
      'tokens.expires_at',
      'tokens.revoked_at',
      ...grantColumns,
    ])
    .where('tokens.hash', hash)

const byHash = query<{ hash: string }>((table, v, name) =>
  withGrant(table, name, v.hash).select('tokens.resources'),
)

/** For a host without resources, which has no use for the tokens of earlier ones. */
const byHashForNoResource = query<{ hash: string }>((table, v, name) =>
  withGrant(table, name, v.hash).whereNull('tokens.resources'),
)

const boundByHash = query<{ hash: string }>((table, v, name) =>
  withGrant(table, name, v.hash).select(['tokens.resources', 'tokens.binding']),
)

/** Also whether the client of the authorization stands, which is another one after a token exchange. */
const ownerColumns = ['owners.client_id as owner_client_id', 'owners.disabled_at as owner_disabled_at']

const ownerStands = (row: Row): boolean =>
  textOrNull(row, 'owner_client_id') !== null && textOrNull(row, 'owner_disabled_at') === null

const withContextByHash = query<{ hash: string }>((table, v, name) =>
  withGrant(table, name, v.hash)
    .leftJoin(name('clients as owners'), 'owners.client_id', 'authorizations.client_id')
    .select(['tokens.resources', 'tokens.binding', 'tokens.context', ...ownerColumns]),
)

interface TokenKey {
  readonly hash: string
  /** Whether the host has resources; without them no token for a resource is found. */
  readonly hasResources: boolean
}

export const findAccessToken = async (
  db: Database,
  { hash, hasResources }: TokenKey,
): Promise<AccessToken | undefined> => {
  const [row] = hasResources ? await byHash(db, { hash }) : await byHashForNoResource(db, { hash })
  return row && accessTokenOf(row, hasResources)
}

/** Finds a token that is bound to a key or certificate. Only for these the binding is read. */
export const findBoundAccessToken = async (
  db: Database,
  { hash, hasResources }: TokenKey,
): Promise<AccessToken | undefined> => {
  const [row] = await boundByHash(db, { hash })
  if (row === undefined || (!hasResources && textOrNull(row, 'resources') !== null)) return undefined
  return { ...accessTokenOf(row, hasResources), binding: parseBinding(text(row, 'binding')) }
}

/** Finds a token with a context. Only for these the context and the client of the authorization are read. */
export const findAccessTokenWithContext = async (
  db: Database,
  { hash, hasResources }: TokenKey,
): Promise<AccessToken | undefined> => {
  const [row] = await withContextByHash(db, { hash })
  if (row === undefined || (!hasResources && textOrNull(row, 'resources') !== null)) return undefined
  const binding = textOrNull(row, 'binding')
  return {
    ...accessTokenOf(row, hasResources),
    ...(binding !== null && { binding: parseBinding(binding) }),
    ...(!ownerStands(row) && { client: undefined }),
    context: json<TokenContext>(row, 'context'),
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
  // MariaDB compares strings as if padded with spaces.
  if (row === undefined || text(row, 'client_id') !== values.clientId) return undefined
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
  if (row === undefined || text(row, 'client_id') !== values.clientId || !ownerStands(row)) return undefined
  return { subject: text(row, 'subject'), ...grantOf(row) }
}

interface TokenRow {
  hash: string
  authorizationId: string | null
  clientId: string
  subject: string | null
  scopes: string
  resources: string | null
  now: number
  expiresAt: number
}

const rowOf = (v: { readonly [Name in keyof TokenRow]: Knex.Value }): Record<string, Knex.Value> => ({
  hash: v.hash,
  authorization_id: v.authorizationId,
  client_id: v.clientId,
  subject: v.subject,
  scopes: v.scopes,
  resources: v.resources,
  created_at: v.now,
  expires_at: v.expiresAt,
})

const insert = command<TokenRow>((table, v) => table('access_tokens').insert(rowOf(v)))

const insertBound = command<TokenRow & { binding: string }>((table, v) =>
  table('access_tokens').insert({ ...rowOf(v), binding: v.binding }),
)

const insertWithContext = command<TokenRow & { binding: string | null; context: string }>((table, v) =>
  table('access_tokens').insert({ ...rowOf(v), binding: v.binding, context: v.context }),
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

export const createAccessToken = async (db: Database, token: NewAccessToken): Promise<void> => {
  const resources = token.resources.length > 0 ? token.resources.join(' ') : null
  const { context, ...others } = token
  const row = { ...others, scopes: token.scopes.join(' '), resources }
  const binding = formatBinding(token.binding)
  if (context)
    return insertWithContext(db, { ...row, binding, context: JSON.stringify(context) }).then(() => {})
  await (binding === null ? insert(db, row) : insertBound(db, { ...row, binding }))
}

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
