import type { Knex } from 'knex'
import type { Choices } from '../../protocol/choices.ts'
import type { Client } from '../../protocol/clients/client.ts'
import type { ClientMetadata } from '../../protocol/clients/client-metadata.ts'
import type { Narrowable } from '../../protocol/narrowing.ts'
import type {
  AuthorizationDetails,
  AuthorizationState,
  Family,
} from '../../protocol/requests/authorization.ts'
import { formatBinding, parseBinding } from '../../protocol/tokens/token-binding.ts'
import {
  command,
  flagOf,
  insertInto,
  json,
  jsonOrUndefined,
  numberOf,
  numberOrNull,
  query,
  scopesOf,
  textOf,
  textOrNull,
  type Write,
} from '../database/statement.ts'
import type { Database, Row } from '../database/types.ts'
import { type ClientLookup, clientColumns, clientOf } from './clients.ts'
import { type BatchParams, batchParams, batchSize, isLast, keysIn } from './pruning/batch.ts'
import { type FullName, findAll, findOne, type Places, type Table, touches } from './statements.ts'

/** Columns that decide whether an authorization is active, under names that differ from those of a token. */
export const familyColumns = [
  'authorizations.offline as authorization_offline',
  'authorizations.expires_at as authorization_expires_at',
  'authorizations.revoked_at as authorization_revoked_at',
  'authorizations.request as authorization_request',
  'authorizations.choices as authorization_choices',
  'authorizations.narrowed as authorization_narrowed',
  'logins.expires_at as login_expires_at',
  'logins.ended_at as login_ended_at',
]

/** Columns of an authorization and of its login. */
export const authorizationColumns = [
  'authorizations.id as authorization_id',
  'authorizations.client_id as authorization_client_id',
  'authorizations.binding as authorization_binding',
  'authorizations.subject as authorization_subject',
  'authorizations.sid as authorization_sid',
  'authorizations.scopes as authorization_scopes',
  'authorizations.created_at as authorization_created_at',
  'authorizations.code_expires_at as authorization_code_expires_at',
  'authorizations.consumed_at as authorization_consumed_at',
  ...familyColumns,
]

/** Without `offline_access` an authorization ends with its login at the latest. */
const endOf = (row: Row): number => {
  const absolute = numberOf(row, 'authorization_expires_at')
  const login = numberOrNull(row, 'login_expires_at') ?? 0
  return flagOf(row, 'authorization_offline') ? absolute : Math.min(absolute, login)
}

/** The column `choices`. */
interface StoredChoices {
  readonly choices?: Choices
  readonly removed?: readonly string[]
}

/** The details in two columns: the key that the code needs is apart, in the form of every binding. */
const columnsOf = ({
  binding,
  ...request
}: AuthorizationDetails): { request: string; binding: string | null } => ({
  request: JSON.stringify(request),
  binding: binding === undefined ? null : formatBinding(binding),
})

/** Reads the state of an authorization from a row with {@link familyColumns}. */
export const familyOf = (row: Row): Family => ({
  offline: flagOf(row, 'authorization_offline'),
  expiresAt: endOf(row),
  revokedAt: numberOrNull(row, 'authorization_revoked_at'),
  details: json<AuthorizationDetails>(row, 'authorization_request'),
  ...jsonOrUndefined<StoredChoices>(row, 'authorization_choices'),
  narrowed: numberOf(row, 'authorization_narrowed'),
  loginStands: numberOrNull(row, 'login_expires_at') !== null && numberOrNull(row, 'login_ended_at') === null,
})

/** Reads an authorization from a row with {@link authorizationColumns}. */
export const authorizationOf = (row: Row): AuthorizationState => {
  const { details, ...family } = familyOf(row)
  const binding = textOrNull(row, 'authorization_binding')
  return {
    id: textOf(row, 'authorization_id'),
    clientId: textOf(row, 'authorization_client_id'),
    subject: textOf(row, 'authorization_subject'),
    sid: textOf(row, 'authorization_sid'),
    scopes: scopesOf(row, 'authorization_scopes'),
    createdAt: numberOf(row, 'authorization_created_at'),
    loginEnd: numberOrNull(row, 'login_expires_at') ?? 0,
    codeExpiresAt: numberOf(row, 'authorization_code_expires_at'),
    consumedAt: numberOrNull(row, 'authorization_consumed_at'),
    ...family,
    details: { ...details, ...(binding !== null && { binding: parseBinding(binding) }) },
  }
}

/** Authorizations with their login. */
const withLogin = (table: Table, name: FullName): Knex.QueryBuilder =>
  table('authorizations as authorizations')
    .leftJoin(name('logins as logins'), 'logins.sid', 'authorizations.sid')
    .select(authorizationColumns)

/** An authorization by its id. */
export const findAuthorization = findOne(
  query<{ id: string }>((table, v, name) => withLogin(table, name).where('authorizations.id', v.id)),
  authorizationOf,
)

