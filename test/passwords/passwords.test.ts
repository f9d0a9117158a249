import { hash as argon2Hash } from '@node-rs/argon2'
import { hash as bcryptHash } from '@node-rs/bcrypt'
import { OAuthError } from '../../lib/protocol/errors.ts'
import { createPasswordVerifier } from '../../lib/users/passwords/password-verifier.ts'
import {
  hashPassword,
  isPasswordHash,
  UnsupportedPasswordHashError,
  verifyPassword,
} from '../../lib/users/passwords/passwords.ts'

const password = 'correct horse battery stäple'
const cheap = { memoryCost: 64, timeCost: 1, parallelism: 1 }
const bcrypt = (text: string) => bcryptHash(text, { cost: 4 })

// RFC 7914 §12, the vector of an interactive login, written as a PHC string.
const scryptPassword = 'pleaseletmein'
const scryptDerived = Buffer.from(
  '7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2' +
    'd5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887',
  'hex',
)
const unpadded = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '')
const scryptHash = `$scrypt$ln=14,r=8,p=1$${unpadded(Buffer.from('SodiumChloride'))}$${unpadded(scryptDerived)}`

describe('hashing', () => {
  test('makes argon2id hashes of 19 MiB, two passes and one lane', async () => {
    const hash = await hashPassword(password)
    expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[^$]{22}\$[^$]{43}$/)
    await expect(verifyPassword(password, hash)).resolves.toBe(true)
    await expect(verifyPassword(`${password} `, hash)).resolves.toBe(false)
    await expect(verifyPassword(` ${password}`, hash)).resolves.toBe(false)
  })

  test.each(['', 'a\0b', 'x'.repeat(1025)])('refuses what may not be a password (%#)', async (text) => {
    await expect(hashPassword(text)).rejects.toThrow(TypeError)
  })
})

