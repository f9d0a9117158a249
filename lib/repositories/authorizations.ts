import type { Knex } from 'knex'
import {
  command,
  flag,
  json,
  number,
  numberOrNull,
  query,
  scopes,
  text,
  textOrNull,
  type Write,
} from '../database/statement.ts'
import type { Database, Row } from '../database/types.ts'
import type { Client } from '../protocol/clients/client.ts'
import type { ClientMetadata } from '../protocol/clients/client-metadata.ts'
import type { Authorization, AuthorizationDetails, Family } from '../protocol/requests/authorization.ts'
import { type ClientLookup, clientColumns, clientOf } from './clients.ts'
import { type BatchParams, batchParams, batchSize, keysIn } from './pruning/batch.ts'

/** Columns that decide whether an authorization is active, under names that differ from those of a token. */
export const familyColumns = [
  'authorizations.offline as authorization_offline',
  'authorizations.expires_at as authorization_expires_at',
  'authorizations.revoked_at as authorization_revoked_at',
  'authorizations.request as authorization_request',
  'logins.expires_at as login_expires_at',
  'logins.ended_at as login_ended_at',
]

/** Columns of an authorization and of its login. */
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

/** Without `offline_access` an authorization ends with its login at the latest. */
const endOf = (row: Row): number => {
  const absolute = number(row, 'authorization_expires_at')
  const login = numberOrNull(row, 'login_expires_at') ?? 0
  return flag(row, 'authorization_offline') ? absolute : Math.min(absolute, login)
}

/** Reads the state of an authorization from a row with {@link familyColumns}. */
export const familyOf = (row: Row): Family => ({
  offline: flag(row, 'authorization_offline'),
  expiresAt: endOf(row),
  revokedAt: numberOrNull(row, 'authorization_revoked_at'),
  details: json<AuthorizationDetails>(row, 'authorization_request'),
  loginStands: numberOrNull(row, 'login_expires_at') !== null && numberOrNull(row, 'login_ended_at') === null,
})

/** Reads an authorization from a row with {@link authorizationColumns}. */
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

/** The authorization of a code, redeemed or not. */
export const findAuthorizationByCode = async (
  db: Database,
  values: { codeHash: string },
): Promise<Authorization | undefined> => {
  const [row] = await byCode(db, values)
  return row && authorizationOf(row)
}

const byClientAndCode = query<{ clientId: string; codeHash: string }>((table, v, name) =>
  table('clients as clients')
    .leftJoin(name('authorizations as authorizations'), (on) =>
      on.onVal('authorizations.code_hash', v.codeHash),
    )
    .leftJoin(name('logins as logins'), 'logins.sid', 'authorizations.sid')
    .select([...clientColumns.map((column) => `clients.${column}`), ...authorizationColumns])
    .where('clients.client_id', v.clientId),
)

/** A client, and the authorization of the code that it presents, of whichever client it is. */
export const findClientAndCode = async (
  db: Database,
  { codeHash, clientId, now }: ClientLookup & { codeHash: string },
): Promise<{ client: Client; authorization: Authorization | undefined } | undefined> => {
  const [row] = await byClientAndCode(db, { clientId, codeHash })
  if (row === undefined) return undefined
  const isKnown = textOrNull(row, 'authorization_id') !== null
  return { client: clientOf(row, now), authorization: isKnown ? authorizationOf(row) : undefined }
}

const byAccessToken = query<{ hash: string }>((table, v, name) =>
  table('access_tokens as tokens')
    .join(name('authorizations as authorizations'), 'authorizations.id', 'tokens.authorization_id')
    .leftJoin(name('logins as logins'), 'logins.sid', 'authorizations.sid')
    .select(authorizationColumns)
    .where('tokens.hash', v.hash),
)

/** The authorization of a stored access token; undefined for a client's own token. */
export const findAuthorizationByAccessToken = async (
  db: Database,
  values: { hash: string },
): Promise<Authorization | undefined> => {
  const [row] = await byAccessToken(db, values)
  return row && authorizationOf(row)
}

const byId = query<{ id: string }>((table, v, name) =>
  table('authorizations as authorizations')
    .leftJoin(name('logins as logins'), 'logins.sid', 'authorizations.sid')
    .select(authorizationColumns)
    .where('authorizations.id', v.id),
)

