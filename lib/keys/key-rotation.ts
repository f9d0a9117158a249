import { isUniqueViolation } from '../database/errors.ts'
import type { Database } from '../database/statement.ts'
import { type SigningAlgorithm, signingAlgorithms } from '../protocol/client-metadata.ts'
import { listClients } from '../repositories/clients.ts'
import {
  createSigningKey,
  listSigningKeys,
  removeSigningKey,
  replaceSigningKeys,
  retireSigningKey,
  type SigningKeyRecord,
} from '../repositories/signing-keys.ts'
import { isSuccessorDue, succeededAt } from './key-schedule.ts'
import { publicPart, sealJwk } from './sealed-jwk.ts'
import { type KeyOptions, newKey, openKey } from './signing-key.ts'

const ofAlgorithm = (records: readonly SigningKeyRecord[], algorithm: SigningAlgorithm): SigningKeyRecord[] =>
  records.filter((record) => record.algorithm === algorithm)

/**
 * Makes the next generation; the first one of an algorithm signs at once, any other when clients know it.
 * Losing the race is as good as winning it: the other process's key is read afterwards.
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

/** The longest that an ID token issued now may live. */
const maxIdTokenLength = async (db: Database, { lifetimes }: KeyOptions, now: number): Promise<number> => {
  const clients = await listClients(db, { now })
  // One by one: a spread of very many clients would not fit on the stack.
  return clients.reduce(
    (longest, client) => Math.max(longest, client.metadata.id_token_lifetime ?? 0),
    lifetimes.idToken,
  )
}

/** The lead once more is the margin, for a process that heard late of the new key and for clocks that differ. */
const retire = async (
  db: Database,
  options: KeyOptions,
  { due, now }: { due: readonly SigningKeyRecord[]; now: number },
): Promise<void> => {
  const [newestSecret] = options.secrets
  const retiredAt = now + (await maxIdTokenLength(db, options, now))
  for (const record of due) {
    const sealedKey = await sealJwk(newestSecret, publicPart(await openKey(db, options, record)))
    await retireSigningKey(db, { kid: record.kid, sealedKey, retiredAt })
  }
}

/**
 * Does what is due: makes keys of algorithms that have none and successors of keys that are old enough, removes the
 * private half of a key once its successor signs for sure, and forgets a key when no hint can come back any more.
 * Any number of processes may do so at once. Keys of algorithms that only a newer version knows are left to it.
 *
 * @returns whether there was anything to do
 */
export const maintainKeys = async (
  db: Database,
  options: KeyOptions,
  { records, now }: { records: SigningKeyRecord[]; now: number },
): Promise<boolean> => {
  const { lifetimes } = options
  const making = signingAlgorithms.filter((algorithm) => {
    const keys = ofAlgorithm(records, algorithm)
    return keys.length === 0 || isSuccessorDue(keys, now, lifetimes)
  })
  const known = signingAlgorithms.map((algorithm) => ofAlgorithm(records, algorithm))
  const retiring = known.flatMap((keys) =>
    keys.filter((key) => {
      const end = succeededAt(key, keys)
      return key.retiredAt === null && end !== undefined && end + lifetimes.signingKeyLead <= now
    }),
  )
  // An expired ID token may come back as a hint for as long as a login can be kept alive (OIDC Core §3.1.2.1).
  const forgotten = known
    .flat()
    .filter((key) => key.retiredAt !== null && key.retiredAt + lifetimes.refreshTokenAbsolute <= now)

  await Promise.all(making.map((algorithm) => createNext(db, options, { algorithm, records, now })))
  if (retiring.length > 0) await retire(db, options, { due: retiring, now })
  for (const key of forgotten) await removeSigningKey(db, key)
  return making.length + retiring.length + forgotten.length > 0
}

/**
 * Begins a rotation before its time: publishes the next generation, which signs when clients know it. Where one
 * waits already, nothing changes.
 *
 * @param now epoch seconds
 * @throws Error when the keys so far cannot be opened, so that none is sealed under a wrong secret
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
 * Replaces keys that somebody else may know: the new ones sign at once, and all others of these algorithms are
 * neither published nor believed any more. It works without the secrets of the keys so far.
 */
export const replaceKeys = async (
  db: Database,
  options: KeyOptions,
  { algorithms, now }: { algorithms: readonly SigningAlgorithm[]; now: number },
): Promise<void> => {
  for (const algorithm of algorithms) {
    await replaceSigningKeys(db, { ...(await newKey(options, algorithm)), createdAt: now, activeAt: now })
  }
}
