import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { isUniqueViolation } from '../storage/database/errors.ts'
import type { Database } from '../storage/database/types.ts'
import { createSalt, findSalt, resealSalt } from '../storage/repositories/salts.ts'
import { openAndReseal, sealJwk } from './sealed-jwk.ts'

const purpose = 'pairwise'

/** The encrypted salt, if there is one. */
export const findPairwiseSalt = (db: Database): Promise<string | undefined> => findSalt(db, { purpose })

/**
 * Opens the salt of pairwise subject identifiers (OIDC Core §8.1), and creates it the first time. It never changes:
 * otherwise every user would get new identifiers.
 *
 * @param secrets newest first
 * @throws Error if none of the secrets decrypts it
 */
export const openPairwiseSalt = async (
  db: Database,
  secrets: readonly [string, ...string[]],
): Promise<KeyObject> => {
  const sealed = (await findSalt(db, { purpose })) ?? (await createFirstSalt(db, secrets[0]))
  const { k = '' } = await openAndReseal(secrets, sealed, 'the pairwise salt', (to) =>
    resealSalt(db, { purpose, from: sealed, to }),
  )
  // With a Buffer, createHmac throws and catches an exception each time, which takes longer than the hash.
  return createSecretKey(k, 'base64url')
}

const createFirstSalt = async (db: Database, secret: string): Promise<string> => {
  const sealed = sealJwk(secret, { kty: 'oct', k: randomBytes(32).toString('base64url') })
  try {
    await createSalt(db, { purpose, sealed })
    return sealed
  } catch (error) {
    const winner = isUniqueViolation(error) ? await findSalt(db, { purpose }) : undefined
    if (winner === undefined) throw error
    return winner
  }
}