/** The authorization of a code, redeemed or not. */
export const findAuthorizationByCode = findOne(
  query<{ codeHash: string }>((table, v, name) =>
    withLogin(table, name).where('authorizations.code_hash', v.codeHash),
  ),
  authorizationOf,
)

/** The authorization of a stored access token; undefined for a client's own token. */
export const findAuthorizationByAccessToken = findOne(
  query<{ hash: string }>((table, v, name) =>
    withLogin(table, name)
      .join(name('access_tokens as tokens'), 'tokens.authorization_id', 'authorizations.id')
      .where('tokens.hash', v.hash),
  ),
  authorizationOf,
)

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
): Promise<{ client: Client; authorization: AuthorizationState | undefined } | undefined> => {
  const [row] = await byClientAndCode(db, { clientId, codeHash })
  if (row === undefined) return undefined
  const isKnown = textOrNull(row, 'authorization_id') !== null
  return { client: clientOf(row, now), authorization: isKnown ? authorizationOf(row) : undefined }
}

const insert = insertInto('authorizations')

export type NewAuthorization = Pick<
  AuthorizationState,
  | 'id'
  | 'clientId'
  | 'subject'
  | 'sid'
  | 'scopes'
  | 'offline'
  | 'codeExpiresAt'
  | 'expiresAt'
  | 'details'
  | 'choices'
> & { codeHash: string; now: number }

/** Stores an authorization. */
export const createAuthorization = (authorization: NewAuthorization): Write =>
  insert.with({
    id: authorization.id,
    client_id: authorization.clientId,
    subject: authorization.subject,
    sid: authorization.sid,
    scopes: authorization.scopes.join(' '),
    offline: authorization.offline ? 1 : 0,
    code_hash: authorization.codeHash,
    code_expires_at: authorization.codeExpiresAt,
    created_at: authorization.now,
    expires_at: authorization.expiresAt,
    ...columnsOf(authorization.details),
    choices: authorization.choices ? JSON.stringify({ choices: authorization.choices }) : null,
  })

/** Redeems a code, once. */
export const consumeAuthorizationCode = command<{ id: string; narrowed: number; now: number }>((table, v) =>
  table('authorizations')
    .where({ id: v.id, narrowed: v.narrowed })
    .whereNull('consumed_at')
    .whereNull('revoked_at')
    .update({ consumed_at: v.now }),
).with

/** Locks an authorization that was neither revoked nor narrowed since it was read, until the end of the transaction. */
export const lockAsRead = command<{ id: string; narrowed: number }>((table, v) =>
  table('authorizations')
    .where({ id: v.id, narrowed: v.narrowed })
    .whereNull('revoked_at')
    .update({ revoked_at: null }),
).with

/** Ends an authorization and all of its tokens: verifying a token reads this row too. */
export const revokeAuthorization = touches(
  command<{ id: string; now: number }>((table, v) =>
    table('authorizations').where({ id: v.id }).whereNull('revoked_at').update({ revoked_at: v.now }),
  ),
)

/** Ends everything that a user granted to one client. */
export const revokeAuthorizationsOfClient = touches(
  command<{ subject: string; clientId: string; now: number }>((table, v) =>
    table('authorizations')
      .where({ subject: v.subject, client_id: v.clientId })
      .whereNull('revoked_at')
      .update({ revoked_at: v.now }),
  ),
)

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
    .map((row) => textOf(row, 'id'))
  let count = 0
  for (let start = 0; start < ids.length; start += batchSize)
    count += await revokeAll(db, batchParams(ids.slice(start, start + batchSize), { now }))
  return count > 0
}

const inOrganization = query<{ pattern: string; after: string }>((table, v, _name, raw) =>
  table('authorizations')
    .select(['id', 'request'])
    .where('id', '>', v.after)
    .whereNull('revoked_at')
    .whereRaw(raw("?? like ? escape '!'", ['request', v.pattern] as Knex.RawBinding[]))
    .orderBy('id')
    .limit(batchSize, { skipBinding: true }),
)

/** Ends everything that was granted for an organization. It reads the whole table. */
export const revokeAuthorizationsInOrganization = async (
  db: Database,
  { organization, now }: { organization: string; now: number },
): Promise<void> => {
  const member = JSON.stringify({ organization }).slice(1, -1)
  const pattern = `%${member.replaceAll(/[!%_]/g, '!$&')}%`
  let rows: readonly Row[] = []
  do {
    const after = rows.at(-1)
    rows = await inOrganization(db, { pattern, after: after ? textOf(after, 'id') : '' })
    const ids = rows
      .filter((row) => json<AuthorizationDetails>(row, 'request').organization === organization)
      .map((row) => textOf(row, 'id'))
    if (ids.length > 0) await revokeAll(db, batchParams(ids, { now }))
  } while (!isLast(rows))
}

