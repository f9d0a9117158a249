import {
  command,
  flagOf,
  insertInto,
  numberOf,
  numberOrNull,
  query,
  scopesOf,
  textOf,
} from '../../storage/database/statement.ts'
import { transaction } from '../../storage/database/transaction.ts'
import type { Database, Row } from '../../storage/database/types.ts'
import { lockLogin } from '../../storage/repositories/logins.ts'
import { findAll, findOne, touches } from '../../storage/repositories/statements.ts'
import type { ExportedPasskeys } from './declarations.ts'
import type { Passkey } from './rules.ts'

const columns = [
  'hash',
  'subject',
  'credential_id',
  'public_key',
  'counter',
  'transports',
  'name',
  'backed_up',
  'created_at',
  'last_used_at',
] as const

const passkeyOf = (row: Row): Passkey => ({
  hash: textOf(row, 'hash'),
  subject: textOf(row, 'subject'),
  credentialId: textOf(row, 'credential_id'),
  publicKey: textOf(row, 'public_key'),
  counter: numberOf(row, 'counter'),
  transports: scopesOf(row, 'transports'),
  name: textOf(row, 'name'),
  isBackedUp: flagOf(row, 'backed_up'),
  createdAt: numberOf(row, 'created_at'),
  lastUsedAt: numberOrNull(row, 'last_used_at'),
})

const insert = insertInto('passkeys')

/** A passkey to store. */
export interface NewPasskey extends Omit<Passkey, 'createdAt' | 'lastUsedAt'> {
  /** The login that adds it. */
  readonly sid: string
  readonly now: number
}

/**
 * Stores a passkey while the login stands that adds it.
 *
 * @returns `exists` if the credential ID is stored already, for this user or another, `signed-out` if the login has ended
 */
export const createPasskey = (
  db: Database,
  { sid, now, ...passkey }: NewPasskey,
): Promise<'added' | 'exists' | 'signed-out'> =>
  transaction(db, async (tx) => {
    if ((await lockLogin({ sid, now }).run(tx)) === 0) return 'signed-out'
    if ((await findPasskey(tx, passkey)) !== undefined) return 'exists'
    await insert(tx, {
      hash: passkey.hash,
      subject: passkey.subject,
      credential_id: passkey.credentialId,
      public_key: passkey.publicKey,
      counter: passkey.counter,
      transports: passkey.transports.join(' '),
      name: passkey.name,
      backed_up: Number(passkey.isBackedUp),
      created_at: now,
      last_used_at: null,
    })
    return 'added'
  })

/** The passkey whose credential ID has this SHA-256. */
export const findPasskey = findOne(
  query<{ hash: string }>((table, v) => table('passkeys').select(columns).where({ hash: v.hash })),
  passkeyOf,
)

/** The passkeys of a user, the oldest first. */
export const listPasskeys = findAll(
  query<{ subject: string }>((table, v) =>
    table('passkeys').select(columns).where({ subject: v.subject }).orderBy('created_at').orderBy('hash'),
  ),
  passkeyOf,
)

const use = command<{ hash: string; counter: number; backedUp: number; now: number }>((table, v) =>
  table('passkeys')
    .where({ hash: v.hash })
    // An authenticator without a counter always says 0.
    .whereRaw('(?? < ? or ?? + ? = 0)', ['counter', v.counter, 'counter', v.counter])
    .update({ counter: v.counter, backed_up: v.backedUp, last_used_at: v.now }),
)

/**
 * Records a sign-in with a passkey (WebAuthn §6.1.1, §7.2 step 22).
 *
 * @returns false if the counter has not grown, as with a copy of the authenticator, or if the passkey has been removed
 */
export const usePasskey = async (
  db: Database,
  { isBackedUp, ...values }: { hash: string; counter: number; isBackedUp: boolean; now: number },
): Promise<boolean> => (await use(db, { ...values, backedUp: Number(isBackedUp) })) === 1

/** @returns whether the user has this passkey */
export const renamePasskey = touches(
  command<{ hash: string; subject: string; name: string }>((table, v) =>
    table('passkeys').where({ hash: v.hash, subject: v.subject }).update({ name: v.name }),
  ),
)

/** @returns whether this call removed it */
export const removePasskey = touches(
  command<{ hash: string; subject: string }>((table, v) =>
    table('passkeys').where({ hash: v.hash, subject: v.subject }).delete(),
  ),
)

/**
 * Removes every passkey of a user.
 *
 * @returns how many there were
 */
export const removePasskeysOfSubject = command<{ subject: string }>((table, v) =>
  table('passkeys').where({ subject: v.subject }).delete(),
)

/** The part of `oauth.users.export()` about a user's passkeys. */
export const exportPasskeys = async (db: Database, subject: string): Promise<ExportedPasskeys> => {
  const passkeys = await listPasskeys(db, { subject })
  if (passkeys.length === 0) return {}
  return {
    passkeys: passkeys.map(({ name, isBackedUp, createdAt, lastUsedAt }) => ({
      name,
      isBackedUp,
      createdAt,
      lastUsedAt,
    })),
  }
}
