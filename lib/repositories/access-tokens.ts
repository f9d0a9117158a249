import { jsonOrUndefined, number, numberOrNull, scopes, text, textOrNull } from '../database/row.ts'
import { command, query } from '../database/statement.ts'
import type { Database, Row } from '../database/types.ts'
import type { Family } from '../protocol/authorization.ts'
import type { ClientMetadata } from '../protocol/client-metadata.ts'
import { familyColumns, familyOf } from './authorizations.ts'

/** An opaque access token, with its authorization and its client, all from one statement. */
export interface AccessToken {
  readonly clientId: string
  /** Undefined for a client's own token. */
  readonly subject: string | undefined
  readonly scopes: readonly string[]
  readonly createdAt: number
  readonly expiresAt: number
  readonly revokedAt: number | null
  /** Undefined for a client's own token, and if the authorization was removed. */
  readonly family: Family | undefined
  /** The client's metadata; undefined if the client is disabled or was removed. */
  readonly client: ClientMetadata | undefined
}

const accessTokenOf = (row: Row): AccessToken => ({
  clientId: text(row, 'client_id'),
  subject: textOrNull(row, 'subject') ?? undefined,
  scopes: scopes(row),
  createdAt: number(row, 'created_at'),
  expiresAt: number(row, 'expires_at'),
  revokedAt: numberOrNull(row, 'revoked_at'),
  family: textOrNull(row, 'authorization_request') === null ? undefined : familyOf(row),
  client:
    textOrNull(row, 'client_disabled_at') === null ? jsonOrUndefined(row, 'client_metadata') : undefined,
})

const byHash = query<{ hash: string }>((table, v, name) =>
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
      'clients.metadata as client_metadata',
      'clients.disabled_at as client_disabled_at',
      ...familyColumns,
    ])
    .where('tokens.hash', v.hash),
)

export const findAccessToken = async (
  db: Database,
  values: { hash: string },
): Promise<AccessToken | undefined> => {
  const [row] = await byHash(db, values)
  return row && accessTokenOf(row)
}

const insert = command<{
  hash: string
  authorizationId: string | null
  clientId: string
  subject: string | null
  scopes: string
  now: number
  expiresAt: number
}>((table, v) =>
  table('access_tokens').insert({
    hash: v.hash,
    authorization_id: v.authorizationId,
    client_id: v.clientId,
    subject: v.subject,
    scopes: v.scopes,
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
  readonly now: number
  readonly expiresAt: number
}

export const createAccessToken = async (db: Database, token: NewAccessToken): Promise<void> => {
  await insert(db, { ...token, scopes: token.scopes.join(' ') })
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
