import { command, insertInto, numberOf, numberOrNull, query, textOf } from '../database/statement.ts'
import { transaction } from '../database/transaction.ts'
import type { Database, Row } from '../database/types.ts'
import { touches } from './statements.ts'

/** A stored signing key: its encrypted JWK, and the times that decide its use, in epoch seconds. */
export interface SigningKeyRecord {
  readonly kid: string
  readonly algorithm: string
  readonly generation: number
  /** The private JWK; once `retiredAt` is set, only its public half. */
  readonly sealedKey: string
  /** When it is published. */
  readonly createdAt: number
  /** When it starts to sign, until the next generation does. */
  readonly activeAt: number
  /** When it is no longer published; null while the key may still sign. */
  readonly retiredAt: number | null
}

const signingKeyOf = (row: Row): SigningKeyRecord => ({
  kid: textOf(row, 'kid'),
  algorithm: textOf(row, 'algorithm'),
  generation: numberOf(row, 'generation'),
  sealedKey: textOf(row, 'private_key'),
  createdAt: numberOf(row, 'created_at'),
  activeAt: numberOf(row, 'active_at'),
  retiredAt: numberOrNull(row, 'retired_at'),
})

const all = query<Record<never, never>>((table) =>
  table('signing_keys')
    .select(['kid', 'algorithm', 'generation', 'private_key', 'created_at', 'active_at', 'retired_at'])
    .orderBy(['algorithm', 'generation']),
)

/** Every key; the generations of an algorithm from oldest to newest. */
export const listSigningKeys = async (db: Database): Promise<SigningKeyRecord[]> =>
  (await all(db, {})).map(signingKeyOf)

/** A key that may sign. */
export type NewSigningKey = Omit<SigningKeyRecord, 'retiredAt'>

const insert = insertInto('signing_keys')

/** @throws OAuthError with a unique violation as its cause if another process has created this generation */
export const createSigningKey = (db: Database, key: NewSigningKey): Promise<number> =>
  insert(db, {
    kid: key.kid,
    algorithm: key.algorithm,
    generation: key.generation,
    private_key: key.sealedKey,
    created_at: key.createdAt,
    active_at: key.activeAt,
  })

const removeBefore = command<{ algorithm: string; generation: number }>((table, v) =>
  table('signing_keys').where({ algorithm: v.algorithm }).where('generation', '<', v.generation).delete(),
)

const newest = query<{ algorithm: string }>((table, v) =>
  table('signing_keys').where({ algorithm: v.algorithm }).max('generation as generation'),
)

/** Replaces all keys of an algorithm by one new key, the next generation. */
export const replaceSigningKeys = (db: Database, key: Omit<NewSigningKey, 'generation'>): Promise<void> =>
  transaction(db, async (tx) => {
    const { algorithm } = key
    const [row] = await newest(tx, { algorithm })
    const generation = ((row && numberOrNull(row, 'generation')) ?? 0) + 1
    await createSigningKey(tx, { ...key, generation })
    await removeBefore(tx, { algorithm, generation })
  })

/** Replaces the encryption of a key, unless it has changed meanwhile: a private half that was removed stays removed. */
export const resealSigningKey = command<{ kid: string; from: string; to: string }>((table, v) =>
  table('signing_keys').where({ kid: v.kid, private_key: v.from }).update({ private_key: v.to }),
)

/** Replaces a key by its public half, which stays published until `retiredAt`. */
export const retireSigningKey = command<{ kid: string; sealedKey: string; retiredAt: number }>((table, v) =>
  table('signing_keys')
    .where({ kid: v.kid })
    .whereNull('retired_at')
    .update({ private_key: v.sealedKey, retired_at: v.retiredAt }),
)

const activate = command<{ kid: string; now: number }>((table, v) =>
  table('signing_keys').where({ kid: v.kid }).where('active_at', '>', v.now).update({ active_at: v.now }),
)

/** Removes a key. */
export const removeSigningKey = touches(
  command<{ kid: string }>((table, v) => table('signing_keys').where({ kid: v.kid }).delete()),
)

/**
 * Removes a key in favour of another one, in one transaction.
 *
 * @param values.activate the id of a key that signs from `now` on, if it would sign only later
 * @param values.create a new key
 * @returns whether this call removed the key
 * @throws OAuthError with a unique violation as its cause if another process has created that generation
 */
export const removeKeyFor = (
  db: Database,
  values: { kid: string; now: number; activate?: string; create?: NewSigningKey },
): Promise<boolean> =>
  transaction(db, async (tx) => {
    const { kid, now, activate: next, create } = values
    if (!(await removeSigningKey(tx, { kid }))) return false
    if (next !== undefined) await activate(tx, { kid: next, now })
    if (create) await createSigningKey(tx, create)
    return true
  })
