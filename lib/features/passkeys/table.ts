import type { UserExport } from '../../account/user-records.ts'
import { isUniqueViolation } from '../../database/errors.ts'
import { command, flag, number, numberOrNull, query, scopes, text } from '../../database/statement.ts'
import type { Database, Row } from '../../database/types.ts'
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
]

const passkeyOf = (row: Row): Passkey => ({
  hash: text(row, 'hash'),
  subject: text(row, 'subject'),
  credentialId: text(row, 'credential_id'),
  publicKey: text(row, 'public_key'),
  counter: number(row, 'counter'),
  transports: scopes(row, 'transports'),
  name: text(row, 'name'),
  isBackedUp: flag(row, 'backed_up'),
  createdAt: number(row, 'created_at'),
  lastUsedAt: numberOrNull(row, 'last_used_at'),
})

const insert = command<{
  hash: string
  subject: string
  credentialId: string
  publicKey: string
  counter: number
  transports: string
  name: string
  backedUp: number
  now: number
}>((table, v) =>
  table('passkeys').insert({
    hash: v.hash,
    subject: v.subject,
    credential_id: v.credentialId,
    public_key: v.publicKey,
    counter: v.counter,
    transports: v.transports,
    name: v.name,
    backed_up: v.backedUp,
    created_at: v.now,
    last_used_at: null,
  }),
)

/** A passkey to store. */
export type NewPasskey = Omit<Passkey, 'createdAt' | 'lastUsedAt'> & { readonly now: number }

/** @returns false if its credential ID is stored already, for this user or another */
export const createPasskey = async (
  db: Database,
  { transports, isBackedUp, ...values }: NewPasskey,
): Promise<boolean> => {
  try {
    await insert(db, { ...values, transports: transports.join(' '), backedUp: Number(isBackedUp) })
    return true
  } catch (error) {
    if (isUniqueViolation(error)) return false
    throw error
  }
}

const byHash = query<{ hash: string }>((table, v) =>
  table('passkeys').select(columns).where({ hash: v.hash }),
)

/** The passkey whose credential ID has this SHA-256. */
export const findPasskey = async (db: Database, values: { hash: string }): Promise<Passkey | undefined> => {
  const [row] = await byHash(db, values)
  return row && passkeyOf(row)
}

const ofSubject = query<{ subject: string }>((table, v) =>
  table('passkeys').select(columns).where({ subject: v.subject }).orderBy('created_at').orderBy('hash'),
)

/** The passkeys of a user, the oldest first. */
export const listPasskeys = async (db: Database, values: { subject: string }): Promise<Passkey[]> =>
  (await ofSubject(db, values)).map(passkeyOf)

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

const rename = command<{ hash: string; subject: string; name: string }>((table, v) =>
  table('passkeys').where({ hash: v.hash, subject: v.subject }).update({ name: v.name }),
)

/** @returns whether the user has this passkey */
export const renamePasskey = async (
  db: Database,
  values: { hash: string; subject: string; name: string },
): Promise<boolean> => (await rename(db, values)) === 1

const remove = command<{ hash: string; subject: string }>((table, v) =>
  table('passkeys').where({ hash: v.hash, subject: v.subject }).delete(),
)

/** @returns whether this call removed it */
export const removePasskey = async (
  db: Database,
  values: { hash: string; subject: string },
): Promise<boolean> => (await remove(db, values)) === 1

const removeOfSubject = command<{ subject: string }>((table, v) =>
  table('passkeys').where({ subject: v.subject }).delete(),
)

/**
 * Removes every passkey of a user.
 *
 * @returns how many there were
 */
export const removePasskeysOfSubject = (db: Database, values: { subject: string }): Promise<number> =>
  removeOfSubject(db, values)

declare module '../../account/user-records.ts' {
  interface UserExport {
    /** The user's passkeys; absent without any. */
    readonly passkeys?: readonly {
      readonly name: string
      readonly isBackedUp: boolean
      readonly createdAt: number
      readonly lastUsedAt: number | null
    }[]
  }
}

/** The part of `oauth.users.export()` about a user's passkeys. */
export const exportPasskeys = async (
  db: Database,
  subject: string,
): Promise<Pick<UserExport, 'passkeys'>> => {
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
