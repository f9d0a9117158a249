import type { Knex } from 'knex'
import { OAuthError } from '../../protocol/errors.ts'
import { HostError } from '../../protocol/problem.ts'
import { isAhead, longestLock } from '../../protocol/stored-time.ts'
import { isRetryable, isSyntaxError } from '../database/errors.ts'
import { command, commandReturning, numberOf, query, textOf } from '../database/statement.ts'
import { transaction } from '../database/transaction.ts'
import type { Database, Row, Value } from '../database/types.ts'
import { keyPlaces } from './pruning/batch.ts'
import type { FullName, Places, Table } from './statements.ts'

/** Failures that are counted under one key. */
export interface CountedFailures {
  readonly key: string
  readonly points: number
  /** Epoch seconds. */
  readonly expiresAt: number
}

/** A key to count under, and when a count that begins now expires, in epoch seconds. */
export type NewThrottle = Omit<CountedFailures, 'points'>

/** The most counts that are listed at once. */
const maxListed = 1000

/** The most keys of one statement. */
const maxKeys = 6
const { keysIn, keyParams } = keyPlaces(maxKeys)

type Values = Readonly<Record<string, Value>>

const columns = ['key', 'points', 'expires_at']

/** Adds one to so many counters, in the order in which they are given; a count that has expired begins again. */
const increment = (
  count: number,
  isMysql: boolean,
  ...[table, v, name, raw]: [table: Table, values: Places, name: FullName, raw: Knex.RawBuilder]
): Knex.QueryBuilder => {
  const points = `${name('throttles')}.points`
  const expiresAt = `${name('throttles')}.expires_at`
  const given = isMysql ? 'values(expires_at)' : 'excluded.expires_at'
  const stands = `?? > ? and ?? <= ${given} + ${longestLock}`
  const expiry = [expiresAt, v.now ?? 0, expiresAt]
  return (
    table('throttles')
      .insert(
        Array.from({ length: count }, (_, place) => ({
          key: v[`key${place}`],
          points: 1,
          expires_at: v[`expiresAt${place}`],
        })),
      )
      .onConflict('key')
      // MySQL assigns from left to right: points first, because they depend on the old expiry.
      .merge({
        points: raw(`case when ${stands} then ?? + 1 else 1 end`, [...expiry, points]),
        expires_at: raw(`case when ${stands} then ?? else ${given} end`, [...expiry, expiresAt]),
      })
  )
}

const counts = [1, 2, 3, 4, 5]
const incrementReturning = counts.map((count) =>
  commandReturning<Values>((...parameters) => increment(count, false, ...parameters).returning(columns)),
)
const incrementOnMariadb = counts.map((count) =>
  commandReturning<Values>((...[table, v, name, raw]) =>
    raw('? returning ??, ??, ??', [increment(count, true, table, v, name, raw), ...columns]),
  ),
)
const incrementOnMysql = counts.map((count) =>
  command<Values>((...parameters) => increment(count, true, ...parameters)),
)
const byKeys = query<Values>((table, v) => table('throttles').select(columns).whereIn('key', keysIn(v)))

/** MySQL has no RETURNING. The transaction keeps the rows locked, so that each request sees its own count. */
const incrementAndRead = (db: Database, count: number, values: Values): Promise<readonly Row[]> =>
  transaction(db, async (tx) => {
    await incrementOnMysql[count - 1]?.(tx, values)
    return byKeys(tx, values)
  })

const incrementAll = async (db: Database, count: number, values: Values): Promise<readonly Row[]> => {
  const { learned, driver } = db
  if (driver.dialect !== 'mysql') return (await incrementReturning[count - 1]?.(db, values)) ?? []
  if (learned.lacksReturning) return incrementAndRead(db, count, values)
  try {
    return (await incrementOnMariadb[count - 1]?.(db, values)) ?? []
  } catch (error) {
    if (!isSyntaxError(error instanceof OAuthError ? error.cause : error)) throw error
    learned.lacksReturning = true
    return incrementAndRead(db, count, values)
  }
}

/**
 * Counts one more under each of at most five keys, in one statement. It locks rows in the order of their keys, so that
 * requests do not wait for each other in a circle.
 *
 * @param now epoch seconds
 * @returns the counts, this one included, in the order of the keys that were given
 */
export const incrementThrottles = async (
  db: Database,
  given: readonly NewThrottle[],
  { now }: { now: number },
): Promise<CountedFailures[]> => {
  if (given.length === 0) return []
  const sorted = [...given].sort((one, other) => (one.key < other.key ? -1 : 1))
  const expiries = Object.fromEntries(sorted.map(({ expiresAt }, place) => [`expiresAt${place}`, expiresAt]))
  const values = { ...keyParams(sorted.map(({ key }) => key)), ...expiries, now }
  const rows = await incrementAll(db, given.length, values)
  return given.map(({ key }) => {
    const row = rows.find((one) => textOf(one, 'key') === key)
    if (row === undefined) throw new HostError('a count was not returned')
    return { key, points: numberOf(row, 'points'), expiresAt: numberOf(row, 'expires_at') }
  })
}

