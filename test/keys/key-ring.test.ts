import { generateKeyPairSync } from 'node:crypto'
import {
  calculateJwkThumbprint,
  createLocalJWKSet,
  decodeJwt,
  decodeProtectedHeader,
  exportJWK,
  jwtVerify,
} from 'jose'
import { signJwt } from '../../lib/keys/jwt.ts'
import { revokeKey } from '../../lib/keys/key-revocation.ts'
import { type KeyRing, openKeyRing } from '../../lib/keys/key-ring.ts'
import { replaceKeys, rotateKeys } from '../../lib/keys/key-rotation.ts'
import { openJwk, sealJwk } from '../../lib/keys/sealed-jwk.ts'
import type { KeyOptions } from '../../lib/keys/signing-key.ts'
import { resolveOptions } from '../../lib/options/resolve.ts'
import { parseClientMetadata, signingAlgorithms } from '../../lib/protocol/clients/client-metadata.ts'
import { OAuthError } from '../../lib/protocol/errors.ts'
import { migrateDatabase } from '../../lib/storage/database/migrate.ts'
import { openDatabase } from '../../lib/storage/database/open.ts'
import type { Database } from '../../lib/storage/database/types.ts'
import {
  createClient,
  createSigningKey,
  listSigningKeys,
  type SigningKeyRecord,
} from '../../lib/storage/repositories/index.ts'
import { openTestDatabase, type TestDatabase } from '../support/database.ts'
import { migrations } from '../support/features.ts'

const [first, second] = ['the first secret of at least 32 bytes', 'the second secret of at least 32 bytes']
const day = 86_400
const start = 1_800_000_000

let server: TestDatabase
let db: Database
let clock: number
let problems: unknown[][]

const openEmpty = async () => {
  server = openTestDatabase()
  db = openDatabase(server.knex, server.tablePrefix).database
  await migrateDatabase(db, migrations)
}

// RSA keys take their time: most tests begin with the same ones.
let made: SigningKeyRecord[]
beforeAll(async () => {
  clock = start
  await openEmpty()
  await openRing()
  made = await listSigningKeys(db)
  await server.close()
})
beforeEach(async () => {
  clock = start
  problems = []
  await openEmpty()
  for (const record of made) await createSigningKey(db, record)
})
afterEach(() => server.close())

const now = () => clock
const optionsWith = (secrets: string[]): KeyOptions => {
  const logger = {
    info: () => {},
    warn: () => {},
    error: (...problem: unknown[]) => void problems.push(problem),
  }
  return { ...resolveOptions({ database: server.knex, secrets }), logger }
}
const options = () => optionsWith([first])
const openRing = (with_ = options()) => openKeyRing(db, with_, now)

/** As a request does: a read that begins beside it has ended. */
const work = async (ring: KeyRing) => {
  await ring.refresh()
  await ring.settled()
}
const kidsOf = (ring: KeyRing, algorithm: string) =>
  ring.jwks.keys.filter(({ alg }) => alg === algorithm).map(({ kid }) => kid)
const stored = async (algorithm = 'ES256') =>
  (await listSigningKeys(db)).filter((record) => record.algorithm === algorithm)
const sign = (ring: KeyRing, algorithm: (typeof signingAlgorithms)[number] = 'ES256') =>
  signJwt(ring.signingKey(algorithm), { sub: 'ada' })

