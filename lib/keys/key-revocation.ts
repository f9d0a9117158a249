import { type SigningAlgorithm, signingAlgorithms } from '../protocol/clients/client-metadata.ts'
import { isUniqueViolation } from '../storage/database/errors.ts'
import type { Database } from '../storage/database/types.ts'
import { listSigningKeys, removeKeyFor, type SigningKeyRecord } from '../storage/repositories/signing-keys.ts'
import { signingAt } from './key-schedule.ts'
import { type KeyOptions, newKey } from './signing-key.ts'

/** The keys that sign after a key is removed. */
interface Replacement {
  /** The next key, which is already published and signs at once. */
  readonly activate?: string
  /** A new key, if no other one can sign. */
  readonly create?: Parameters<typeof removeKeyFor>[1]['create']
}

const isSupported = (algorithm: string): algorithm is SigningAlgorithm =>
  signingAlgorithms.some((supported) => supported === algorithm)

const replacementOf = async (
  options: KeyOptions,
  { key, records, now }: { key: SigningKeyRecord; records: readonly SigningKeyRecord[]; now: number },
): Promise<Replacement> => {
  const { algorithm } = key
  const all = records.filter((record) => record.algorithm === algorithm)
  if (signingAt(all, now)?.kid !== key.kid) return {}
  const later = all.find((record) => record.retiredAt === null && record.generation > key.generation)
  if (later) return { activate: later.kid }
  if (!isSupported(algorithm)) return {}
  const generation = key.generation + 1
  return { create: { ...(await newKey(options, algorithm)), generation, createdAt: now, activeAt: now } }
}

/**
 * Withdraws one key that may be compromised: it is no longer published, and what it signed is refused. If it was the one
 * that signs, the next key signs at once, or a new one. An older key never signs again.
 *
 * @param values.now epoch seconds
 * @returns the removed key; undefined if there is no such key
 */
export const revokeKey = async (
  db: Database,
  options: KeyOptions,
  values: { readonly kid: string; readonly now: number },
): Promise<SigningKeyRecord | undefined> => {
  const { kid, now } = values
  const records = await listSigningKeys(db)
  const key = records.find((record) => record.kid === kid)
  if (key === undefined) return undefined
  const replacement = await replacementOf(options, { key, records, now })
  try {
    if (!(await removeKeyFor(db, { kid, now, ...replacement }))) return undefined
  } catch (error) {
    if (!isUniqueViolation(error)) throw error
    // A server has created the next key meanwhile.
    return revokeKey(db, options, values)
  }
  const { create } = replacement
  if (create) options.keyPublished?.({ keyId: create.kid, algorithm: key.algorithm, signsFrom: now })
  return key
}
