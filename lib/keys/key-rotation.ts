import { type SigningAlgorithm, signingAlgorithms } from '../protocol/clients/client-metadata.ts'
import { isUniqueViolation } from '../storage/database/errors.ts'
import type { Database } from '../storage/database/types.ts'
import { longestIdTokenLifetime } from '../storage/repositories/clients.ts'
import {
  createSigningKey,
  listSigningKeys,
  removeSigningKey,
  replaceSigningKeys,
  retireSigningKey,
  type SigningKeyRecord,
} from '../storage/repositories/signing-keys.ts'
import { isSuccessorDue, succeededAt } from './key-schedule.ts'
import { publicPart, sealJwk } from './sealed-jwk.ts'
import { type KeyOptions, newKey, openKey } from './signing-key.ts'

const ofAlgorithm = (records: readonly SigningKeyRecord[], algorithm: SigningAlgorithm): SigningKeyRecord[] =>
  records.filter((record) => record.algorithm === algorithm)

/**
 * Creates the next key of an algorithm. The first one signs at once, any other only after clients have had time to fetch
 * it. If another process creates it at the same time, its key is used.
 */
const createNext = async (
  db: Database,
  options: KeyOptions,
  { algorithm, records, now }: { algorithm: SigningAlgorithm; records: SigningKeyRecord[]; now: number },
): Promise<void> => {
  const newest = ofAlgorithm(records, algorithm).at(-1)
  const key = await newKey(options, algorithm)
  const activeAt = newest === undefined ? now : now + options.lifetimes.signingKeyLead
  try {
    const generation = (newest?.generation ?? 0) + 1
    await createSigningKey(db, { ...key, generation, createdAt: now, activeAt })
  } catch (error) {
    if (!isUniqueViolation(error)) throw error
    return
  }
  options.keyPublished?.({ keyId: key.kid, algorithm, signsFrom: activeAt })
  if (newest === undefined) return
  const start = new Date(activeAt * 1000).toISOString()
  options.logger.info(`latchkey: ${algorithm} signing key ${key.kid} is published and signs from ${start}`)
}

/** The longest lifetime of an ID token or JWT access token that is issued now, in seconds. */
const maxTokenLength = async (db: Database, { lifetimes }: KeyOptions): Promise<number> =>
  Math.max(lifetimes.idToken, lifetimes.jwtAccessToken, await longestIdTokenLifetime(db))

const retire = async (
  db: Database,
  options: KeyOptions,
  { due, now }: { due: readonly SigningKeyRecord[]; now: number },
): Promise<void> => {
  const [newestSecret] = options.secrets
  const retiredAt = now + (await maxTokenLength(db, options))
  for (const record of due) {
    const sealedKey = sealJwk(newestSecret, publicPart(await openKey(db, options, record)))
    await retireSigningKey(db, { kid: record.kid, sealedKey, retiredAt })
  }
}

/**
 * Rotates keys: creates missing keys and due successors, removes the private part of a key once all processes sign with
 * its successor, and deletes a key once no ID token signed with it can be sent as a hint. Safe to run in several processes
 * at once. Ignores algorithms that only a newer version supports.
 *
 * @returns whether anything was due
 */
export const maintainKeys = async (
  db: Database,
  options: KeyOptions,
  { records, now }: { records: SigningKeyRecord[]; now: number },
): Promise<boolean> => {
  const { lifetimes } = options
  const creating = signingAlgorithms.filter((algorithm) => {
    const keys = ofAlgorithm(records, algorithm)
    return keys.length === 0 || isSuccessorDue(keys, now, lifetimes)
  })
  const known = signingAlgorithms.map((algorithm) => ofAlgorithm(records, algorithm))
  const retiring = known.flatMap((keys) =>
    keys.filter((key) => {
      const end = succeededAt(key, keys)
      // One more lead, for processes that read the new key late and for clocks that differ.
      return key.retiredAt === null && end !== undefined && end + lifetimes.signingKeyLead <= now
    }),
  )
  // An expired ID token may be sent as a hint for as long as an authorization can last (OIDC Core §3.1.2.1).
  const expired = known
    .flat()
    .filter((key) => key.retiredAt !== null && key.retiredAt + lifetimes.refreshTokenAbsolute <= now)

  await Promise.all(creating.map((algorithm) => createNext(db, options, { algorithm, records, now })))
  if (retiring.length > 0) await retire(db, options, { due: retiring, now })
  for (const key of expired) await removeSigningKey(db, key)
  return creating.length + retiring.length + expired.length > 0
}

/**
 * Starts a rotation early: publishes the next key, which signs after clients have had time to fetch it. Does nothing for
 * algorithms whose next key is already published.
 *
 * @param now epoch seconds
 * @throws Error if a current key cannot be decrypted, so that no key is encrypted under a wrong secret
 */
export const rotateKeys = async (
  db: Database,
  options: KeyOptions,
  { algorithms, now }: { algorithms: readonly SigningAlgorithm[]; now: number },
): Promise<void> => {
  const records = await listSigningKeys(db)
  for (const record of records) await openKey(db, options, record)
  const without = algorithms.filter((algorithm) =>
    ofAlgorithm(records, algorithm).every((key) => key.activeAt <= now),
  )
  await Promise.all(without.map((algorithm) => createNext(db, options, { algorithm, records, now })))
}

/**
 * Replaces keys that may be compromised: the new keys sign at once, and all others of these algorithms are deleted. Works
 * without the secrets of the current keys.
 *
 * @returns the keys that were deleted
 */
export const replaceKeys = async (
  db: Database,
  options: KeyOptions,
  { algorithms, now }: { algorithms: readonly SigningAlgorithm[]; now: number },
): Promise<SigningKeyRecord[]> => {
  const records = await listSigningKeys(db)
  for (const algorithm of algorithms) {
    const key = await newKey(options, algorithm)
    await replaceSigningKeys(db, { ...key, createdAt: now, activeAt: now })
    options.keyPublished?.({ keyId: key.kid, algorithm, signsFrom: now })
  }
  return algorithms.flatMap((algorithm) => ofAlgorithm(records, algorithm))
}
