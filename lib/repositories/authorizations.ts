import type { Knex } from 'knex'
import { flag, json, jsonOrUndefined, number, numberOrNull, scopes, text } from '../database/row.ts'
import { command, query } from '../database/statement.ts'
import type { Database, Row } from '../database/types.ts'
import type { Authorization, AuthorizationDetails, Family } from '../protocol/authorization.ts'
import type { ClientMetadata } from '../protocol/client-metadata.ts'
import { type BatchParams, batchParams, batchSize, keysIn } from './pruning/batch.ts'

/** What tells whether a family stands, under names that cannot clash with those of a token. */
export const familyColumns = [
  'authorizations.offline as authorization_offline',
  'authorizations.expires_at as authorization_expires_at',
  'authorizations.revoked_at as authorization_revoked_at',
  'authorizations.request as authorization_request',
  'logins.expires_at as login_expires_at',
  'logins.ended_at as login_ended_at',
]

/** Columns of an authorization and of its login, likewise. */
export const authorizationColumns = [
  'authorizations.id as authorization_id',
  'authorizations.client_id as authorization_client_id',
  'authorizations.subject as authorization_subject',
  'authorizations.sid as authorization_sid',
  'authorizations.scopes as authorization_scopes',
  'authorizations.code_expires_at as authorization_code_expires_at',
  'authorizations.consumed_at as authorization_consumed_at',
  ...familyColumns,
]

/** Without `offline_access` the family ends with its login at the latest. */
const endOf = (row: Row): number => {
  const absolute = number(row, 'authorization_expires_at')
  const login = numberOrNull(row, 'login_expires_at') ?? 0
  return flag(row, 'authorization_offline') ? absolute : Math.min(absolute, login)
}

/** Reads the state of a family from a row that holds {@link familyColumns}. */
export const familyOf = (row: Row): Family => ({
  offline: flag(row, 'authorization_offline'),
  expiresAt: endOf(row),
  revokedAt: numberOrNull(row, 'authorization_revoked_at'),
  details: json<AuthorizationDetails>(row, 'authorization_request'),
  loginStands: numberOrNull(row, 'login_expires_at') !== null && numberOrNull(row, 'login_ended_at') === null,
})

/** Reads an authorization from a row that holds {@link authorizationColumns}. */
export const authorizationOf = (row: Row): Authorization => ({
  id: text(row, 'authorization_id'),
  clientId: text(row, 'authorization_client_id'),
  subject: text(row, 'authorization_subject'),
  sid: text(row, 'authorization_sid'),
  scopes: scopes(row, 'authorization_scopes'),
  codeExpiresAt: number(row, 'authorization_code_expires_at'),
  consumedAt: numberOrNull(row, 'authorization_consumed_at'),
  ...familyOf(row),
})

const byCode = query<{ codeHash: string }>((table, v, name) =>
  table('authorizations as authorizations')
    .leftJoin(name('logins as logins'), 'logins.sid', 'authorizations.sid')
    .select(authorizationColumns)
    .where('authorizations.code_hash', v.codeHash),
)

/** The authorization that a code belongs to, redeemed or not. */
export const findAuthorizationByCode = async (
  db: Database,
  values: { codeHash: string },
): Promise<Authorization | undefined> => {
  const [row] = await byCode(db, values)
  return row && authorizationOf(row)
}

const insert = command<{
  id: string
  clientId: string
  subject: string
  sid: string
  scopes: string
  offline: number
  codeHash: string
  codeExpiresAt: number
  now: number
  expiresAt: number
  request: string
}>((table, v) =>
  table('authorizations').insert({
    id: v.id,
    client_id: v.clientId,
    subject: v.subject,
    sid: v.sid,
    scopes: v.scopes,
    offline: v.offline,
    code_hash: v.codeHash,
    code_expires_at: v.codeExpiresAt,
    created_at: v.now,
    expires_at: v.expiresAt,
    request: v.request,
  }),
)

export type NewAuthorization = Pick<
  Authorization,
  'id' | 'clientId' | 'subject' | 'sid' | 'scopes' | 'offline' | 'codeExpiresAt' | 'expiresAt' | 'details'
> & { codeHash: string; now: number }

export const createAuthorization = async (db: Database, authorization: NewAuthorization): Promise<void> => {
  const { details, scopes: granted, offline, ...rest } = authorization
  await insert(db, {
    ...rest,
    scopes: granted.join(' '),
    offline: offline ? 1 : 0,
    request: JSON.stringify(details),
  })
}

const consume = command<{ id: string; now: number }>((table, v) =>
  table('authorizations')
    .where({ id: v.id })
    .whereNull('consumed_at')
    .whereNull('revoked_at')
    .update({ consumed_at: v.now }),
)

/** @returns whether it was this call that redeemed the code */
export const consumeAuthorizationCode = async (
  db: Database,
  values: { id: string; now: number },
): Promise<boolean> => (await consume(db, values)) === 1

