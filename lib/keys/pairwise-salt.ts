import { createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
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
  const opened = await openJwk(secrets, sealed)
  if (typeof opened?.jwk.k !== 'string') {
    throw new Error(
      'latchkey: none of the option secrets decrypts the pairwise salt; add the secret it was encrypted with to the end of the list',
    )
  }
  if (opened.stale) await resealSalt(db, { purpose, from: sealed, to: await sealJwk(secrets[0], opened.jwk) })
  // With a Buffer, createHmac throws and catches an exception each time, which takes longer than the hash.
  return createSecretKey(opened.jwk.k, 'base64url')
}

const createFirstSalt = async (db: Database, secret: string): Promise<string> => {
  const sealed = await sealJwk(secret, { kty: 'oct', k: randomBytes(32).toString('base64url') })
  try {
    await createSalt(db, { purpose, sealed })
    return sealed
  } catch (error) {
    const winner = isUniqueViolation(error) ? await findSalt(db, { purpose }) : undefined
    if (winner === undefined) throw error
    return winner
  }
}

const digest = (salt: KeyObject, parts: readonly string[]): string =>
  createHmac('sha256', salt).update(JSON.stringify(parts)).digest('base64url')

/** The subject identifier for the clients of one sector, which other sectors cannot correlate (OIDC Core §8.1). */
export const pairwiseSubject = (salt: KeyObject, sector: string, subject: string): string =>
  digest(salt, [sector, subject])

/** The identifier of a login for one client, which other clients cannot correlate (Back-Channel Logout §2.1). */
export const pairwiseSid = (salt: KeyObject, clientId: string, sid: string): string =>
  digest(salt, ['sid', clientId, sid]).slice(0, 22)
