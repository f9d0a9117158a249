import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { isUniqueViolation } from '../database/errors.ts'
import type { Database } from '../database/types.ts'
import { createSalt, findSalt, resealSalt } from '../repositories/salts.ts'
import { openJwk, sealJwk } from './sealed-jwk.ts'

const purpose = 'pairwise'

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
  const opened = openJwk(secrets, sealed)
  if (typeof opened?.jwk.k !== 'string') {
    throw new Error(
      'latchkey: none of the option secrets decrypts the pairwise salt; add the secret it was encrypted with to the end of the list',
    )
  }
  if (opened.stale) await resealSalt(db, { purpose, from: sealed, to: sealJwk(secrets[0], opened.jwk) })
  // With a Buffer, createHmac throws and catches an exception each time, which takes longer than the hash.
  return createSecretKey(opened.jwk.k, 'base64url')
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