describe('verifying', () => {
  test.each(['2a', '2b', '2y'])('takes bcrypt hashes of $%s$', async (prefix) => {
    const hash = (await bcrypt(password)).replace('$2b$', `$${prefix}$`)
    expect(isPasswordHash(hash)).toBe(true)
    await expect(verifyPassword(password, hash)).resolves.toBe(true)
    await expect(verifyPassword('another', hash)).resolves.toBe(false)
  })

  test('checks the first 72 bytes of a password against a bcrypt hash, as it was made', async () => {
    const [ascii, wide] = ['x'.repeat(72), 'é'.repeat(36)]
    await expect(verifyPassword(`${ascii}tail`, await bcrypt(ascii))).resolves.toBe(true)
    await expect(verifyPassword(ascii.slice(1), await bcrypt(ascii))).resolves.toBe(false)
    await expect(verifyPassword(`${wide}tail`, await bcrypt(wide))).resolves.toBe(true)
    await expect(verifyPassword('x'.repeat(72), await bcrypt(`${'x'.repeat(71)}é`))).resolves.toBe(false)
  })

  test.each([
    ['argon2d', 0],
    ['argon2i', 1],
    ['argon2id', 2],
  ])('takes %s hashes, also of version 16 without saying so', async (name, algorithm) => {
    for (const version of [0, 1]) {
      const hash = await argon2Hash(password, { ...cheap, algorithm, version })
      expect(hash.startsWith(`$${name}$v=`)).toBe(true)
      const stored = hash.replace('$v=16', '')
      await expect(verifyPassword(password, stored)).resolves.toBe(true)
      await expect(verifyPassword('another', stored)).resolves.toBe(false)
    }
  })

  test('takes scrypt hashes with either way of writing N', async () => {
    const [text, hash] = [scryptPassword, scryptHash]
    for (const stored of [hash, hash.replace('ln=14', 'n=16384')]) {
      await expect(verifyPassword(text, stored)).resolves.toBe(true)
      await expect(verifyPassword('another', stored)).resolves.toBe(false)
    }
    await expect(verifyPassword(text, hash.replace('ln=14', 'n=14'))).rejects.toThrow(
      UnsupportedPasswordHashError,
    )
  })

  test('takes PBKDF2 hashes of Django', async () => {
    // Written by Django 3.2: make_password(…) with its default hasher.
    const stored = 'pbkdf2_sha256$260000$0B2L6Lodqi7MuosivMkLHv$DV0PgR/4YOzdecL8rncpmIsIcHX6C8VzbUWrP/IEaV8='
    await expect(verifyPassword('correct horse battery staple', stored)).resolves.toBe(true)
    await expect(verifyPassword('another', stored.replace('260000', '10'))).resolves.toBe(false)
  })

  test('takes the 1,024th character, and never the 1,025th', async () => {
    const longest = 'x'.repeat(1024)
    await expect(verifyPassword(longest, await hashPassword(longest))).resolves.toBe(true)
    await expect(verifyPassword(`${longest}x`, await bcrypt(longest))).resolves.toBe(false)
  })

  test.each(['', 'a\0b', '\0'])('never matches what may not be a password (%j)', async (text) => {
    await expect(verifyPassword(text, await argon2Hash(text, cheap))).resolves.toBe(false)
    await expect(verifyPassword(text, await bcrypt('refused'))).resolves.toBe(false)
  })

  test.each([null, undefined, ''])('never matches a stored hash of %j', async (hash) => {
    await expect(verifyPassword(password, hash)).resolves.toBe(false)
    await expect(verifyPassword('', hash)).resolves.toBe(false)
    await expect(verifyPassword('refused', hash)).resolves.toBe(false)
  })

  const salt = 'c2FsdHNhbHRzYWx0'
  const rest = `${salt}$${'A'.repeat(43)}`
  test.each([
    ['plain text', password],
    ['md5-crypt', '$1$abcdefgh$ik7CuXsTZ3eQmO3OZy3dT.'],
    ['pbkdf2', `$pbkdf2-sha256$29000$${rest}`],
    ['PBKDF2 with another hash function', `pbkdf2_sha1$1000$${salt}$${'A'.repeat(43)}=`],
    ['PBKDF2 without iterations', `pbkdf2_sha256$0$${salt}$${'A'.repeat(43)}=`],
    ['PBKDF2 of eleven million iterations', `pbkdf2_sha256$11000000$${salt}$${'A'.repeat(43)}=`],
    ['PBKDF2 with a short salt', `pbkdf2_sha256$1000$salt$${'A'.repeat(43)}=`],
    ['cut PBKDF2', `pbkdf2_sha256$1000$${salt}$${'A'.repeat(22)}==`],
    ['bcrypt of a known bug', `$2x$04$${'a'.repeat(53)}`],
    ['cut bcrypt', `$2b$10$${'a'.repeat(43)}`],
    ['long bcrypt', `$2b$10$${'a'.repeat(54)}`],
    ['bcrypt that takes hours', `$2b$31$${'a'.repeat(53)}`],
    ['bcrypt below the least cost', `$2b$03$${'a'.repeat(53)}`],
    ['argon2 of 4 TiB', `$argon2id$v=19$m=4294967295,t=1,p=1$${rest}`],
    ['argon2 just beyond 256 MiB', `$argon2id$v=19$m=262145,t=1,p=1$${rest}`],
    ['argon2 of a million passes', `$argon2id$v=19$m=65536,t=1000000,p=1$${rest}`],
    ['argon2 without passes', `$argon2id$v=19$m=64,t=0,p=1$${rest}`],
    ['argon2 with too little memory for its lanes', `$argon2id$v=19$m=64,t=1,p=9$${rest}`],
    ['argon2 with a short salt', `$argon2id$v=19$m=64,t=1,p=1$c2Fs$${'A'.repeat(43)}`],
    ['argon2 with base64 that is none', `$argon2id$v=19$m=64,t=1,p=1$${salt}$${'A'.repeat(42)}B`],
    ['scrypt of 512 MiB', `$scrypt$ln=19,r=8,p=1$${rest}`],
    ['scrypt of a thousand lanes', `$scrypt$ln=17,r=8,p=1000$${rest}`],
    ['scrypt with large lanes', `$scrypt$ln=1,r=9999,p=300$${rest}`],
    ['scrypt with an N that is no power of two', `$scrypt$n=16385,r=8,p=1$${rest}`],
    ['scrypt with an N too large for its block', `$scrypt$ln=16,r=1,p=1$${rest}`],
    ['scrypt with an N of one', `$scrypt$n=1,r=8,p=1$${rest}`],
  ])('refuses %s, names the option, and keeps the hash to itself', async (_name, hash) => {
    expect(isPasswordHash(hash)).toBe(false)
    const error = await verifyPassword(password, hash).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(UnsupportedPasswordHashError)
    const { message, stack, cause } = error as Error
    expect(message).toContain('users.verify')
    expect(`${message}${stack}`).not.toContain(hash)
    expect(cause).toBeUndefined()
  })

  test('takes hashes at the edges of what argon2 and scrypt may hold', async () => {
    for (const [salt, outputLen] of [
      [8, 16],
      [48, 64],
    ] as const) {
      const hash = await argon2Hash(password, { ...cheap, salt: Buffer.alloc(salt, 7), outputLen })
      await expect(verifyPassword(password, hash)).resolves.toBe(true)
    }
    await expect(verifyPassword('x', `$scrypt$ln=15,r=1,p=1$${rest}`)).resolves.toBe(false)
    await expect(verifyPassword('x', `$scrypt$ln=1,r=9999,p=15$${rest}`)).resolves.toBe(false)
  })
})