/** An authorization by its id. */
export const findAuthorization = async (
  db: Database,
  values: { id: string },
): Promise<Authorization | undefined> => {
  const [row] = await byId(db, values)
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

/** Stores an authorization. */
export const createAuthorization = (authorization: NewAuthorization): Write => {
  const { details, scopes: granted, offline, ...rest } = authorization
  return insert.with({
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

const consumeAndBind = command<{ id: string; now: number; request: string }>((table, v) =>
  table('authorizations')
    .where({ id: v.id })
    .whereNull('consumed_at')
    .whereNull('revoked_at')
    .update({ consumed_at: v.now, request: v.request }),
)

/**
 * Redeems a code, once.
 *
 * @param values.details what the authorization keeps from now on, if that changes
 */
export const consumeAuthorizationCode = ({
  details,
  ...values
}: {
  id: string
  now: number
  details?: AuthorizationDetails
}): Write =>
  details ? consumeAndBind.with({ ...values, request: JSON.stringify(details) }) : consume.with(values)

const revoke = command<{ id: string; now: number }>((table, v) =>
  table('authorizations').where({ id: v.id }).whereNull('revoked_at').update({ revoked_at: v.now }),
)

/** Ends an authorization and all of its tokens: verifying a token reads this row too. */
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
 * Ends everything that a user granted to one client.
 *
 * @returns whether anything was active
 */
export const revokeAuthorizationsOfClient = async (
  db: Database,
  values: { subject: string; clientId: string; now: number },
): Promise<boolean> => (await revokeOfClient(db, values)) > 0

const activeOfClient = query<{ subject: string; clientId: string }>((table, v) =>
  table('authorizations')
    .select(['id', 'request'])
    .where({ subject: v.subject, client_id: v.clientId })
    .whereNull('revoked_at'),
)

const revokeAll = command<BatchParams>((table, v) =>
  table('authorizations')
    .whereIn('id', keysIn(v))
    .whereNull('revoked_at')
    .update({ revoked_at: v.now ?? null }),
)

/**
 * Ends what a user granted to one client for one organization. Call it in a transaction that holds the lock on the
 * consent; otherwise it misses a code that is issued at the same moment.
 *
 * @param values.organization undefined for what was granted before the host had organizations
 * @returns whether anything was active
 */
export const revokeAuthorizationsOfOrganization = async (
  db: Database,
  values: { subject: string; clientId: string; organization: string | undefined; now: number },
): Promise<boolean> => {
  const { subject, clientId, organization, now } = values
  const ids = (await activeOfClient(db, { subject, clientId }))
    .filter((row) => json<AuthorizationDetails>(row, 'request').organization === organization)
    .map((row) => text(row, 'id'))
  let count = 0
  for (let start = 0; start < ids.length; start += batchSize)
    count += await revokeAll(db, batchParams(ids.slice(start, start + batchSize), { now }))
  return count > 0
}

interface Live {
  subject: string
  clientId: string
  /** 1 with `offline_access`. */
  offline: number
  /** Epoch seconds; codes that expired before and were not redeemed do not count. */
  recently: number
}

const live = (rows: Knex.QueryBuilder, v: { readonly [Name in keyof Live]: Knex.Value }): Knex.QueryBuilder =>
  rows
    .where({ subject: v.subject, client_id: v.clientId, offline: v.offline })
    .whereNull('revoked_at')
    .where((either) => either.whereNotNull('consumed_at').orWhere('code_expires_at', '>', v.recently))

const countOfLive = query<Live>((table, v) => live(table('authorizations').count('id as count'), v))

const oldestLive = query<Live>((table, v) =>
  live(table('authorizations').select('id'), v).orderBy('created_at').limit(batchSize, { skipBinding: true }),
)

/** Seconds for which an authorization counts whose code was not redeemed: its tokens may be in the response itself. */
const unredeemedAge = 3600

/**
 * Ends the oldest authorizations of a user for a client, beyond a number. Those with `offline_access`, which outlive the
 * login, and those without it are counted apart.
 *
 * @returns the ids of those that were ended by this call, at most 100; call it again until there are none
 */
export const revokeSurplusAuthorizations = async (
  db: Database,
  {
    subject,
    clientId,
    ...values
  }: { subject: string; clientId: string; offline: boolean; max: number; now: number },
): Promise<string[]> => {
  const { max, now } = values
  const which = { subject, clientId, offline: values.offline ? 1 : 0, recently: now - unredeemedAge }
  const [row] = await countOfLive(db, which)
  const surplus = (row ? number(row, 'count') : 0) - max
  if (surplus <= 0) return []
  const ids = (await oldestLive(db, which)).slice(0, surplus).map((one) => text(one, 'id'))
  await revokeAll(db, batchParams(ids, { now }))
  return ids
}

const revokeOfSubject = command<{ subject: string; now: number }>((table, v) =>
  table('authorizations').where({ subject: v.subject }).whereNull('revoked_at').update({ revoked_at: v.now }),
)

/** Ends everything that a user granted to any client. */
export const revokeAuthorizationsOfSubject = async (
  db: Database,
  values: { subject: string; now: number },
): Promise<void> => {
  await revokeOfSubject(db, values)
}

const clientsOfLogin = query<{ sid: string }>((table, v) =>
  table('clients')
    .select(['client_id', 'metadata'])
    .whereIn('client_id', table('authorizations').select('client_id').where({ sid: v.sid }))
    .whereNull('disabled_at'),
)

/** A client with an authorization under a login. */
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
  return rows.map((row) => ({
    clientId: text(row, 'client_id'),
    metadata: json<ClientMetadata>(row, 'metadata'),
  }))
}
