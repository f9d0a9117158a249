import { hash } from 'node:crypto'
import type { Knex } from 'knex'
import { command, numberOf, query, type Write } from '../database/statement.ts'
import type { Database } from '../database/types.ts'
import { type FullName, findOne } from './statements.ts'

// A sign-in takes time: a password waits for its check, and a code for its user. If everything of the user is ended
// meanwhile, the sign-in must not finish. So it notes how many revocations there were when it began, and what it stores at
// the end is stored only if none of its user has come since. Times would not do: many things happen in one second, and the
// clocks of processes differ.

/** Seconds that a row is kept, which is longer than any sign-in takes and any assertion about a user counts. */
const lifetime = 7200

/** The row that counts the revocations of all users; no hash is so short. */
const latest = 'latest'

const keyOf = (subject: string): string => hash('sha256', subject, 'base64url')

const byHash = query<{ hash: string }>((table, v) =>
  table('revocations').select('number').where({ hash: v.hash }),
)

/** The number of revocations up to now. Read it before anything that a sign-in checks. */
export const countRevocations = async (db: Database): Promise<number> => {
  const [row] = await byHash(db, { hash: latest })
  return row ? numberOf(row, 'number') : 0
}

/** The column that {@link joinRevocations} adds; null if there was no revocation. */
export const revocationsColumn = 'revocations.number as revocations'

/** Joins {@link countRevocations} to rows. */
export const joinRevocations = (rows: Knex.QueryBuilder, name: FullName): Knex.QueryBuilder =>
  rows.leftJoin(name('revocations as revocations'), (on) => on.onVal('revocations.hash', latest))

/** When an attempt began, and whose it is. */
export interface AttemptStart {
  readonly subject: string
  /** The number of revocations then. */
  readonly since: number
}

const later = findOne(
  query<{ hash: string; since: number }>((table, v) =>
    table('revocations').select('number').where({ hash: v.hash }).where('number', '>', v.since),
  ),
  () => true,
)

/** Whether everything of the user was ended after the attempt began. Only {@link unlessRevoked} decides a race. */
export const isRevoked = async (db: Database, { subject, since }: AttemptStart): Promise<boolean> =>
  (await later(db, { hash: keyOf(subject), since })) === true

const timeByHash = findOne(
  query<{ hash: string }>((table, v) =>
    table('revocations').select('revoked_at').where({ hash: v.hash }).whereNotNull('revoked_at'),
  ),
  (row) => numberOf(row, 'revoked_at'),
)

/** When everything of a user was ended last, in epoch seconds; undefined if that was more than two hours ago, or never. */
export const findRevocationTime = (
  db: Database,
  { subject }: { readonly subject: string },
): Promise<number | undefined> => timeByHash(db, { hash: keyOf(subject) })

interface Claim {
  hash: string
  since: number
  expiresAt: number
}

/** Locks the row of a user, and creates it if needed. */
const claim = command<Pick<Claim, 'hash' | 'expiresAt'>>((table, v) =>
  table('revocations')
    .insert({ hash: v.hash, number: 0, expires_at: v.expiresAt })
    .onConflict('hash')
    .merge(['expires_at']),
)

const touchUnrevoked = command<Claim>((table, v) =>
  table('revocations')
    .where({ hash: v.hash })
    .where('number', '<=', v.since)
    .update({ expires_at: v.expiresAt }),
)

/** Both in one statement, which MariaDB and MySQL do not have. */
const claimUnrevoked = command<Claim>((table, v, name) =>
  table('revocations')
    .insert({ hash: v.hash, number: 0, expires_at: v.expiresAt })
    .onConflict('hash')
    .merge(['expires_at'])
    .where(`${name('revocations')}.number`, '<=', v.since),
)

/**
 * Holds unless everything of the user was ended since the attempt began, and locks the user's row until the end of the
 * transaction. A revocation at the same moment comes either before, and the condition does not hold, or after, and finds
 * what was stored. It is the first condition of everything that an attempt stores.
 */
export const unlessRevoked = ({ subject, since, now }: AttemptStart & { readonly now: number }): Write => {
  const values = { hash: keyOf(subject), since, expiresAt: now + lifetime }
  return {
    ...claimUnrevoked.with(values),
    run: async (tx) => {
      await claim(tx, values)
      return touchUnrevoked(tx, values)
    },
  }
}

const countUp = command<Record<never, never>>((table, _v, name, raw) =>
  table('revocations')
    .insert({ hash: latest, number: 1, expires_at: null })
    .onConflict('hash')
    .merge({ number: raw('?? + 1', [`${name('revocations')}.number`]) }),
)
const mark = command<{ hash: string; number: number; now: number }>((table, v) =>
  table('revocations').where({ hash: v.hash }).update({ number: v.number, revoked_at: v.now }),
)

/**
 * Stops every attempt of a user that has begun. Call it first in the transaction that ends what the user has: what an attempt
 * has stored before is then found.
 */
export const stopAttempts = async (
  tx: Database,
  { subject, now }: { readonly subject: string; readonly now: number },
): Promise<void> => {
  const key = keyOf(subject)
  // The lock comes before the first read, which on MariaDB decides what the transaction sees.
  await claim(tx, { hash: key, expiresAt: now + lifetime })
  await countUp(tx, {})
  await mark(tx, { hash: key, number: await countRevocations(tx), now })
}