/** A verifier whose verifications are counted and end when told. */
const observed = (options: Parameters<typeof createPasswordVerifier>[0] = {}) => {
  const calls: { password: string; hash: string }[] = []
  const waits: number[] = []
  const passwords = createPasswordVerifier({
    verify: async (given, hash) => {
      calls.push({ password: given, hash })
      return verifyPassword(given, hash)
    },
    wait: async (milliseconds) => waits.push(milliseconds),
    ...options,
  })
  return { calls, waits, passwords }
}

/** Algorithm and parameters: everything before the salt. */
const kindOf = (hash: string | undefined) =>
  /^(\$2[aby]\$\d\d\$|\$argon2\w+\$v=\d+\$[^$]+|\$scrypt\$[^$]+|pbkdf2_sha256\$[^$]+)/.exec(hash ?? '')?.[0]

describe('one cost', () => {
  test.each([
    ['bcrypt', () => bcrypt(password)],
    ['argon2i', () => argon2Hash(password, { ...cheap, algorithm: 1 })],
    ['argon2id', () => argon2Hash(password, { ...cheap, memoryCost: 128 })],
    ['scrypt', async () => scryptHash.replace('ln=14', 'ln=4')],
    ['PBKDF2', async () => `pbkdf2_sha256$10$saltsaltsalt$${'A'.repeat(43)}=`],
  ])('a dummy is a %s verification once such a hash was seen', async (_name, make) => {
    const { calls, passwords } = observed()
    const hash = await make()
    await passwords.verify({ password: 'wrong', hash })
    await passwords.verify({ password: 'wrong', hash: undefined })
    await passwords.verify({ password: '', hash })
    await passwords.verify({ password: 'a\0b', hash })
    expect(calls).toHaveLength(4)
    expect(calls.map((call) => kindOf(call.hash))).toEqual(Array(4).fill(kindOf(hash)))
    expect(calls.every((call) => isPasswordHash(call.hash))).toBe(true)
  })

  test('a dummy uses the default hash until another was seen, and never matches', async () => {
    const { calls, passwords } = observed({ verify: undefined })
    await expect(passwords.verify({ password: 'refused', hash: undefined })).resolves.toBe(false)
    const seen = observed({ verify: async (_given, hash) => calls.push({ password: '', hash }) > 0 })
    await expect(seen.passwords.verify({ password, hash: undefined })).resolves.toBe(false)
    expect(calls.map(({ hash }) => kindOf(hash))).toEqual([kindOf(await hashPassword('x'))])
  })

  test('a cost can be learnt before the first login; nonsense teaches nothing', async () => {
    const { calls, passwords } = observed()
    const hash = await bcrypt('another password')
    passwords.learn(hash)
    passwords.learn('nonsense')
    await passwords.verify({ password, hash: undefined })
    expect(calls.map((call) => kindOf(call.hash))).toEqual([kindOf(hash)])
  })

  test('in a table of several kinds, each unknown name is always checked like the same one of them', async () => {
    const { calls, passwords } = observed({
      verify: async (_given, hash) => calls.push({ password: '', hash }) < 0,
    })
    const kinds = ['$2b$04$', '$argon2id$v=19$m=64,t=1,p=1', '$scrypt$ln=4,r=8,p=1']
    const hashes = [await bcrypt('x'), await argon2Hash('x', cheap), scryptHash.replace('ln=14', 'ln=4')]
    for (const hash of hashes) passwords.learn(hash)
    // An order by name: the first prefers the first kind, and so on.
    const preferenceOf = (favourite: string | undefined) => (kind: string) =>
      `${favourite !== undefined && kind.startsWith(favourite) ? 0 : 1}`
    for (const seen of hashes) {
      // Whatever kind was seen last makes no difference, and an invalid password costs what its own user costs.
      await passwords.verify({ password: 'wrong', hash: seen, preference: preferenceOf(kinds[0]) })
      await passwords.verify({ password: '', hash: seen, preference: preferenceOf(kinds[0]) })
      expect(calls.splice(0).map(({ hash }) => kindOf(hash))).toEqual([kindOf(seen), kindOf(seen)])
      for (const kind of kinds)
        await passwords.verify({ password, hash: undefined, preference: preferenceOf(kind) })
      expect(calls.splice(0).map(({ hash }) => kindOf(hash))).toEqual(hashes.map(kindOf))
    }
  })

  test('a hash of another kind is checked by the host once, and then matched in duration', async () => {
    const { calls, waits, passwords } = observed()
    const verifyOther = jest.fn(async () => true)
    await expect(passwords.verify({ password, hash: 'other:hash', verifyOther })).resolves.toBe(true)
    expect([verifyOther.mock.calls.length, calls.length, waits.length]).toEqual([1, 0, 0])
    await expect(passwords.verify({ password, hash: undefined, verifyOther })).resolves.toBe(false)
    await expect(passwords.verify({ password: '', hash: 'other:hash', verifyOther })).resolves.toBe(false)
    expect([verifyOther.mock.calls.length, calls.length, waits.length]).toEqual([1, 0, 2])
  })

  test('a host that answers anything but true has not matched', async () => {
    const { passwords } = observed()
    const truthy = (() => ({ user: 1 })) as unknown as () => boolean
    await expect(passwords.verify({ password, hash: 'other:hash', verifyOther: truthy })).resolves.toBe(false)
  })

  test("the host's check is never asked about a hash known here", async () => {
    const { passwords } = observed()
    const verifyOther = jest.fn(() => true)
    await expect(
      passwords.verify({ password: 'wrong', hash: await bcrypt(password), verifyOther }),
    ).resolves.toBe(false)
    expect(verifyOther).not.toHaveBeenCalled()
  })

  test('a hash of unknown format costs a dummy before it is refused', async () => {
    const { calls, passwords } = observed()
    await expect(passwords.verify({ password, hash: 'other:hash' })).rejects.toThrow(
      UnsupportedPasswordHashError,
    )
    expect(calls).toHaveLength(1)
  })
})

