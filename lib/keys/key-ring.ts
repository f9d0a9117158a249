import { createPrivateKey, type JsonWebKey, type KeyObject } from 'node:crypto'
import type { Database } from '../database/statement.ts'
import { type SigningAlgorithm, signingAlgorithms } from '../protocol/client-metadata.ts'
import { listSigningKeys, type SigningKeyRecord } from '../repositories/signing-keys.ts'
import { keyIdOf, openSignedJwt, type SigningKey } from './jwt.ts'
import { maintainKeys } from './key-rotation.ts'
import { freshnessOf, isPublished, type KeyTimes, signingAt } from './key-schedule.ts'
import { publicPart } from './sealed-jwk.ts'
import { type KeyOptions, openKey } from './signing-key.ts'

/** The keys of this server in memory: what it signs with, what it publishes, and what it has signed with. */
export interface KeyRing {
  /** @throws Error when there is no active key of this algorithm */
  signingKey(algorithm: SigningAlgorithm): SigningKey
  /** The public keys (RFC 7517), each with its own `kid` and no private member; a new object when they were read again. */
  readonly jwks: { readonly keys: readonly JsonWebKey[] }
  /**
   * The claims of a JWT of this kind that this server has signed, by whatever key; its times are not looked at.
   *
   * @returns undefined when it is not such a JWT
   */
  open(jwt: string, typ: string): Promise<Record<string, unknown> | undefined>
  /** Learns what other processes have made and does what is due, once in a while; cheap enough for every request. */
  refresh(): Promise<void>
  /** Whether nothing is due to be read again. */
  isFresh(): boolean
  /** Settles when nothing is being read. */
  settled(): Promise<void>
}

interface RingKey extends KeyTimes {
  readonly algorithm: string
  readonly publicJwk: JsonWebKey
  /** Missing for keys that sign no more, and for algorithms that only a newer version knows. */
  readonly privateKey?: KeyObject
}

// Strangers can make up key ids, so they do not make this server read the database as often as they like.
const unknownKeyPause = 5

/**
 * Opens the signing keys of this database; makes those that are missing, once, whoever comes first; and puts all
 * of them under the newest secret.
 *
 * @param now the server's clock, in epoch seconds
 * @throws Error when a key cannot be opened: it is never replaced in silence
 */
export const openKeyRing = async (db: Database, options: KeyOptions, now: () => number): Promise<KeyRing> => {
  const freshness = freshnessOf(options.lifetimes)
  const since = (time: number): number => Math.abs(now() - time)
  let keys = await readKeys(db, options, [], now())
  let jwks = jwksOf(keys, now())
  let readAt = now()
  let triedAt = readAt
  let reading: Promise<void> | undefined

  /** What is in memory stays good when the database is away, or holds a key that only newer secrets open. */
  const read = (): Promise<void> => {
    triedAt = now()
    reading ??= readKeys(db, options, keys, now())
      .then((fresh) => {
        keys = fresh
        jwks = jwksOf(fresh, now())
        readAt = now()
      })
      .catch((error: unknown) =>
        options.logger.error('latchkey: the signing keys could not be read again', error),
      )
      .finally(() => {
        reading = undefined
      })
    return reading
  }

  return {
    signingKey: (algorithm) => signingKeyOf(keys, algorithm, now()),
    get jwks() {
      return jwks
    },
    open: async (jwt, typ) => {
      const kid = keyIdOf(jwt)
      const isKnown = kid === undefined || keys.some((key) => key.kid === kid)
      if (!isKnown && since(triedAt) >= unknownKeyPause) await read()
      return openSignedJwt({ keys: keys.map((key) => key.publicJwk) }, jwt, {
        algorithms: signingAlgorithms,
        typ,
      })
    },
    refresh: async () => {
      if (since(triedAt) >= freshness.readAfter) read()
      if (since(readAt) >= freshness.readBefore) await reading
    },
    isFresh: () => since(triedAt) < freshness.readAfter && since(readAt) < freshness.readBefore,
    settled: async () => reading,
  }
}

/** The stored keys after everything that is due was done; what is in memory already is not opened again. */
const readKeys = async (
  db: Database,
  options: KeyOptions,
  known: readonly RingKey[],
  now: number,
): Promise<RingKey[]> => {
  // Opened before anything is made, so that nothing is ever sealed under a wrong secret.
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
  if (key?.privateKey === undefined) throw new Error(`latchkey: there is no ${algorithm} signing key`)
  return { kid: key.kid, algorithm, privateKey: key.privateKey }
}

const rankOf = (algorithm: string): number => {
  const known: readonly string[] = signingAlgorithms
  return known.includes(algorithm) ? known.indexOf(algorithm) : known.length
}

/** RS256 comes first, for clients that take the first RSA key they see. */
const jwksOf = (keys: readonly RingKey[], now: number): KeyRing['jwks'] => ({
  keys: keys
    .filter((key) => isPublished(key, now))
    .sort((one, other) => rankOf(one.algorithm) - rankOf(other.algorithm))
    .map((key) => key.publicJwk),
})
