import type { Knex } from 'knex'
import type { ClientMetadata } from '../../protocol/clients/client-metadata.ts'
import type { Family } from '../../protocol/requests/authorization.ts'
import {
  bearer,
  formatBinding,
  parseBinding,
  type TokenBinding,
} from '../../protocol/tokens/token-binding.ts'
import type { TokenContext } from '../../protocol/tokens/token-context.ts'
import {
  command,
  insertInto,
  jsonOrUndefined,
  numberOf,
  numberOrNull,
  query,
  scopesOf,
  textOf,
  textOrNull,
  type Write,
} from '../database/statement.ts'
import type { Row } from '../database/types.ts'
import { familyColumns, familyOf } from './authorizations.ts'
import { type FullName, findOne, touches } from './statements.ts'

/** An access token, with its authorization and its client, all from one statement. */
export interface AccessToken {
  readonly clientId: string
  /** Undefined for a client's own token. */
  readonly subject: string | undefined
  readonly scopes: readonly string[]
  /** Identifiers; empty if the token is for no resource. */
  readonly resources: readonly string[]
  readonly binding: TokenBinding
  readonly issuedAt: number
  readonly expiresAt: number
  readonly revokedAt: number | null
  /** Undefined for a client's own token, and if the authorization was removed. */
  readonly family: Family | undefined
  /** The client of the authorization, which is another one after a token exchange; undefined if that is gone. */
  readonly ownerId: string | undefined
  /** The client's metadata; undefined if the client is disabled or was removed. */
  readonly client: ClientMetadata | undefined
  /** Contents beyond its authorization; absent if there are none. */
  readonly context?: TokenContext
}

/** The client of the authorization, which is another one than the token's after a token exchange. */
const joinOwner = (rows: Knex.QueryBuilder, name: FullName): Knex.QueryBuilder =>
  rows.leftJoin(name('clients as owners'), (on) =>
    on.on('owners.client_id', 'authorizations.client_id').andOnNull('owners.disabled_at'),
  )

const ownerStands = (row: Row): boolean => textOrNull(row, 'owner_client_id') !== null

const byHash = query<{ hash: string }>((table, v, name) =>
  joinOwner(
    table('access_tokens as tokens')
      .leftJoin(name('authorizations as authorizations'), 'authorizations.id', 'tokens.authorization_id')
      .leftJoin(name('logins as logins'), 'logins.sid', 'authorizations.sid')
      .leftJoin(name('clients as clients'), (on) =>
        on.on('clients.client_id', 'tokens.client_id').andOnNull('clients.disabled_at'),
      ),
    name,
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
export const findAccessToken = findOne(byHash, (row): AccessToken => {
  const binding = textOrNull(row, 'binding')
  const context = jsonOrUndefined<TokenContext>(row, 'context')
  const family = textOrNull(row, 'authorization_request') === null ? undefined : familyOf(row)
  return {
    clientId: textOf(row, 'client_id'),
    subject: textOrNull(row, 'subject') ?? undefined,
    scopes: scopesOf(row),
    resources: textOrNull(row, 'resources')?.split(' ') ?? [],
    binding: binding === null ? bearer : parseBinding(binding),
    issuedAt: numberOf(row, 'created_at'),
    expiresAt: numberOf(row, 'expires_at'),
    revokedAt: numberOrNull(row, 'revoked_at'),
    ownerId: textOrNull(row, 'owner_client_id') ?? undefined,
    family,
    client: family === undefined || ownerStands(row) ? jsonOrUndefined(row, 'client_metadata') : undefined,
    ...(context && { context }),
  }
})

interface StateValues {
  clientId: string
  /** Null for a client's own token. */
  authorizationId: string | null
  /** The client of the authorization. */
  ownerId: string
}

const state = query<StateValues>((table, v, name) =>
  joinOwner(
    table('clients as clients').leftJoin(name('authorizations as authorizations'), (on) =>
      on.onVal('authorizations.id', v.authorizationId).andOnVal('authorizations.client_id', v.ownerId),
    ),
    name,
  )
    .leftJoin(name('logins as logins'), 'logins.sid', 'authorizations.sid')
    .select([
      'authorizations.subject',
      'clients.metadata as client_metadata',
      'clients.disabled_at as client_disabled_at',
      'owners.client_id as owner_client_id',
      ...familyColumns,
    ])
    .where('clients.client_id', v.clientId),
)

/**
 * The present state of what an access token that is not stored was issued for. Undefined if its client was removed; the
 * family is undefined if the authorization or the client of that is gone.
 */
export const findStateOfToken = findOne(
  state,
  (row): Pick<AccessToken, 'subject' | 'family' | 'client'> => ({
    subject: textOrNull(row, 'subject') ?? undefined,
    family: ownerStands(row) ? familyOf(row) : undefined,
    client:
      textOrNull(row, 'client_disabled_at') === null ? jsonOrUndefined(row, 'client_metadata') : undefined,
  }),
)

const insert = insertInto('access_tokens')

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
export const createAccessToken = (token: NewAccessToken): Write =>
  insert.with({
    hash: token.hash,
    authorization_id: token.authorizationId,
    client_id: token.clientId,
    subject: token.subject,
    scopes: token.scopes.join(' '),
    resources: token.resources.join(' ') || null,
    binding: formatBinding(token.binding),
    context: token.context ? JSON.stringify(token.context) : null,
    created_at: token.now,
    expires_at: token.expiresAt,
  })

/** Revokes an access token of this client; a token of another client stays as it is. */
export const revokeAccessToken = touches(
  command<{ hash: string; clientId: string; now: number }>((table, v) =>
    table('access_tokens')
      .where({ hash: v.hash, client_id: v.clientId })
      .whereNull('revoked_at')
      .update({ revoked_at: v.now }),
  ),
)