const revoke = command<{ id: string; now: number }>((table, v) =>
  table('authorizations').where({ id: v.id }).whereNull('revoked_at').update({ revoked_at: v.now }),
)

/** Ends a whole family in one statement: every verification of a token reads this row too. */
export const revokeAuthorization = async (
  db: Database,
  values: { id: string; now: number },
): Promise<boolean> => (await revoke(db, values)) === 1

const revokeOfClient = command<{ subject: string; clientId: string; now: number }>((table, v) =>
  table('authorizations')
    .where({ subject: v.subject, client_id: v.clientId })
    .whereNull('revoked_at')
    .update({ revoked_at: v.now }),
)

/**
 * Ends everything that a user ever gave to one client.
 *
 * @returns whether there was something to end
 */
export const revokeAuthorizationsOfClient = async (
  db: Database,
  values: { subject: string; clientId: string; now: number },
): Promise<boolean> => (await revokeOfClient(db, values)) > 0

const revokeOfSubject = command<{ subject: string; now: number }>((table, v) =>
  table('authorizations').where({ subject: v.subject }).whereNull('revoked_at').update({ revoked_at: v.now }),
)

/** Ends everything that a user ever gave to any client. */
export const revokeAuthorizationsOfSubject = async (
  db: Database,
  values: { subject: string; now: number },
): Promise<void> => {
  await revokeOfSubject(db, values)
}

/** An authorization with its client, for the user and for the host's records. */
export interface AuthorizationRecord extends Authorization {
  /** Epoch seconds. */
  readonly createdAt: number
  /** Epoch seconds of the last refresh, to the minute; null before the first. */
  readonly lastUsedAt: number | null
  /** When the last access token that stands expires, and the unused refresh token; 0 where there is none. */
  readonly accessTokenEnd: number
  readonly refreshTokenEnd: number
  /** Undefined when the client is gone. */
  readonly client: ClientMetadata | undefined
}

/**
 * The last end among the tokens of the family at hand that this column says nothing of. A condition on that column
 * would send SQLite to its index, and so through the tokens of everybody.
 */
const lastWithout = (tokens: Knex.QueryBuilder, column: string, raw: Knex.RawBuilder): Knex.QueryBuilder =>
  tokens
    .select(raw('max(case when ?? is null then ?? end)', [column, 'tokens.expires_at']))
    .whereRaw('?? = ??', ['tokens.authorization_id', 'authorizations.id'])

const ofSubject = query<{ subject: string }>((table, v, name, raw) =>
  table('authorizations as authorizations')
    .leftJoin(name('logins as logins'), 'logins.sid', 'authorizations.sid')
    .leftJoin(name('clients as clients'), 'clients.client_id', 'authorizations.client_id')
    .select([
      ...[...authorizationColumns, 'authorizations.created_at', 'authorizations.last_used_at'],
      'clients.metadata as client_metadata',
      lastWithout(table('access_tokens as tokens'), 'tokens.revoked_at', raw).as('access_token_end'),
      lastWithout(table('refresh_tokens as tokens'), 'tokens.consumed_at', raw).as('refresh_token_end'),
    ])
    .where('authorizations.subject', v.subject)
    .orderBy('authorizations.created_at'),
)

/** All that a user gave to any client, as far as it is kept; the oldest first. */
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
    // MariaDB compares texts as if padded with spaces.
    .filter(({ subject }) => subject === values.subject)

const stamp = command<BatchParams>((table, v) =>
  table('authorizations')
    .whereIn('id', keysIn(v))
    .update({ last_used_at: v.time ?? null }),
)

/** Notes that these authorizations were used then; a batch of them in each statement. */
export const stampAuthorizations = async (
  db: Database,
  { ids, time }: { ids: readonly string[]; time: number },
): Promise<void> => {
  for (let start = 0; start < ids.length; start += batchSize)
    await stamp(db, batchParams(ids.slice(start, start + batchSize), { time }))
}

const clientsOfLogin = query<{ sid: string }>((table, v, name) =>
  table('authorizations as authorizations')
    .join(name('clients as clients'), 'clients.client_id', 'authorizations.client_id')
    .select(['clients.client_id', 'clients.metadata'])
    .where('authorizations.sid', v.sid)
    .whereNull('clients.disabled_at'),
)

/** A client that was given something under a login. */
export interface LoggedInClient {
  readonly clientId: string
  readonly metadata: ClientMetadata
}

/** The clients of one login, each once. */
export const findClientsOfLogin = async (
  db: Database,
  values: { sid: string },
): Promise<LoggedInClient[]> => {
  const rows = await clientsOfLogin(db, values)
  const clients = rows.map((row): [string, LoggedInClient] => [
    text(row, 'client_id'),
    { clientId: text(row, 'client_id'), metadata: json<ClientMetadata>(row, 'metadata') },
  ])
  return [...new Map(clients).values()]
}