const lockActive = command<{ subject: string; clientId: string }>((table, v) =>
  table('authorizations')
    .where({ subject: v.subject, client_id: v.clientId })
    .whereNull('revoked_at')
    .update({ revoked_at: null }),
)

const activeAuthorizations = query<{ subject: string; clientId: string }>((table, v) =>
  table('authorizations')
    .select([
      'id',
      'scopes',
      'expires_at',
      'request as authorization_request',
      'choices as authorization_choices',
    ])
    .where({ subject: v.subject, client_id: v.clientId })
    .whereNull('revoked_at')
    .orderBy('created_at'),
)

/**
 * The authorizations of a user for one client and one organization, oldest first, locked until the end of the transaction.
 *
 * @param values.organization undefined if the host has none
 */
export const lockAuthorizationsOfClient = async (
  tx: Database,
  { organization, ...pair }: { subject: string; clientId: string; organization: string | undefined },
): Promise<(Narrowable & { readonly id: string })[]> => {
  await lockActive(tx, pair)
  return (await activeAuthorizations(tx, pair))
    .filter((row) => json<AuthorizationDetails>(row, 'authorization_request').organization === organization)
    .map((row) => ({
      id: textOf(row, 'id'),
      scopes: scopesOf(row),
      expiresAt: numberOf(row, 'expires_at'),
      ...jsonOrUndefined<StoredChoices>(row, 'authorization_choices'),
    }))
}

const narrow = command<{ id: string; scopes: string; choices: string; expiresAt: number }>(
  (table, v, _name, raw) =>
    table('authorizations')
      .where({ id: v.id })
      .update({
        scopes: v.scopes,
        choices: v.choices,
        expires_at: v.expiresAt,
        narrowed: raw('?? + 1', ['narrowed']),
      }),
)

/** Stores what is left of an authorization: all of its tokens say no more from now on. */
export const narrowAuthorization = async (
  tx: Database,
  { id, scopes, choices, removed, expiresAt }: Narrowable & { readonly id: string },
): Promise<void> => {
  const stored = { ...(choices && { choices }), ...(removed && { removed }) }
  await narrow(tx, { id, scopes: scopes.join(' '), choices: JSON.stringify(stored), expiresAt })
}

interface Live {
  subject: string
  clientId: string
  /** 1 with `offline_access`. */
  offline: number
  /** Epoch seconds; codes that expired before and were not redeemed do not count. */
  recently: number
}

const live = (rows: Knex.QueryBuilder, v: Places<keyof Live>): Knex.QueryBuilder =>
  rows
    .where({ subject: v.subject, client_id: v.clientId, offline: v.offline })
    .whereNull('revoked_at')
    .where((either) => either.whereNotNull('consumed_at').orWhere('code_expires_at', '>', v.recently))

const countOfLive = query<Live>((table, v) => live(table('authorizations').count('id as count'), v))

/** A code that can still be redeemed is not ended, and what began in this second may be the newest. */
const oldestLive = query<Live & { now: number }>((table, v) =>
  live(table('authorizations').select('id'), v)
    .where('created_at', '<', v.now)
    .where((either) => either.whereNotNull('consumed_at').orWhere('code_expires_at', '<=', v.now))
    .orderBy('created_at')
    .limit(batchSize, { skipBinding: true }),
)

/** Seconds for which an authorization counts whose code was not redeemed: its tokens may be in the response itself. */
const unredeemedAge = 3600

/**
 * Ends the oldest authorizations of a user for a client, beyond a number. Codes that can still be redeemed, and what began in
 * this second, stay until a later call. Those with `offline_access`, which outlive the
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
  const surplus = (row ? numberOf(row, 'count') : 0) - max
  if (surplus <= 0) return []
  const ids = (await oldestLive(db, { ...which, now })).slice(0, surplus).map((one) => textOf(one, 'id'))
  if (ids.length > 0) await revokeAll(db, batchParams(ids, { now }))
  return ids
}

/** Ends everything that a user granted to any client. */
export const revokeAuthorizationsOfSubject = command<{ subject: string; now: number }>((table, v) =>
  table('authorizations').where({ subject: v.subject }).whereNull('revoked_at').update({ revoked_at: v.now }),
)

/** A client with an authorization under a login. */
export interface LoggedInClient {
  readonly clientId: string
  readonly metadata: ClientMetadata
}

/** The clients of one login, each once. */
export const findClientsOfLogin = findAll(
  query<{ sid: string }>((table, v) =>
    table('clients')
      .select(['client_id', 'metadata'])
      .whereIn('client_id', table('authorizations').select('client_id').where({ sid: v.sid }))
      .whereNull('disabled_at'),
  ),
  (row): LoggedInClient => ({ clientId: textOf(row, 'client_id'), metadata: json(row, 'metadata') }),
)
