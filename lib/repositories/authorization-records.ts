import type { Knex } from 'knex'
import { jsonOrUndefined, number, numberOrNull } from '../database/row.ts'
import { query } from '../database/statement.ts'
import type { Database } from '../database/types.ts'
import type { Authorization } from '../protocol/authorization.ts'
import type { ClientMetadata } from '../protocol/client-metadata.ts'
import { authorizationColumns, authorizationOf } from './authorizations.ts'

/** An authorization with its client, for the user and for the host's records. */
export interface AuthorizationRecord extends Authorization {
  /** Epoch seconds. */
  readonly createdAt: number
  /** Epoch seconds of the last refresh; null before the first. */
  readonly lastUsedAt: number | null
  /** When the last access token that is not revoked expires; 0 if there is none. */
  readonly accessTokenEnd: number
  /** When the unused refresh token expires; 0 if there is none. */
  readonly refreshTokenEnd: number
  /** Undefined when the client is gone. */
  readonly client: ClientMetadata | undefined
}

/** The greatest value of an expression among this authorization's tokens. */
const greatestOf = (tokens: Knex.QueryBuilder, expression: Knex.Raw): Knex.QueryBuilder =>
  tokens.max(expression).whereRaw('?? = ??', ['tokens.authorization_id', 'authorizations.id'])

const ofSubject = query<{ subject: string }>((table, v, name, raw) =>
  table('authorizations as authorizations')
    .leftJoin(name('logins as logins'), 'logins.sid', 'authorizations.sid')
    .leftJoin(name('clients as clients'), 'clients.client_id', 'authorizations.client_id')
    .select([
      ...[...authorizationColumns, 'authorizations.created_at'],
      'clients.metadata as client_metadata',
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
    .where('authorizations.subject', v.subject)
    .orderBy('authorizations.created_at'),
)

/** Everything that a user granted and that is not pruned yet, oldest first. */
export const listAuthorizations = async (
  db: Database,
  values: { subject: string },
): Promise<AuthorizationRecord[]> =>
  (await ofSubject(db, values))
    .map((row) => ({
      ...authorizationOf(row),
      createdAt: number(row, 'created_at'),
      lastUsedAt: numberOrNull(row, 'last_used_at'),
      accessTokenEnd: numberOrNull(row, 'access_token_end') ?? 0,
      refreshTokenEnd: numberOrNull(row, 'refresh_token_end') ?? 0,
      client: jsonOrUndefined<ClientMetadata>(row, 'client_metadata'),
    }))
    // MySQL before 8.0.17 ignores trailing spaces when it compares.
    .filter(({ subject }) => subject === values.subject)
