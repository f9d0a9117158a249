import type { Knex } from 'knex'
import type { Client } from '../../protocol/clients/client.ts'
import type { RefreshToken } from '../../protocol/tokens/refresh-token.ts'
import {
  bearer,
  formatBinding,
  parseBinding,
  type TokenBinding,
} from '../../protocol/tokens/token-binding.ts'
import {
  command,
  insertInto,
  numberOf,
  numberOrNull,
  query,
  textOf,
  textOrNull,
  type Write,
} from '../database/statement.ts'
import type { Database, Row } from '../database/types.ts'
import { authorizationColumns, authorizationOf } from './authorizations.ts'
import { type ClientLookup, clientColumns, clientOf } from './clients.ts'
import { type BatchParams, batchParams, batchSize, isLast, keysIn } from './pruning/batch.ts'
import type { FullName, Table } from './statements.ts'

const bindingOf = (row: Row): TokenBinding => {
  const stored = textOrNull(row, 'token_binding')
  return stored === null ? bearer : parseBinding(stored)
}

const refreshTokenOf = (row: Row, hash: string): RefreshToken => ({
  hash,
  authorization: authorizationOf(row),
  binding: bindingOf(row),
  expiresAt: numberOf(row, 'token_expires_at'),
  consumedAt: numberOrNull(row, 'token_consumed_at'),
  successor: textOrNull(row, 'token_successor'),
})

/** Columns of a refresh token and of its authorization, under names that differ from those of a client. */
const columns = [
  'tokens.expires_at as token_expires_at',
  'tokens.consumed_at as token_consumed_at',
  'tokens.successor as token_successor',
  'tokens.binding as token_binding',
  ...authorizationColumns,
]

const byHash = query<{ hash: string }>((table, v, name) =>
  table('refresh_tokens as tokens')
    .join(name('authorizations as authorizations'), 'authorizations.id', 'tokens.authorization_id')
    .leftJoin(name('logins as logins'), 'logins.sid', 'authorizations.sid')
    .select(columns)
    .where('tokens.hash', v.hash),
)

/** A refresh token by its hash. */
export const findRefreshToken = async (
  db: Database,
  { hash }: { hash: string },
): Promise<RefreshToken | undefined> => {
  const [row] = await byHash(db, { hash })
  return row && refreshTokenOf(row, hash)
}

const byClientAndHash = query<{ clientId: string; hash: string }>((table, v, name) =>
  table('clients as clients')
    .leftJoin(name('refresh_tokens as tokens'), (on) => on.onVal('tokens.hash', v.hash))
    .leftJoin(name('authorizations as authorizations'), 'authorizations.id', 'tokens.authorization_id')
    .leftJoin(name('logins as logins'), 'logins.sid', 'authorizations.sid')
    .select([...clientColumns.map((column) => `clients.${column}`), ...columns])
    .where('clients.client_id', v.clientId),
)

/** A client, and the refresh token that it presents, of whichever client it is. */
export const findClientAndRefreshToken = async (
  db: Database,
  { hash, clientId, now }: ClientLookup & { hash: string },
): Promise<{ client: Client; refreshToken: RefreshToken | undefined } | undefined> => {
  const [row] = await byClientAndHash(db, { clientId, hash })
  if (row === undefined) return undefined
  const isKnown = textOrNull(row, 'authorization_id') !== null
  return { client: clientOf(row, now), refreshToken: isKnown ? refreshTokenOf(row, hash) : undefined }
}

const hashesIn = query<BatchParams>((table, v) =>
  table('refresh_tokens').select('hash').whereIn('hash', keysIn(v)),
)

/** Those of at most 100 hashes that are stored. */
export const findExistingRefreshTokens = async (
  db: Database,
  { hashes }: { hashes: readonly string[] },
): Promise<ReadonlySet<string>> =>
  new Set(
    hashes.length === 0 ? [] : (await hashesIn(db, batchParams(hashes))).map((row) => textOf(row, 'hash')),
  )

interface NewRefreshToken {
  hash: string
  authorizationId: string
  binding: TokenBinding
  now: number
  expiresAt: number
}

const insert = insertInto('refresh_tokens')

/** Stores a refresh token. */
export const createRefreshToken = (token: NewRefreshToken): Write =>
  insert.with({
    hash: token.hash,
    authorization_id: token.authorizationId,
    binding: formatBinding(token.binding),
    created_at: token.now,
    expires_at: token.expiresAt,
  })

/** An unused token whose authorization still stands. */
const unused = (table: Table, hash: Knex.Value, name: FullName): Knex.QueryBuilder =>
  table('refresh_tokens')
    .where({ hash })
    .whereNull('consumed_at')
    .whereExists(
      table('authorizations')
        .select('id')
        .whereRaw('?? = ??', [`${name('authorizations')}.id`, `${name('refresh_tokens')}.authorization_id`])
        .whereNull('revoked_at'),
    )

interface RefreshTokenUse {
  hash: string
  successor: string | null
  /** The IP address of the request. */
  address: string
  now: number
}

const consume = command<RefreshTokenUse>((table, v, name) =>
  unused(table, v.hash, name).update({
    consumed_at: v.now,
    consumed_from: v.address,
    successor: v.successor,
  }),
)

/**
 * Uses a token up and stores its successor, encrypted under a key that only the bearer of this token can derive.
 */
export const consumeRefreshToken = (use: RefreshTokenUse): Write =>
  consume.with({ ...use, address: use.address.slice(0, 45) })

const firstUse = query<{ hash: string }>((table, v) =>
  table('refresh_tokens').select(['consumed_from']).where({ hash: v.hash }),
)

/** The IP address from which a token was used first; undefined before, and once the grace period is over. */
export const findFirstAddress = async (
  db: Database,
  values: { hash: string },
): Promise<string | undefined> => {
  const [row] = await firstUse(db, values)
  return (row && textOrNull(row, 'consumed_from')) ?? undefined
}

/** Uses a token without rotation: its idle lifetime starts again. */
export const extendRefreshToken = command<{ hash: string; now: number; expiresAt: number }>(
  (table, v, name) => unused(table, v.hash, name).update({ last_used_at: v.now, expires_at: v.expiresAt }),
).with

/** Seconds to look back; earlier runs have handled the tokens that were used before. */
const maxAge = 86_400

const withSuccessor = query<{ since: number; before: number }>((table, v) =>
  table('refresh_tokens')
    .select(['hash', 'consumed_at'])
    .where('consumed_at', '>=', v.since)
    .where('consumed_at', '<=', v.before)
    .whereNotNull('successor')
    .orderBy('consumed_at')
    .limit(batchSize, { skipBinding: true }),
)
const clearSuccessors = command<BatchParams>((table, v) =>
  table('refresh_tokens').whereIn('hash', keysIn(v)).update({ successor: null, consumed_from: null }),
)

/**
 * Removes the encrypted successors and the addresses of refresh tokens whose grace period is over, a batch at a time.
 *
 * @param values.before epoch seconds; tokens that were used later keep their successor
 */
export async function* removeSuccessors(
  db: Database,
  { before }: { before: number },
): AsyncGenerator<void, void, undefined> {
  let since = before - maxAge
  let rows: readonly Row[]
  do {
    rows = await withSuccessor(db, { since, before })
    const last = rows.at(-1)
    if (last === undefined) return
    since = numberOf(last, 'consumed_at')
    await clearSuccessors(db, batchParams(rows.map((row) => textOf(row, 'hash'))))
    yield
  } while (!isLast(rows))
}
