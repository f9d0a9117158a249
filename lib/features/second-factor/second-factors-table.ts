import {
  command,
  insertInto,
  numberOf,
  numberOrNull,
  query,
  textOf,
  textOrNull,
  type Write,
} from '../../storage/database/statement.ts'
import { transaction } from '../../storage/database/transaction.ts'
import type { Database } from '../../storage/database/types.ts'
import { lockLogin } from '../../storage/repositories/logins.ts'
import { findOne, isInserted, touches } from '../../storage/repositories/statements.ts'
import type { ExportedSecondFactor } from './declarations.ts'

/** The TOTP secret of a user. */
export interface SecondFactorRecord {
  readonly subject: string
  /** Encrypted. */
  readonly secret: string
  /** The last time step whose code was accepted. */
  readonly lastStep: number | null
  readonly createdAt: number
  /** When it ends unless the user confirms it; null if they have. */
  readonly expiresAt: number | null
  /** The secret of another app, encrypted, which replaces this one with its first code; null if the user has begun none. */
  readonly nextSecret: string | null
  /** When that secret ends unless it is confirmed. */
  readonly nextExpiresAt: number | null
}

/** The second factor of a user, confirmed or not. */
export const findSecondFactorRecord = findOne(
  query<{ subject: string }>((table, v) =>
    table('second_factors')
      .select([
        'subject',
        'secret',
        'last_step',
        'created_at',
        'expires_at',
        'next_secret',
        'next_expires_at',
      ])
      .where({ subject: v.subject }),
  ),
  (row): SecondFactorRecord => ({
    subject: textOf(row, 'subject'),
    secret: textOf(row, 'secret'),
    lastStep: numberOrNull(row, 'last_step'),
    createdAt: numberOf(row, 'created_at'),
    expiresAt: numberOrNull(row, 'expires_at'),
    nextSecret: textOrNull(row, 'next_secret'),
    nextExpiresAt: numberOrNull(row, 'next_expires_at'),
  }),
)

interface NewSecondFactor {
  readonly subject: string
  readonly secret: string
  /** The secret that was to be confirmed before; '' if there was none. */
  readonly replaced: string
  readonly now: number
  readonly expiresAt: number
}

const insert = insertInto('second_factors')
const removeReplaced = command<{ subject: string; replaced: string }>((table, v) =>
  table('second_factors')
    .where({ subject: v.subject, secret: v.replaced })
    .whereNotNull('expires_at')
    .delete(),
)

/** Stores a second factor that is to be confirmed, unless a parallel request has just stored one, or the user has one. */
export const createSecondFactor = async (db: Database, values: NewSecondFactor): Promise<void> => {
  const { subject, secret, replaced, now, expiresAt } = values
  await removeReplaced(db, { subject, replaced })
  await isInserted(insert(db, { subject, secret, created_at: now, expires_at: expiresAt }))
}

const confirm = command<{ subject: string; secret: string; step: number; now: number }>((table, v) =>
  table('second_factors')
    .where({ subject: v.subject, secret: v.secret })
    .where('expires_at', '>', v.now)
    .update({ expires_at: null, last_step: v.step }),
)
const insertCode = insertInto('recovery_codes')
const removeCodes = command<{ subject: string }>((table, v) =>
  table('recovery_codes').where({ subject: v.subject }).delete(),
)

const storeCodes = async (tx: Database, subject: string, hashes: readonly string[]): Promise<void> => {
  await removeCodes(tx, { subject })
  for (const hash of hashes) await insertCode(tx, { hash, subject })
}

/**
 * Confirms a second factor while the login stands that sets it up, and stores its recovery codes.
 *
 * @param values.step the time step of the code that confirms it
 * @param values.hashes of the recovery codes
 * @returns whether this call confirmed it
 */
export const confirmSecondFactor = (
  db: Database,
  values: {
    subject: string
    sid: string
    secret: string
    step: number
    now: number
    hashes: readonly string[]
  },
): Promise<boolean> =>
  transaction(db, async (tx) => {
    const { subject, sid, secret, step, now, hashes } = values
    if ((await lockLogin({ sid, now }).run(tx)) === 0) return false
    if ((await confirm(tx, { subject, secret, step, now })) !== 1) return false
    await storeCodes(tx, subject, hashes)
    return true
  })

const lockConfirmed = command<{ subject: string; createdAt: number }>((table, v) =>
  table('second_factors')
    .where({ subject: v.subject, created_at: v.createdAt })
    .whereNull('expires_at')
    .update({ created_at: v.createdAt }),
)

/** The conditions for a change of a second factor that is on. */
interface Allowed {
  readonly subject: string
  /** The login that makes it. */
  readonly sid: string
  /** Of the factor whose code was right. */
  readonly createdAt: number
  readonly now: number
}

