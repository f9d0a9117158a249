import type { Knex } from 'knex'
import type { AuthorizationState } from '../../protocol/requests/authorization.ts'
import { numberOf, numberOrNull, query, textOf } from '../database/statement.ts'
import type { Database, Row } from '../database/types.ts'
import { authorizationColumns, authorizationOf } from './authorizations.ts'
import { type BatchParams, keysIn } from './pruning/batch.ts'
import { readInBatches } from './read-in-batches.ts'
import { type FullName, findAll, type Table } from './statements.ts'

/** An authorization, for the user and for the host's records. */
export interface AuthorizationRecord extends AuthorizationState {
  /** Epoch seconds. */
  readonly createdAt: number
  /** Epoch seconds of the last refresh; null before the first. */
  readonly lastUsedAt: number | null
  /** When the last access token that is not revoked expires; 0 if there is none. */
  readonly accessTokenEnd: number
  /** When the unused refresh token expires; 0 if there is none. */
  readonly refreshTokenEnd: number
}

/** The greatest value of an expression among this authorization's tokens. */
const greatestOf = (tokens: Knex.QueryBuilder, expression: Knex.Raw): Knex.QueryBuilder =>
  tokens.max(expression).whereRaw('?? = ??', ['tokens.authorization_id', 'authorizations.id'])

/** Authorizations with their login, and what is known of their tokens. */
export const records = (table: Table, name: FullName, raw: Knex.RawBuilder): Knex.QueryBuilder =>
  table('authorizations as authorizations')
    .leftJoin(name('logins as logins'), 'logins.sid', 'authorizations.sid')
    .select([
      ...authorizationColumns,
      'authorizations.created_at',
      // CASE instead of WHERE: with a condition on this column SQLite would use its index, and read everybody's tokens.
      greatestOf(
        table('access_tokens as tokens'),
        raw('case when ?? is null then ?? end', ['tokens.revoked_at', 'tokens.expires_at']),
      ).as('access_token_end'),
      greatestOf(
        table('refresh_tokens as tokens'),
        raw('case when ?? is null then ?? end', ['tokens.consumed_at', 'tokens.expires_at']),
      ).as('refresh_token_end'),
      greatestOf(
        table('refresh_tokens as tokens'),
        raw('coalesce(??, ??)', ['tokens.consumed_at', 'tokens.last_used_at']),
      ).as('last_used_at'),
    ])

export const recordOf = (row: Row): AuthorizationRecord => ({
  ...authorizationOf(row),
  createdAt: numberOf(row, 'created_at'),
  lastUsedAt: numberOrNull(row, 'last_used_at'),
  accessTokenEnd: numberOrNull(row, 'access_token_end') ?? 0,
  refreshTokenEnd: numberOrNull(row, 'refresh_token_end') ?? 0,
})

/** The most authorizations of one client that the user's list reads and counts. */
const maxOfClient = 200

/** The authorizations of a user for one client that did not end, newest first; the newest 200. */
export const listAuthorizationsOfClient = findAll(
  query<{ subject: string; clientId: string }>((table, v, name, raw) =>
    records(table, name, raw)
      .where({ 'authorizations.subject': v.subject, 'authorizations.client_id': v.clientId })
      .whereNull('authorizations.revoked_at')
      .orderBy('authorizations.created_at', 'desc')
      .limit(maxOfClient, { skipBinding: true }),
  ),
  recordOf,
)

/** The most authorizations and logins of a user that administrators see. */
export const maxNewest = 50

/** The authorizations of a user that did not end, newest first; the newest 50. */
export const listNewestAuthorizations = findAll(
  query<{ subject: string }>((table, v, name, raw) =>
    records(table, name, raw)
      .where({ 'authorizations.subject': v.subject })
      .whereNull('authorizations.revoked_at')
      .orderBy('authorizations.created_at', 'desc')
      .limit(maxNewest, { skipBinding: true }),
  ),
  recordOf,
)

const idsOfSubject = query<{ subject: string }>((table, v) =>
  table('authorizations').select('id').where({ subject: v.subject }).orderBy(['created_at', 'id']),
)

const byIds = query<BatchParams>((table, v, name, raw) =>
  records(table, name, raw)
    .whereIn('authorizations.id', keysIn(v))
    .orderBy(['authorizations.created_at', 'authorizations.id']),
)

/** Everything that a user granted and that is not pruned yet, oldest first. */
export const listAuthorizations = async (
  db: Database,
  values: { subject: string },
): Promise<AuthorizationRecord[]> => {
  const ids = (await idsOfSubject(db, values)).map((row) => textOf(row, 'id'))
  return (await readInBatches(db, ids, byIds)).map(recordOf)
}