describe('signatures', () => {
  test.each(signingAlgorithms)('by %s verify against the published keys', async (algorithm) => {
    const ring = await openRing()
    const jwt = await signJwt(ring.signingKey(algorithm), { sub: 'ada', name: 'Ünal' }, 'logout+jwt')
    const { payload, protectedHeader, key } = await jwtVerify(
      jwt,
      createLocalJWKSet({ keys: [...ring.jwks.keys] }),
      {
        algorithms: [algorithm],
      },
    )
    expect(payload).toEqual({ sub: 'ada', name: 'Ünal' })
    expect(protectedHeader).toEqual({ alg: algorithm, kid: kidsOf(ring, algorithm)[0], typ: 'logout+jwt' })
    expect(key).toBeDefined()
    const [header, claims, signature = ''] = jwt.split('.')
    const other = Buffer.from(signature, 'base64url')
    other[10] = (other[10] ?? 0) ^ 1
    await expect(
      jwtVerify(
        `${header}.${claims}.${other.toString('base64url')}`,
        createLocalJWKSet({ keys: [...ring.jwks.keys] }),
      ),
    ).rejects.toHaveProperty('code', 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED')
  })

  test('RS256 and PS256 have keys of their own, RS256 first', async () => {
    const ring = await openRing()
    expect(ring.jwks.keys.map(({ alg, kty }) => `${alg} ${kty}`)).toEqual([
      'RS256 RSA',
      'PS256 RSA',
      'ES256 EC',
      'EdDSA OKP',
    ])
    expect(new Set(ring.jwks.keys.map(({ kid }) => kid)).size).toBe(4)
    expect(kidsOf(ring, 'RS256')).toEqual([await calculateJwkThumbprint(ring.jwks.keys[0]!)])
  })

  test('are recognised by open() when the kind is right, and no one else’s are', async () => {
    const ring = await openRing()
    const jwt = await sign(ring)
    expect(await ring.open(jwt, 'JWT')).toEqual({ sub: 'ada' })
    expect(await ring.open(jwt, 'at+jwt')).toBeUndefined()
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const { kid } = ring.signingKey('ES256')
    expect(await ring.open(await signJwt({ kid, algorithm: 'ES256', privateKey }, {}), 'JWT')).toBeUndefined()
    const none = `${Buffer.from(JSON.stringify({ alg: 'none', typ: 'JWT', kid })).toString('base64url')}.e30.`
    for (const wrong of [none, 'a.b.c', '', `${jwt}x`]) expect(await ring.open(wrong, 'JWT')).toBeUndefined()
  })
})

describe('rotation by age', () => {
  test('publish → wait → sign → keep → remove', async () => {
    const ring = await openRing()
    const [old] = kidsOf(ring, 'ES256')
    const early = await sign(ring)

    clock = start + 90 * day - 60
    await work(ring)
    expect(kidsOf(ring, 'ES256')).toEqual([old])

    clock = start + 90 * day
    await work(ring)
    const [, successor] = kidsOf(ring, 'ES256')
    expect(kidsOf(ring, 'ES256')).toEqual([old, expect.any(String)])
    for (const algorithm of signingAlgorithms) expect(kidsOf(ring, algorithm)).toHaveLength(2)

    clock = start + 91 * day - 1
    expect(ring.signingKey('ES256').kid).toBe(old)
    const late = await sign(ring)
    clock = start + 91 * day
    expect(ring.signingKey('ES256').kid).toBe(successor)

    clock = start + 92 * day
    await work(ring)
    expect(ring.signingKey('ES256').kid).toBe(successor)
    expect(kidsOf(ring, 'ES256')).toEqual([old, successor])

    clock += 3600 - 60
    await work(ring)
    expect(kidsOf(ring, 'ES256')).toEqual([old, successor])
    await jwtVerify(late, createLocalJWKSet({ keys: [...ring.jwks.keys] }))

    clock += 60
    await work(ring)
    expect(kidsOf(ring, 'ES256')).toEqual([successor])
    // Expired long ago, it still tells at logout whom it was about.
    expect(await ring.open(early, 'JWT')).toEqual({ sub: 'ada' })

    clock += 366 * day
    await work(ring)
    expect(await ring.open(early, 'JWT')).toBeUndefined()
    expect((await stored()).map(({ kid }) => kid)).not.toContain(old)
    expect(problems).toEqual([])
  })

  test('a key stays published for the longest ID token that any client may have', async () => {
    const metadata = parseClientMetadata({
      redirect_uris: ['https://a.example.com/'],
      id_token_lifetime: 5 * day,
    })
    await createClient(db, { clientId: 'slow', secretHash: null, metadata, now: start })
    const ring = await openRing()
    const [old] = kidsOf(ring, 'RS256')
    for (const time of [90 * day, 92 * day]) {
      clock = start + time
      await work(ring)
    }
    clock = start + 97 * day - 60
    await work(ring)
    expect(kidsOf(ring, 'RS256')).toContain(old)
    clock = start + 97 * day
    await work(ring)
    expect(kidsOf(ring, 'RS256')).not.toContain(old)
  })

  test('the private half is there until the successor signs for sure, then only the public half', async () => {
    const ring = await openRing()
    const privateOf = async () => {
      const [oldest] = await stored('RS256')
      return openJwk([first], oldest?.sealedKey ?? '')
    }
    clock = start + 90 * day
    await work(ring)
    clock = start + 92 * day - 60
    await work(ring)
    expect((await privateOf())?.jwk).toHaveProperty('d')
    clock = start + 92 * day
    // The first read does the work; later ones find it done.
    await work(ring)
    expect(Object.keys((await privateOf())?.jwk ?? {}).sort()).toEqual(['alg', 'e', 'kid', 'kty', 'n', 'use'])
    const other = await openRing()
    expect(other.jwks).toEqual(ring.jwks)
    expect(other.signingKey('RS256').kid).toBe(ring.signingKey('RS256').kid)
  })

  test('after a long rest the keys are old, and still the lead is kept', async () => {
    const before = await openRing()
    clock = start + 1000 * day
    const ring = await openRing()
    expect(kidsOf(ring, 'EdDSA')).toHaveLength(2)
    expect(ring.signingKey('EdDSA').kid).toBe(before.signingKey('EdDSA').kid)
  })

  test('a process reads keys that are five seconds old again before it answers, also after idling', async () => {
    const [busy, idle] = [await openRing(), await openRing()]
    clock = start + 90 * day
    await busy.refresh()
    await idle.refresh()
    expect(idle.jwks).toEqual(busy.jwks)

    clock += 4
    await rotateKeys(db, options(), { algorithms: ['ES256'], now: clock })
    const before = idle.jwks
    await idle.refresh()
    expect(idle.jwks).toBe(before)
    clock += 1
    await idle.refresh()
    expect(idle.jwks).not.toBe(before)
  })
})

describe('several processes', () => {
  test('that start at once on an empty database make one key of each algorithm', async () => {
    await server.table('signing_keys').delete()
    const rings = await Promise.all([openRing(), openRing(), openRing()])
    expect(await listSigningKeys(db)).toHaveLength(signingAlgorithms.length)
    for (const ring of rings) expect(ring.jwks).toEqual(rings[0]?.jwks)
  })

  test('that rotate at once make one successor', async () => {
    const rings = await Promise.all([openRing(), openRing(), openRing()])
    clock = start + 90 * day
    await Promise.all(rings.map((ring) => ring.refresh()))
    expect((await listSigningKeys(db)).map(({ generation }) => generation).sort()).toEqual([
      1, 1, 1, 1, 2, 2, 2, 2,
    ])
    for (const ring of rings) expect(ring.jwks).toEqual(rings[0]?.jwks)
    expect(rings[0]?.jwks.keys).toHaveLength(8)
    expect(problems).toEqual([])
  })

  test('one learns at once of another’s key that a hint names, but not as often as strangers like', async () => {
    const [one, other] = [await openRing(), await openRing()]
    clock += 10
    await replaceKeys(db, options(), { algorithms: ['ES256'], now: clock })
    expect(await one.open(await sign(other), 'JWT')).toEqual({ sub: 'ada' })
    const fresh = await sign(await openRing())
    expect(await one.open(fresh, 'JWT')).toEqual({ sub: 'ada' })
    await replaceKeys(db, options(), { algorithms: ['ES256'], now: clock })
    const fresher = await sign(await openRing())
    clock += 4
    expect(await one.open(fresher, 'JWT')).toBeUndefined()
    clock += 1
    expect(await one.open(fresher, 'JWT')).toEqual({ sub: 'ada' })
  })

  test('a new algorithm gets its key at the next start, and keys of an unknown one are published', async () => {
    await openRing()
    await server.table('signing_keys').whereIn('algorithm', ['PS256', 'EdDSA']).delete()
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-384' })
    const jwk = { ...(await exportJWK(privateKey)), kid: 'tomorrow', alg: 'ES384', use: 'sig' }
    await server.table('signing_keys').insert({
      kid: 'tomorrow',
      algorithm: 'ES384',
      generation: 1,
      private_key: sealJwk(first, jwk),
      created_at: start,
      active_at: start,
    })
    const ring = await openRing()
    expect(ring.jwks.keys.map(({ alg }) => alg)).toEqual(['RS256', 'PS256', 'ES256', 'EdDSA', 'ES384'])
    expect(ring.jwks.keys.at(-1)).not.toHaveProperty('d')
    expect(decodeProtectedHeader(await sign(ring, 'EdDSA'))).toHaveProperty('alg', 'EdDSA')
    clock = start + 400 * day
    await work(ring)
    expect(await stored('ES384')).toEqual([expect.objectContaining({ kid: 'tomorrow', retiredAt: null })])
    expect(problems).toEqual([])
  })
})

describe('secrets', () => {
  test('keys that none of them opens are refused, and nothing is made in their place', async () => {
    await openRing()
    await server.table('signing_keys').where({ algorithm: 'PS256' }).delete()
    const before = await listSigningKeys(db)
    await expect(openRing(optionsWith([second]))).rejects.toThrow(/none of the option secrets decrypts/)
    expect(await listSigningKeys(db)).toEqual(before)
  })

  test('a new one re-encrypts all keys at the next start, and the old one can be removed', async () => {
    const { jwks } = await openRing()
    expect((await openRing(optionsWith([second, first]))).jwks).toEqual(jwks)
    expect((await openRing(optionsWith([second]))).jwks).toEqual(jwks)
    await expect(openRing()).rejects.toThrow(/secrets decrypts/)
  })

  test('a running process keeps its keys if a newer one encrypts them with an unknown secret', async () => {
    const ring = await openRing()
    const { jwks } = ring
    await openRing(optionsWith([second, first]))
    await rotateKeys(db, optionsWith([second, first]), { algorithms: ['ES256'], now: clock })
    clock += 60
    await work(ring)
    expect(problems).toEqual([[expect.stringMatching(/could not be read again/), expect.any(Error)]])
    expect(ring.jwks).toEqual(jwks)
    expect(decodeJwt(await sign(ring))).toEqual({ sub: 'ada' })
  })

  test('the table holds nothing in the clear', async () => {
    const ring = await openRing()
    const text = JSON.stringify(await server.table('signing_keys').select())
    for (const { kid } of ring.jwks.keys) expect(text).toContain(kid)
    for (const record of await listSigningKeys(db)) {
      const opened = openJwk([first], record.sealedKey)
      const { d, n, x } = opened?.jwk ?? {}
      expect(d).toBeDefined()
      for (const member of [d, n, x]) if (member) expect(text).not.toContain(member)
    }
  })

  test('while the database is unavailable the ring keeps its keys, and retries every five seconds', async () => {
    const database = { ...db }
    const ring = await openKeyRing(database, options(), now)
    const { jwks } = ring
    const closed = openTestDatabase()
    await closed.close()
    // SQLite returns the connection of the last read in the next turn of the event loop.
    await new Promise((resolve) => setImmediate(resolve))
    Object.assign(database, { knex: closed.knex })
    clock += 3 * day
    await ring.refresh()
    await ring.refresh()
    const failure = [expect.stringContaining('could not be read again'), expect.any(OAuthError)]
    expect(problems).toEqual([failure])
    expect(ring.isFresh()).toBe(true)
    clock += 5
    expect(ring.isFresh()).toBe(false)
    await ring.refresh()
    expect(problems).toEqual([failure, failure])
    expect(ring.jwks).toEqual(jwks)
  })
})

describe('rotation by command', () => {
  const algorithms = ['ES256'] as const

  test('publishes a successor, once, which signs after the lead', async () => {
    const ring = await openRing()
    const old = ring.signingKey('ES256').kid
    await Promise.all([1, 2].map(() => rotateKeys(db, options(), { algorithms, now: clock })))
    await rotateKeys(db, options(), { algorithms, now: clock })
    expect(await stored()).toEqual([
      expect.objectContaining({ kid: old, generation: 1 }),
      expect.objectContaining({ generation: 2, createdAt: start, activeAt: start + day, retiredAt: null }),
    ])
    expect(await stored('RS256')).toHaveLength(1)
    clock += 60
    await work(ring)
    expect(ring.signingKey('ES256').kid).toBe(old)
    expect(kidsOf(ring, 'ES256')).toHaveLength(2)
  })

  test('refuses to seal a successor under a secret that does not open the keys so far', async () => {
    await openRing()
    await expect(rotateKeys(db, optionsWith([second]), { algorithms, now: clock })).rejects.toThrow(
      /secrets decrypts/,
    )
    expect(await stored()).toHaveLength(1)
  })

  test('at once withdraws the algorithm’s other keys: none is published, signs or verifies a hint', async () => {
    const ring = await openRing()
    const leaked = await sign(ring)
    await rotateKeys(db, options(), { algorithms, now: clock })
    await replaceKeys(db, options(), { algorithms, now: clock })
    const [only, ...others] = await stored()
    expect(others).toEqual([])
    expect(only).toMatchObject({ generation: 3, activeAt: start, retiredAt: null })
    clock += 60
    await work(ring)
    expect(kidsOf(ring, 'ES256')).toEqual([only?.kid])
    expect(ring.signingKey('ES256').kid).toBe(only?.kid)
    expect(await ring.open(leaked, 'JWT')).toBeUndefined()
  })

  test('at once, by two people at once, leaves one key', async () => {
    await openRing()
    await Promise.all([1, 2].map(() => replaceKeys(db, options(), { algorithms, now: clock })))
    expect(await stored()).toEqual([expect.objectContaining({ generation: 3 })])
  })

  test('at once works without the lost secret, after which the server starts again', async () => {
    await openRing()
    await replaceKeys(db, optionsWith([second]), { algorithms: signingAlgorithms, now: clock })
    expect((await openRing(optionsWith([second]))).jwks.keys).toHaveLength(4)
  })
})

describe('revoking one key', () => {
  const algorithms = ['ES256'] as const
  const revoke = (kid = '') => revokeKey(db, options(), { kid, now: clock })

  test('that signs, with no next one, creates a key that signs at once; no older one signs again', async () => {
    const ring = await openRing()
    const first = ring.signingKey('ES256').kid
    await rotateKeys(db, options(), { algorithms, now: clock })
    clock += day
    await work(ring)
    const leaked = await sign(ring)
    const second = ring.signingKey('ES256').kid
    expect(await revoke(second)).toMatchObject({ kid: second, algorithm: 'ES256' })
    expect(await revoke(second)).toBeUndefined()
    await ring.readAgain()
    const [oldest, newest, ...others] = await stored()
    expect(others).toEqual([])
    expect(oldest?.kid).toBe(first)
    expect(newest).toMatchObject({ generation: 3, createdAt: clock, activeAt: clock, retiredAt: null })
    expect(ring.signingKey('ES256').kid).toBe(newest?.kid)
    expect(kidsOf(ring, 'ES256')).toEqual([first, newest?.kid])
    expect(await ring.open(leaked, 'JWT')).toBeUndefined()
    expect(await stored('RS256')).toHaveLength(1)
  })

  test('that signs lets the next key sign at once, if there is one', async () => {
    const ring = await openRing()
    await rotateKeys(db, options(), { algorithms, now: clock })
    const [signing, next] = await stored()
    await revoke(signing?.kid)
    expect(await stored()).toEqual([{ ...next, activeAt: clock }])
    await ring.readAgain()
    expect(ring.signingKey('ES256').kid).toBe(next?.kid)
  })

  test('that does not sign changes no other', async () => {
    await openRing()
    await rotateKeys(db, options(), { algorithms, now: clock })
    const [signing, next] = await stored()
    await revoke(next?.kid)
    expect(await stored()).toEqual([signing])
  })

  test('in parallel leaves one new key', async () => {
    const ring = await openRing()
    const { kid } = ring.signingKey('ES256')
    const removed = await Promise.all([1, 2, 3].map(() => revoke(kid)))
    expect(removed.filter((one) => one !== undefined)).toHaveLength(1)
    expect(await stored()).toEqual([expect.objectContaining({ generation: 2 })])
  })

  test('while a server publishes the next one', async () => {
    await openRing()
    const [signing] = await stored()
    await Promise.all([revoke(signing?.kid), rotateKeys(db, options(), { algorithms, now: clock })])
    const left = await stored()
    expect(left.map(({ kid }) => kid)).not.toContain(signing?.kid)
    expect(left.length).toBeGreaterThan(0)
  })

  test('is used by a running server five seconds later', async () => {
    const ring = await openRing()
    await revoke(ring.signingKey('ES256').kid)
    clock += 4
    expect(ring.isFresh()).toBe(true)
    clock += 1
    expect(ring.isFresh()).toBe(false)
  })
})
