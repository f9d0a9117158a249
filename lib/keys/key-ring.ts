import { createPrivateKey, type KeyObject } from 'node:crypto'
import { type SigningAlgorithm, signingAlgorithms } from '../protocol/clients/client-metadata.ts'
import { HostError } from '../protocol/problem.ts'
import type { Database } from '../storage/database/types.ts'
import { withTimeout } from '../storage/database/with-timeout.ts'
import { listSigningKeys, type SigningKeyRecord } from '../storage/repositories/signing-keys.ts'
import type { Jwk } from './jwk.ts'
import type { SigningKey } from './jwt.ts'
import { createJwtVerifier, type JwtVerifier, keyIdOf } from './jwt-verifier.ts'
import { maintainKeys } from './key-rotation.ts'
import { freshnessOf, isPublished, type KeyTimes, signingAt } from './key-schedule.ts'
import { publicPart } from './sealed-jwk.ts'
import { type KeyOptions, openKey } from './signing-key.ts'

type Claims = Readonly<Record<string, unknown>>

/** The server's keys in memory: those that sign, and all that are published or have signed before. */
export interface KeyRing {
  /** @throws Error if no active key of this algorithm exists */
  signingKey(algorithm: SigningAlgorithm): SigningKey
  /** The public keys (RFC 7517); a new object whenever the keys are read again. */
  readonly jwks: { readonly keys: readonly Jwk[] }
  /**
   * Verifies a JWT that this server signed with any of its keys and returns its claims; the caller must check its times.
   *
   * @param options.onlyPublished refuses keys that are no longer published: a withdrawn key may be known to others
   * @returns undefined if it is not a JWT of this `typ` from this server; a promise only if its key is unknown here
   */
  open(
    jwt: string,
    typ: string,
    options?: { readonly onlyPublished?: boolean },
  ): Claims | undefined | Promise<Claims | undefined>
  /**
   * Reads the keys again and rotates them, if due, so that a withdrawn key is neither published nor used. If the database
   * is unavailable, the keys stay as they are. Call it before every request.
   */
  refresh(): Promise<void>
  /** Reads the keys again at once, whatever their age. */
  readAgain(): Promise<void>
  /** Whether the keys need not be read again yet. */
  isFresh(): boolean
  /** Resolves when no read is in progress. */
  settled(): Promise<void>
}

interface RingKey extends KeyTimes {
  readonly algorithm: string
  readonly publicJwk: Jwk
  /** Absent for retired keys, and for algorithms that only a newer version supports. */
  readonly privateKey?: KeyObject
}

// Seconds between reads after a failure, or because of an unknown key id: anyone can invent key ids.
const pause = 5

/** Milliseconds that requests wait for a read; then they use the keys that the process has. */
const timeoutMs = 2000

/**
 * Decrypts the signing keys of this database, creates missing ones, and encrypts all of them under the newest secret. If
 * several processes start at once, one of them creates the keys.
 *
 * @param now the server's clock, in epoch seconds
 * @throws Error if a key cannot be decrypted; it is never silently replaced
 */