const decrement = (v: Places, rows: Knex.QueryBuilder, raw: Knex.RawBuilder): Knex.QueryBuilder =>
  rows.update({
    points: raw('case when ?? in (?, ?) then 0 when points > 0 then points - 1 else 0 end', [
      'key',
      v.reset0 ?? '',
      v.reset1 ?? '',
    ]),
    expires_at: raw('case when ?? in (?, ?) then 0 else expires_at end', [
      'key',
      v.reset0 ?? '',
      v.reset1 ?? '',
    ]),
  })

const decrementKeys = command<Values>((table, v, _name, raw) =>
  decrement(v, table('throttles').whereIn('key', keysIn(v)), raw),
)
/** PostgreSQL locks rows in the order in which it finds them, unless a subquery locks them first. */
const decrementLockedKeys = command<Values>((table, v, _name, raw) => {
  const locked = table('throttles').select('key').whereIn('key', keysIn(v)).orderBy('key').forUpdate()
  return decrement(v, table('throttles').whereIn('key', locked), raw)
})

/**
 * The counts under at most six keys, in the order of the keys; zero where none stands.
 *
 * @param given the keys, and when a count that began now would expire
 * @param now epoch seconds
 */
export const readThrottles = async (
  db: Database,
  given: readonly NewThrottle[],
  { now }: { now: number },
): Promise<CountedFailures[]> => {
  if (given.length === 0) return []
  const rows = await byKeys(db, keyParams(given.map(({ key }) => key)))
  return given.map(({ key, expiresAt: latest }) => {
    const row = rows.find((one) => textOf(one, 'key') === key)
    const expiresAt = row === undefined ? now : numberOf(row, 'expires_at')
    const stands = row !== undefined && isAhead(expiresAt, now, latest - now + longestLock)
    return { key, points: stands ? numberOf(row, 'points') : 0, expiresAt: stands ? expiresAt : now }
  })
}

/** Counts one less under each key of `decrement`, and nothing any more under those of `reset`: one statement. */
export const decrementThrottles = async (
  db: Database,
  { decrement: fewer, reset = [] }: { decrement: readonly string[]; reset?: readonly string[] },
): Promise<void> => {
  const keys = [...fewer, ...reset].sort()
  if (keys.length === 0) return
  const [reset0 = '', reset1 = reset0] = reset
  const run = db.driver.dialect === 'postgresql' ? decrementLockedKeys : decrementKeys
  await run(db, { ...keyParams(keys), reset0, reset1 })
}

const ofOwner = query<{ owner: string; now: number }>((table, v) =>
  table('throttles')
    .select(columns)
    .where({ owner: v.owner })
    .where('expires_at', '>', v.now)
    .orderBy('expires_at', 'desc')
    .limit(maxListed, { skipBinding: true }),
)

/**
 * The counts that {@link setThrottle} set for an owner, at most 1,000, those that expire last first.
 *
 * @param now epoch seconds
 */
export const listThrottles = async (
  db: Database,
  { owner, now }: { owner: string; now: number },
): Promise<CountedFailures[]> =>
  (await ofOwner(db, { owner, now })).map((row) => ({
    key: textOf(row, 'key'),
    points: numberOf(row, 'points'),
    expiresAt: numberOf(row, 'expires_at'),
  }))

/** Forgets the count under a key. */
export const removeThrottle = command<{ key: string }>((table, v) =>
  table('throttles').where({ key: v.key }).delete(),
)

/**
 * Writes a row, to see whether the database takes writes: a standby and a full disk do not. Another process that writes for
 * long says nothing about that.
 *
 * @throws OAuthError `temporarily_unavailable` unless it does
 */
export const assertDatabaseWrites = async (db: Database, { now }: { now: number }): Promise<void> => {
  try {
    await setThrottle(db, { key: 'health', points: 0, expiresAt: now + 60, owner: null })
  } catch (error) {
    if (!isRetryable(error instanceof OAuthError ? error.cause : error)) throw error
  }
}

/** Sets the count under a key. The owner is null if no one lists it. */
export const setThrottle = command<{ key: string; points: number; expiresAt: number; owner: string | null }>(
  (table, v) =>
    table('throttles')
      .insert({ key: v.key, points: v.points, expires_at: v.expiresAt, owner: v.owner })
      .onConflict('key')
      .merge(['points', 'expires_at', 'owner']),
)