/** Makes a change, unless the login has ended or the factor was removed since its code was checked. @returns whether it did */
const changeFactor = (
  db: Database,
  { subject, sid, createdAt, now }: Allowed,
  change: (tx: Database) => Promise<unknown>,
): Promise<boolean> =>
  transaction(db, async (tx) => {
    if ((await lockLogin({ sid, now }).run(tx)) === 0) return false
    if ((await lockConfirmed(tx, { subject, createdAt })) !== 1) return false
    await change(tx)
    return true
  })

/** Replaces the recovery codes of a second factor. @returns false if it is no longer allowed */
export const replaceRecoveryCodes = (
  db: Database,
  { hashes, ...allowed }: Allowed & { readonly hashes: readonly string[] },
): Promise<boolean> => changeFactor(db, allowed, (tx) => storeCodes(tx, allowed.subject, hashes))

/** Stores the secret of another app beside the one in use; null forgets it. @returns false if the factor is not on */
export const setNextSecret = touches(
  command<{ subject: string; next: string | null; expiresAt: number | null }>((table, v) =>
    table('second_factors')
      .where({ subject: v.subject })
      .whereNull('expires_at')
      .update({ next_secret: v.next, next_expires_at: v.expiresAt }),
  ),
)

const adoptNextSecret = command<{ subject: string; next: string; step: number; now: number }>((table, v) =>
  table('second_factors')
    .where({ subject: v.subject, next_secret: v.next })
    .where('next_expires_at', '>', v.now)
    .whereNull('expires_at')
    .update({ secret: v.next, last_step: v.step, next_secret: null, next_expires_at: null }),
)

/**
 * Replaces the secret in use with that of another app, while the login stands that began it. Recovery codes stay.
 *
 * @param values.step the time step of the code that confirms it
 * @returns whether this call did it
 */
export const replaceSecondFactor = (
  db: Database,
  values: { subject: string; sid: string; next: string; step: number; now: number },
): Promise<boolean> =>
  transaction(db, async (tx) => {
    const { sid, now } = values
    if ((await lockLogin({ sid, now }).run(tx)) === 0) return false
    return (await adoptNextSecret(tx, values)) === 1
  })

/** Records that the code of a time step is used (RFC 6238 §5.2). @returns false if it or a later one was used before */
export const useTimeStep = touches(
  command<{ subject: string; step: number }>((table, v) =>
    table('second_factors')
      .where({ subject: v.subject })
      .whereNull('expires_at')
      .where('last_step', '<', v.step)
      .update({ last_step: v.step }),
  ),
)

/** Stores the same secret encrypted under a newer key. */
export const resealSecondFactor = command<{ subject: string; from: string; to: string }>((table, v) =>
  table('second_factors').where({ subject: v.subject, secret: v.from }).update({ secret: v.to }),
)

/** Uses a recovery code. @returns whether this call used it */
export const consumeRecoveryCode = touches(
  command<{ hash: string; subject: string }>((table, v) =>
    table('recovery_codes').where({ hash: v.hash, subject: v.subject }).delete(),
  ),
)

const countCodes = query<{ subject: string }>((table, v) =>
  table('recovery_codes').where({ subject: v.subject }).count({ count: '*' }),
)

/** The number of recovery codes that a user has left. */
export const countRecoveryCodes = async (db: Database, { subject }: { subject: string }): Promise<number> => {
  const [row] = await countCodes(db, { subject })
  return row ? numberOf(row, 'count') : 0
}

const remove = command<{ subject: string }>((table, v) =>
  table('second_factors').where({ subject: v.subject }).delete(),
)

/** The writes that remove the second factor of a user, the row itself first. */
export const removalOfSecondFactor = (subject: string): readonly Write[] => [
  remove.with({ subject }),
  removeCodes.with({ subject }),
]

/** Removes the second factor of a user with its recovery codes. @returns whether the user had confirmed or begun one */
export const removeSecondFactor = (db: Database, { subject }: { subject: string }): Promise<boolean> =>
  transaction(db, async (tx) => {
    const removed = await remove(tx, { subject })
    await removeCodes(tx, { subject })
    return removed === 1
  })

/** Removes a second factor for its user. @returns false if it is no longer allowed */
export const removeOwnSecondFactor = (db: Database, allowed: Allowed): Promise<boolean> =>
  changeFactor(db, allowed, async (tx) => {
    for (const removal of removalOfSecondFactor(allowed.subject)) await removal.run(tx)
  })

/** The part of `oauth.users.export()` about a user's second factor. */
export const exportSecondFactor = async (db: Database, subject: string): Promise<ExportedSecondFactor> => {
  const record = await findSecondFactorRecord(db, { subject })
  if (record === undefined) return {}
  const recoveryCodesLeft = await countRecoveryCodes(db, { subject })
  return { secondFactor: { createdAt: record.createdAt, recoveryCodesLeft } }
}