export const openKeyRing = async (db: Database, options: KeyOptions, now: () => number): Promise<KeyRing> => {
  const { readAfter } = freshnessOf(options.lifetimes)
  const since = (time: number): number => Math.abs(now() - time)
  let keys = await readKeys(db, options, [], now())
  let jwks = jwksOf(keys, now())
  let verifiers = verifiersOf(keys, jwks)
  let readAt = now()
  let triedAt = readAt
  let failedAt = Number.NEGATIVE_INFINITY
  let reading: Promise<void> | undefined
  let waiting: Promise<void> | undefined

  const readAgain = async (): Promise<void> => {
    const begun = now()
    triedAt = begun
    try {
      keys = await readKeys(db, options, keys, begun)
      jwks = jwksOf(keys, now())
      verifiers = verifiersOf(keys, jwks)
      readAt = begun
    } catch (error) {
      failedAt = now()
      options.logger.error('latchkey: the signing keys could not be read again', error)
    }
  }

  /** Keeps the keys in memory if the database is unavailable, or has a key that only newer secrets decrypt. */
  const read = async (): Promise<void> => {
    if (reading === undefined) {
      reading = readAgain().finally(() => {
        reading = undefined
      })
      waiting = withTimeout(reading, timeoutMs, () => {})
    }
    await waiting
  }
  const isFresh = (): boolean =>
    since(readAt) < readAfter || (reading === undefined && since(failedAt) < pause)

  return {
    signingKey: (algorithm) => signingKeyOf(keys, algorithm, now()),
    get jwks() {
      return jwks
    },
    open: (jwt, typ, { onlyPublished = false } = {}) => {
      const opened = (): ReturnType<JwtVerifier['open']> =>
        (onlyPublished ? verifiers.published : verifiers.all).open(jwt, typ)
      const claims = opened()
      if (claims !== undefined) return claims
      const kid = keyIdOf(jwt)
      const isKnown = kid === undefined || keys.some((key) => key.kid === kid)
      return isKnown || since(triedAt) < pause ? undefined : read().then(opened)
    },
    refresh: async () => {
      if (!isFresh()) await read()
    },
    readAgain: async () => {
      // A read that is in progress may have seen the earlier state.
      await reading
      await read()
    },
    isFresh,
    settled: async () => reading,
  }
}

/** Reads the keys and rotates them if due; keys that are already in memory are not decrypted again. */
const readKeys = async (
  db: Database,
  options: KeyOptions,
  known: readonly RingKey[],
  now: number,
): Promise<RingKey[]> => {
  // Decrypted before any key is created, so that no key is ever encrypted under a wrong secret.
  const records = await listSigningKeys(db)
  const keys = await ringKeys(db, options, known, records)
  if (!(await maintainKeys(db, options, { records, now }))) return keys
  return ringKeys(db, options, keys, await listSigningKeys(db))
}

const ringKeys = (
  db: Database,
  options: KeyOptions,
  known: readonly RingKey[],
  records: readonly SigningKeyRecord[],
): Promise<RingKey[]> =>
  Promise.all(
    records.map(async (record) => {
      const { kid, algorithm, generation, activeAt, retiredAt } = record
      const opened = known.find((key) => key.kid === kid) ?? (await openRingKey(db, options, record))
      const privateKey = retiredAt === null ? opened.privateKey : undefined
      return { kid, algorithm, generation, activeAt, retiredAt, publicJwk: opened.publicJwk, privateKey }
    }),
  )

const openRingKey = async (
  db: Database,
  options: KeyOptions,
  record: SigningKeyRecord,
): Promise<Pick<RingKey, 'publicJwk' | 'privateKey'>> => {
  const jwk = await openKey(db, options, record)
  const signs = 'd' in jwk && signingAlgorithms.some((algorithm) => algorithm === record.algorithm)
  return {
    publicJwk: publicPart(jwk),
    ...(signs ? { privateKey: createPrivateKey({ key: { ...jwk }, format: 'jwk' }) } : {}),
  }
}

const signingKeyOf = (keys: readonly RingKey[], algorithm: SigningAlgorithm, now: number): SigningKey => {
  const key = signingAt(
    keys.filter((one) => one.algorithm === algorithm && one.privateKey !== undefined),
    now,
  )
  if (key?.privateKey === undefined) throw new HostError(`no ${algorithm} signing key is active`)
  return { kid: key.kid, algorithm, privateKey: key.privateKey }
}

const rankOf = (algorithm: string): number => {
  const known: readonly string[] = signingAlgorithms
  return known.includes(algorithm) ? known.indexOf(algorithm) : known.length
}

/** RS256 comes first, for clients that take the first RSA key. */
const jwksOf = (keys: readonly RingKey[], now: number): KeyRing['jwks'] => ({
  keys: keys
    .filter((key) => isPublished(key, now))
    .sort((one, other) => rankOf(one.algorithm) - rankOf(other.algorithm))
    .map((key) => key.publicJwk),
})

const verifiersOf = (keys: readonly RingKey[], published: KeyRing['jwks']) => ({
  all: createJwtVerifier({ keys: keys.map((key) => key.publicJwk) }),
  published: createJwtVerifier(published),
})