describe('turns', () => {
  /** Verifications that last until they are let go. */
  const held = (concurrency: number | undefined, queue: number) => {
    const running: (() => void)[] = []
    let now = 0
    let most = 0
    const passwords = createPasswordVerifier({
      concurrency,
      queue,
      verify: async () => {
        now += 1
        most = Math.max(most, now)
        await new Promise<void>((resolve) => running.push(resolve))
        now -= 1
        return true
      },
    })
    return { passwords, running, most: () => most }
  }
  const settle = () => new Promise((resolve) => setImmediate(resolve))

  test('no more than the limit run at once, all the others in the order they came', async () => {
    const { passwords, running, most } = held(2, 100)
    const hash = await bcrypt('x')
    const done: number[] = []
    const start = (n: number) => passwords.verify({ password: 'x', hash }).then(() => done.push(n))
    const all = [0, 1, 2, 3, 4].map(start)
    for (let late = 5; done.length < 12; late += 1) {
      running.shift()?.()
      if (late < 12) all.push(start(late))
      await settle()
    }
    await Promise.all(all)
    expect(most()).toBe(2)
    expect(done).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
  })

  test('beyond the queue the answer is temporarily_unavailable, and a later attempt is served', async () => {
    const { passwords, running } = held(1, 2)
    const waiting = [1, 2, 3].map(() => passwords.verify({ password: 'x', hash: undefined }))
    const error = await passwords
      .verify({ password: 'x', hash: undefined })
      .catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(OAuthError)
    expect(error).toMatchObject({ code: 'temporarily_unavailable', status: 503 })
    expect((error as OAuthError).headers['Retry-After']).toBe('5')
    for (const attempt of waiting) {
      await settle()
      running.shift()?.()
      await attempt
    }
    const later = passwords.verify({ password: 'x', hash: undefined })
    await settle()
    running.shift()?.()
    await expect(later).resolves.toBe(false)
  })

  test('many waiting secrets of clients do not hold up logins', async () => {
    const { passwords, running } = held(2, 3)
    const hash = await bcrypt('x')
    const secrets = [1, 2, 3, 4].map(() => passwords.verifySecret('x', hash))
    const login = passwords.verify({ password: 'x', hash })
    await settle()
    expect(running).toHaveLength(2)
    running.pop()?.()
    await expect(login).resolves.toBe(true)
    for (const secret of secrets) {
      await settle()
      running.shift()?.()
      await secret
    }
  })

  test('client secrets wait in the same queue, and do not change the hash for unknown users', async () => {
    const { passwords, running } = held(1, 0)
    const first = passwords.verify({ password: 'x', hash: undefined })
    const hash = await bcrypt('secret')
    await expect(passwords.verifySecret('secret', hash)).rejects.toMatchObject({ status: 503 })
    await settle()
    running.shift()?.()
    await first
    const { calls, passwords: later } = observed()
    await expect(later.verifySecret('secret', hash)).resolves.toBe(true)
    await later.verify({ password, hash: undefined })
    expect(kindOf(calls.at(-1)?.hash)).toMatch(/^\$argon2id/)
  })

  test('known browsers get every other turn, and places of their own', async () => {
    const { passwords, running } = held(1, 3)
    const done: string[] = []
    const start = (name: string, isKnown: boolean): Promise<unknown> =>
      passwords.verify({ password: 'x', hash: undefined, isKnown }).then(() => done.push(name))
    const attempts = ['running', 'a', 'b', 'c'].map((name) => start(name, false))
    await expect(start('too many', false)).rejects.toMatchObject({ status: 503 })
    attempts.push(...['A', 'B', 'C'].map((name) => start(name, true)))
    await expect(start('too many', true)).rejects.toMatchObject({ status: 503 })
    while (done.length < attempts.length) {
      await settle()
      running.shift()?.()
    }
    expect(done).toEqual(['running', 'A', 'a', 'B', 'b', 'C', 'c'])
  })

  test('a verification that throws gives its turn back', async () => {
    const verify = jest.fn(async () => {
      throw new Error('broken')
    })
    const passwords = createPasswordVerifier({ concurrency: 1, queue: 1, verify })
    const attempts = [
      passwords.verify({ password: 'x', hash: undefined }),
      passwords.verify({ password: 'x', hash: undefined }),
    ]
    for (const attempt of await Promise.allSettled(attempts)) expect(attempt.status).toBe('rejected')
    await expect(passwords.verify({ password: 'x', hash: undefined })).rejects.toThrow('broken')
    expect(verify).toHaveBeenCalledTimes(3)
  })

  test.each([
    ['8', 6],
    ['2', 1],
    ['1', 1],
    ['nonsense', 2],
    [undefined, 2],
  ])('with UV_THREADPOOL_SIZE=%s, %d run at once', async (size, expected) => {
    const before = process.env.UV_THREADPOOL_SIZE
    if (size === undefined) delete process.env.UV_THREADPOOL_SIZE
    else process.env.UV_THREADPOOL_SIZE = size
    const { passwords, running } = held(undefined, 100)
    if (before === undefined) delete process.env.UV_THREADPOOL_SIZE
    else process.env.UV_THREADPOOL_SIZE = before
    const attempts = Array.from({ length: 10 }, () => passwords.verify({ password: 'x', hash: undefined }))
    await settle()
    expect(running).toHaveLength(expected)
    for (const attempt of attempts) {
      running.shift()?.()
      await settle()
      running.shift()?.()
      await attempt
    }
  })
})
