import type { Knex } from 'knex'
import { command, numberOf, numberOrNull, query, textOf } from '../../database/statement.ts'
import type { Database, Row } from '../../database/types.ts'
import { type BatchParams, batchesOf, batchParams, batchSize, isLast, keysIn, type Removal } from './batch.ts'

// A family is an authorization with its code and its tokens. It is removed as a whole, and only when no part of it can be
// used any more: used codes and used refresh tokens are needed to detect a second use.

/** Removes the tokens of some families, a batch at a time: a family can have thousands. */
const tokensIn = (name: string, { onlyUsed = false } = {}) => {
  const find = query<BatchParams>((table, v) => {
    const tokens = table(name).select('hash').whereIn('authorization_id', keysIn(v))
    return (onlyUsed ? tokens.whereNotNull('consumed_at') : tokens).limit(batchSize, { skipBinding: true })
  })
  const remove = command<BatchParams>((table, v) => table(name).whereIn('hash', keysIn(v)).delete())
  return async function* (db: Database, ids: readonly string[]): Removal {
    for await (const rows of batchesOf(() => find(db, batchParams(ids))))
      yield { table: name, count: await remove(db, batchParams(rows.map((row) => textOf(row, 'hash')))) }
  }
}

const removeAccessTokens = tokensIn('access_tokens')
const removeUsedRefreshTokens = tokensIn('refresh_tokens', { onlyUsed: true })
const removeRefreshTokens = tokensIn('refresh_tokens')
const removeAuthorizations = command<BatchParams>((table, v) =>
  table('authorizations').whereIn('id', keysIn(v)).delete(),
)

/**
 * If this stops halfway, the next run finds the rest by the authorization, or by the unused refresh token, which goes
 * last. Access tokens go before their authorization, because verifying one reads it.
 */
export const removeFamilies = async function* (db: Database, ids: readonly string[]): Removal {
  yield* removeAccessTokens(db, ids)
  yield* removeUsedRefreshTokens(db, ids)
  yield { table: 'authorizations', count: await removeAuthorizations(db, batchParams(ids)) }
  yield* removeRefreshTokens(db, ids)
}

const idOf = (row: Row): string => textOf(row, 'id')

const ofLogins = query<BatchParams>((table, v) =>
  table('authorizations')
    .select('id')
    .whereIn('sid', keysIn(v))
    .where({ offline: 0 })
    .limit(batchSize, { skipBinding: true }),
)

/** Removes what was granted without `offline_access` under these logins. */
export const removeFamiliesOfLogins = async function* (db: Database, sids: readonly string[]): Removal {
  for await (const rows of batchesOf(() => ofLogins(db, batchParams(sids))))
    yield* removeFamilies(db, rows.map(idOf))
}

const ofSubject = query<BatchParams>((table, v) =>
  table('authorizations')
    .select('id')
    .where({ subject: v.subject ?? null })
    .limit(batchSize, { skipBinding: true }),
)

/** Removes everything that a user granted to any client, with its codes and tokens. */
export const removeFamiliesOfSubject = async function* (
  db: Database,
  { subject }: { readonly subject: string },
): Removal {
  for await (const rows of batchesOf(() => ofSubject(db, { subject })))
    yield* removeFamilies(db, rows.map(idOf))
}

/** Families that ended in a span of time. */
interface Span {
  readonly from: number
  readonly before: number
}

/**
 * When families ended, by this column, and what may end later: access tokens, and the login, whose end is reported to
 * the clients.
 */
const ended = (
  [column, id]: readonly [column: string, id: string],
  tokens: Knex.QueryBuilder,
): (string | Knex.QueryBuilder)[] => [
  `${id} as id`,
  `${column} as ended_at`,
  'logins.expires_at as login_end',
  tokens.max('tokens.expires_at').whereRaw('?? = ??', ['tokens.authorization_id', id]).as('tokens_end'),
]

const inSpan = (rows: Knex.QueryBuilder, column: string, v: { from: Knex.Value; before: Knex.Value }) =>
  rows
    .where(column, '>=', v.from)
    .where(column, '<=', v.before)
    .orderBy(column)
    .limit(batchSize, { skipBinding: true })

/** Families whose absolute lifetime is over. */
const overdue = query<Span>((table, v, name) => {
  const column = 'authorizations.expires_at'
  const rows = table('authorizations as authorizations')
    .leftJoin(name('logins as logins'), 'logins.sid', 'authorizations.sid')
    .select(ended([column, 'authorizations.id'], table('access_tokens as tokens')))
  return inSpan(rows, column, v)
})

/** Families whose code expired unredeemed. */
const unredeemed = query<Span>((table, v, name) => {
  const column = 'authorizations.code_expires_at'
  const rows = table('authorizations as authorizations')
    .leftJoin(name('logins as logins'), 'logins.sid', 'authorizations.sid')
    .select(ended([column, 'authorizations.id'], table('access_tokens as tokens')))
    .whereNull('authorizations.consumed_at')
  return inSpan(rows, column, v)
})

/** Families whose unused refresh token expired. */
const idle = query<Span>((table, v, name) => {
  const column = 'chain.expires_at'
  const rows = table('refresh_tokens as chain')
    .leftJoin(name('authorizations as authorizations'), 'authorizations.id', 'chain.authorization_id')
    .leftJoin(name('logins as logins'), 'logins.sid', 'authorizations.sid')
    .select(ended([column, 'chain.authorization_id'], table('access_tokens as tokens')))
    .whereNull('chain.consumed_at')
  return inSpan(rows, column, v)
})

const removeEnded = async function* (
  db: Database,
  { find, since, before }: { find: typeof overdue; since: number; before: number },
): Removal {
  let rows: readonly Row[]
  let from = since
  do {
    rows = await find(db, { from, before })
    const over = rows.filter((row) =>
      ['login_end', 'tokens_end'].every((column) => (numberOrNull(row, column) ?? 0) <= before),
    )
    if (over.length > 0) yield* removeFamilies(db, over.map(idOf))
    // All of these stay: yield anyway, so that the caller can pause.
    else yield { table: 'authorizations', count: 0 }
    const last = rows.at(-1)
    const end = last ? numberOf(last, 'ended_at') : before
    from = over.length > 0 || end > from ? end : end + 1
  } while (!isLast(rows))
}

/**
 * Removes families in which nothing is usable any more.
 *
 * @param values.since epoch seconds; what ended before stays, because an earlier run has read it
 */
export const removeEndedFamilies = async function* (
  db: Database,
  { since = 0, before }: { readonly since?: number; readonly before: number },
): Removal {
  for (const find of [overdue, unredeemed, idle]) yield* removeEnded(db, { find, since, before })
}
