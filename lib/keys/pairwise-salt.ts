import { createHmac, randomBytes } from 'node:crypto'
import { isUniqueViolation } from '../database/errors.ts'
import type { Database } from '../database/statement.ts'
import { createSalt, findSalt, resealSalt } from '../repositories/salts.ts'
import { openJwk, sealJwk } from './sealed-jwk.ts'

const purpose = 'pairwise'

/**
 * The salt of pairwise subject identifiers (OIDC Core §8.1): made once, whoever comes first, and never changed,
 * or every user would be a stranger to every client.
 *
 * @param secrets newest first
 * @throws Error when none of the secrets opens it
 */
export const openPairwiseSalt = async (
  db: Database,
  secrets: readonly [string, ...string[]],
): Promise<Buffer> => {
  const sealed = (await findSalt(db, { purpose })) ?? (await makeSalt(db, secrets[0]))
  const opened = await openJwk(secrets, sealed)
  if (typeof opened?.jwk.k !== 'string') {
    throw new Error(
      'latchkey: the pairwise salt cannot be opened with any of secrets; put back the secret it lies under',
    )
  }
  if (opened.stale) await resealSalt(db, { purpose, from: sealed, to: await sealJwk(secrets[0], opened.jwk) })
  return Buffer.from(opened.jwk.k, 'base64url')
}

const makeSalt = async (db: Database, secret: string): Promise<string> => {
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

/** A subject as the clients of one sector know it: the same for them, unlinkable for others. */
export const pairwiseSubject = (salt: Buffer, sector: string, subject: string): string =>
  createHmac('sha256', salt)
    .update(JSON.stringify([sector, subject]))
    .digest('base64url')
