import { hash as argon2Hash } from '@node-rs/argon2'
import type { UserMapping, UserRow } from '../../lib/options/users.ts'
import { OAuthError } from '../../lib/protocol/errors.ts'
import { migrateDatabase } from '../../lib/storage/database/migrate.ts'
import { createUser } from '../../lib/storage/repositories/users.ts'
import { hashPassword } from '../../lib/users/passwords/passwords.ts'
import { migrations } from '../support/features.ts'
import { countStatements } from '../support/statement-count.ts'
import { askedFor } from './asked-claims.ts'
import { bcrypt, mapping, observed, req, sqlite } from './observed-users.ts'

/** Hashes of two kinds, as in a table that is being moved from one to the other. */
const mixedHashes = async (): Promise<[older: string, newer: string]> => [
  await bcrypt('secret'),
  await argon2Hash('secret', { memoryCost: 64, timeCost: 1, parallelism: 1 }),
]

/** @param people login names of users with `mixedHashes()`, in the same order */
const expectSteadyCosts = async (
  { users, hashes }: Pick<ReturnType<typeof observed>, 'users' | 'hashes'>,
  people: readonly string[],
): Promise<void> => {
  const costOf = async (name: string, password: string): Promise<string[]> => {
    hashes.length = 0
    await users.authenticate(name, password, req)
    return hashes.map((hash) => hash.slice(0, 4))
  }
  const costs = async (nameOf: (index: number) => string): Promise<string[]> => {
    const found: string[] = []
    for (let index = 0; index < 20; index += 1) found.push(...(await costOf(nameOf(index), 'secret')))
    return found
  }
  const before = await costs((index) => `nobody-${index}`)
  expect(new Set(before)).toEqual(new Set(['$2b$', '$arg']))
  for (const name of people) {
    const own = await costOf(name, 'wrong')
    expect(await costOf(name, '')).toEqual(own)
    expect(await costs((index) => `Nobody-${index}`)).toEqual(before)
  }
}

const withPeople = async (people: readonly UserRow[], options: Partial<UserMapping> = {}) => {
  const knex = sqlite()
  await knex.schema.createTable('people', (table) => {
    table.increments('id')
    for (const name of ['email', 'password_hash', 'full_name', 'disabled_at', 'salt']) table.string(name)
  })
  for (const person of people) await knex('people').insert(person)
  return { knex, ...observed(knex, { ...mapping, ...options }) }
}

describe("the host's table", () => {
  test('a user signs in, and is found by the subject', async () => {
    const { users } = await withPeople([
      { id: 7, email: 'ada@example.com', password_hash: await bcrypt('secret'), full_name: 'Ada' },
    ])
    const user = await users.authenticate('ada@example.com', 'secret', req)
    expect(user).toMatchObject({ subject: '7', username: 'ada@example.com' })
    expect(user?.record).toMatchObject({ id: 7, full_name: 'Ada' })
    await expect(users.find('7')).resolves.toMatchObject({ subject: '7', username: 'ada@example.com' })
    await expect(users.find('8')).resolves.toBeUndefined()
  })

  test('every failure has one answer and one verification of one kind', async () => {
    const hash = await bcrypt('secret')
    const { knex, users, hashes } = await withPeople([
      { email: 'ada', password_hash: hash },
      { email: 'gone', password_hash: hash, disabled_at: '2026-01-01' },
      { email: 'google', password_hash: null },
      { email: 'empty', password_hash: '' },
    ])
    const count = await countStatements(knex, [])
    const attempts = [
      ['unknown', 'secret'],
      ['ada', 'wrong'],
      ['ada', ''],
      ['ada', 'secret\0'],
      ['ada', 'x'.repeat(1025)],
      ['gone', 'secret'],
      ['google', ''],
      ['google', 'secret'],
      ['empty', ''],
    ] as [string, string][]
    // Even the first attempt after a start, for a user who does not exist, costs what a hash of this table does.
    for (const [username, password] of attempts) {
      hashes.length = 0
      count.reset()
      await expect(users.authenticate(username, password, req)).resolves.toBeUndefined()
      expect(hashes.map((used) => used.slice(0, 7))).toEqual(['$2b$04$'])
      expect(count.ours.filter((sql) => sql.includes('in ('))).toHaveLength(1)
    }
  })

  test('with hashes of two kinds each unknown name is checked like one, also while others log in', async () => {
    const [older, newer] = await mixedHashes()
    const people = { ada: older, bob: newer }
    const rows = Object.entries(people).map(([email, password_hash]) => ({ email, password_hash }))
    await expectSteadyCosts(await withPeople(rows), ['ada', 'bob'])
  })

  test('a login name is searched as typed, then in lower case', async () => {
    const { users } = await withPeople([
      { id: 1, email: 'ada@example.com', password_hash: await bcrypt('lower') },
      { id: 2, email: 'Ada@example.com', password_hash: await bcrypt('mixed') },
      { id: 3, email: 'Bob@example.com', password_hash: await bcrypt('bob') },
    ])
    const subjectOf = async (name: string, password: string) =>
      (await users.authenticate(name, password, req))?.subject
    await expect(subjectOf('ADA@example.com', 'lower')).resolves.toBe('1')
    await expect(subjectOf('Ada@example.com', 'mixed')).resolves.toBe('2')
    await expect(subjectOf('Ada@example.com', 'lower')).resolves.toBeUndefined()
    await expect(subjectOf('Bob@example.com', 'bob')).resolves.toBe('3')
    await expect(subjectOf('bob@example.com', 'bob')).resolves.toBeUndefined()
    await expect(subjectOf(' ada@example.com', 'lower')).resolves.toBeUndefined()
  })

  test('of rows with one username the only active one counts; two match no user and are logged', async () => {
    const { users, log, knex } = await withPeople([
      { id: 1, email: 'ada@example.com', password_hash: await bcrypt('old'), disabled_at: '2026-01-01' },
      { id: 2, email: 'ada@example.com', password_hash: await bcrypt('new') },
    ])
    await expect(users.authenticate('ada@example.com', 'new', req)).resolves.toMatchObject({ subject: '2' })
    await expect(users.authenticate('ada@example.com', 'old', req)).resolves.toBeUndefined()
    expect(log).toEqual([])
    await knex('people').update({ disabled_at: null })
    for (const password of ['new', 'old']) {
      await expect(users.authenticate('ada@example.com', password, req)).resolves.toBeUndefined()
    }
    expect(log).toEqual(Array(2).fill(expect.stringContaining('users.columns.username is not unique')))
  })

  test.each([[false], [undefined], [0]])('a user is disabled if isActive returns %p', async (active) => {
    const isActive = (() => active) as unknown as () => boolean
    const row = { id: 1, email: 'ada', password_hash: await bcrypt('secret') }
    const { users } = await withPeople([row], { isActive })
    await expect(users.find('1')).resolves.toBeUndefined()
    await expect(users.authenticate('ada', 'secret', req)).resolves.toBeUndefined()
  })

  test('isActive may be asynchronous: a promise of false disables the user, as false does', async () => {
    const people = [
      { id: 1, email: 'ada', password_hash: await bcrypt('secret') },
      { id: 2, email: 'bob', password_hash: await bcrypt('secret') },
    ]
    const { users } = await withPeople(people, { isActive: async (row) => row.email === 'ada' })
    expect(await users.find('1')).toMatchObject({ subject: '1' })
    expect(await users.authenticate('ada', 'secret', req)).toMatchObject({ subject: '1' })
    expect(await users.find('2')).toBeUndefined()
    expect(await users.authenticate('bob', 'secret', req)).toBeUndefined()
  })

  test('an isActive that rejects is an error, and the user does not log in', async () => {
    const isActive = async (): Promise<boolean> => Promise.reject(new Error('no directory'))
    const row = { id: 1, email: 'ada', password_hash: await bcrypt('secret') }
    const { users } = await withPeople([row], { isActive })
    await expect(users.find('1')).rejects.toThrow('users.isActive failed')
    await expect(users.authenticate('ada', 'secret', req)).rejects.toThrow('users.isActive failed')
  })

  test('isActive is called only after the right password, so its duration reveals no account', async () => {
    const asked: unknown[] = []
    const isActive = async (row: UserRow): Promise<boolean> => asked.push(row.email) < 0
    const row = { id: 1, email: 'ada', password_hash: await bcrypt('secret') }
    const { users } = await withPeople([row], { isActive })
    expect(await users.authenticate('ada', 'wrong', req)).toBeUndefined()
    expect(await users.authenticate('unknown', 'secret', req)).toBeUndefined()
    expect(asked).toEqual([])
    expect(await users.authenticate('ada', 'secret', req)).toBeUndefined()
    expect(asked).toEqual(['ada'])
  })

  test('claims come from columns or functions, without empty ones; a wrong column is reported once', async () => {
    const { users, log } = await withPeople(
      [{ id: 1, email: 'ada', full_name: 'Ada', password_hash: null }],
      {
        claims: {
          name: 'full_name',
          nickname: 'salt',
          locale: 'langauge',
          email: (row) => `${row.email}@example.com`,
          roles: async () => ['admin'],
          website: () => undefined,
        },
      },
    )
    const user = await users.find('1')
    const expected = { name: 'Ada', email: 'ada@example.com', roles: ['admin'], preferred_username: 'ada' }
    await expect(users.claims(user!, askedFor(['profile']))).resolves.toEqual(expected)
    await expect(users.claims(user!, askedFor([]))).resolves.toEqual(expected)
    expect(log).toEqual([expect.stringContaining('users.claims.locale is langauge')])
  })

  test("the host's mappers apply: names and rows are as its own code sees them", async () => {
    const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    const camel = (name: string) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
    const camelRow = (row: unknown): unknown =>
      typeof row === 'object' && row !== null
        ? Object.fromEntries(Object.entries(row).map(([name, value]) => [camel(name), value]))
        : row
    const knex = sqlite({
      wrapIdentifier: (name, wrap) => wrap(snake(name)),
      postProcessResponse: (result: unknown) =>
        Array.isArray(result) ? result.map(camelRow) : camelRow(result),
    })
    await knex.raw('create table staff_members (member_id text, login_name text, password_hash text)')
    const passwordHash = await bcrypt('secret')
    await knex('staffMembers').insert({ memberId: 'm-1', loginName: 'ada', passwordHash })
    const { users, hashes } = observed(knex, {
      table: 'staffMembers',
      columns: { id: 'memberId', username: 'loginName', password: 'passwordHash' },
      claims: { preferred_username: 'loginName' },
    })
    await users.authenticate('unknown', 'secret', req)
    expect(hashes.map((hash) => hash.slice(0, 7))).toEqual(['$2b$04$'])
    const user = await users.authenticate('ADA', 'secret', req)
    expect(user).toMatchObject({ subject: 'm-1', username: 'ada', record: { id: 'm-1', memberId: 'm-1' } })
    await expect(users.find('m-1')).resolves.toEqual(user)
    await expect(users.claims(user!, askedFor([]))).resolves.toEqual({ preferred_username: 'ada' })
  })

  test('a hash of another kind goes to verify with the row, once; a wait stands in for it', async () => {
    const verify = jest.fn(
      async (row: UserRow, { password }: { password: string }) => password === `${row.salt}:secret`,
    )
    const { users, hashes } = await withPeople(
      [
        { id: 1, email: 'ada', password_hash: 'legacy', salt: 'pepper' },
        { id: 2, email: 'bob', password_hash: null, salt: 'pepper' },
        { id: 3, email: 'eve', password_hash: await bcrypt('secret'), salt: 'pepper' },
      ],
      { verify },
    )
    await expect(users.authenticate('ada', 'pepper:secret', req)).resolves.toMatchObject({ subject: '1' })
    await expect(users.authenticate('ada', 'secret', req)).resolves.toBeUndefined()
    expect([verify.mock.calls.length, hashes.length]).toEqual([2, 0])
    await expect(users.authenticate('bob', 'pepper:secret', req)).resolves.toBeUndefined()
    await expect(users.authenticate('unknown', 'pepper:secret', req)).resolves.toBeUndefined()
    expect([verify.mock.calls.length, hashes]).toEqual([2, ['(wait)', '(wait)']])
    await expect(users.authenticate('eve', 'secret', req)).resolves.toMatchObject({ subject: '3' })
    expect(verify).toHaveBeenCalledTimes(2)
  })

  describe('rehash', () => {
    const parameters = (hash: string) => /^\$[a-z0-9]+(\$v=19\$m=\d+,t=\d+,p=\d+)?/.exec(hash)?.[0]
    const own = async (): Promise<string | undefined> => parameters(await hashPassword('x'))
    const signInWith = async (password_hash: string, rehash: UserMapping['rehash'], password = 'secret') => {
      const { users, log } = await withPeople([{ id: 1, email: 'ada', password_hash }], { rehash })
      await users.authenticate('ada', `${password}, mistyped`, req)
      return { user: await users.authenticate('ada', password, req), log }
    }

    test('stores a stronger hash after a sign-in, with which the next one succeeds', async () => {
      const rehash = jest.fn()
      const { user } = await signInWith(await bcrypt('secret'), rehash)
      expect(user).toMatchObject({ subject: '1' })
      expect(rehash).toHaveBeenCalledTimes(1)
      const [row, { hash }] = rehash.mock.calls[0]
      expect({ row, parameters: parameters(hash) }).toEqual({
        row: expect.objectContaining({ id: 1, email: 'ada' }),
        parameters: await own(),
      })
      expect((await signInWith(hash, rehash)).user).toMatchObject({ subject: '1' })
      expect(rehash).toHaveBeenCalledTimes(1)
    })

    test('is not called, and no one signs in, if the password changes while the old one is checked', async () => {
      const rehash = jest.fn()
      const table = await withPeople([{ id: 1, email: 'ada', password_hash: await bcrypt('secret') }])
      const changed = await bcrypt('new secret')
      const people = () => table.knex('people').where({ id: 1 })
      const late = observed(table.knex, { ...mapping, rehash }, () =>
        people().update({ password_hash: changed }),
      )
      await expect(late.users.authenticate('ada', 'secret', req)).resolves.toBeUndefined()
      expect(rehash).not.toHaveBeenCalled()
      await expect(late.users.authenticate('ada', 'new secret', req)).resolves.toMatchObject({ subject: '1' })
      expect(rehash).toHaveBeenCalledWith(
        expect.objectContaining({ password_hash: changed }),
        expect.anything(),
      )
    })

    test.each([
      ['argon2id with less memory', { memoryCost: 8192, timeCost: 4, parallelism: 1 }, 1],
      ['argon2id with fewer passes', { memoryCost: 32_768, timeCost: 1, parallelism: 1 }, 1],
      ['argon2i', { algorithm: 1, memoryCost: 19_456, timeCost: 2, parallelism: 1 }, 1],
      ['argon2id with more of both', { memoryCost: 24_576, timeCost: 3, parallelism: 1 }, 0],
    ])('is called after a sign-in with %s: %j, %i times', async (_, options, times) => {
      const rehash = jest.fn()
      await signInWith(await argon2Hash('secret', options), rehash)
      expect(rehash).toHaveBeenCalledTimes(times)
    })

    test('does not store what bcrypt did not check: a password of more than 72 bytes', async () => {
      const rehash = jest.fn()
      const long = 'a'.repeat(73)
      const { user } = await signInWith(await bcrypt(long), rehash, long)
      expect(user).toMatchObject({ subject: '1' })
      expect(rehash).not.toHaveBeenCalled()
    })

    test('does not stop the sign-in when it fails', async () => {
      const hash = await bcrypt('secret')
      const { user, log } = await signInWith(hash, () => Promise.reject(new Error('read only')))
      expect(user).toMatchObject({ subject: '1' })
      expect(log).toEqual(['latchkey: the password of user "1" was not hashed again'])
    })
  })

  test('without verify such a user gets the common answer, and the operator the reason', async () => {
    const stored = 'md5:5ebe2294ecd0e0f08eab7690d2a6ee69'
    const { users, hashes, log } = await withPeople([{ id: 1, email: 'ada', password_hash: stored }])
    await expect(users.authenticate('ada', 'secret', req)).resolves.toBeUndefined()
    expect(hashes).toHaveLength(1)
    expect(log).toEqual([expect.stringMatching(/user "1".*users\.verify/)])
    expect(log.join()).not.toContain(stored)
  })

  test('a column that the rows do not have is named', async () => {
    const knex = sqlite({ postProcessResponse: (rows: unknown) => rows })
    await knex.raw('create table people (id integer, email text, password_hash text)')
    await knex('people').insert({ id: 1, email: 'ada', password_hash: 'x' })
    const columns = { ...mapping.columns, username: 'EMAIL' }
    const { users } = observed(knex, { ...mapping, isActive: undefined, columns })
    await expect(users.find('1')).rejects.toThrow('users.columns.username is EMAIL')
  })

  test.each([[2 ** 53], [1.5], [''], [Buffer.from('abc')], ['zoë'], ['ada\n']])(
    'an id of %p is refused, not mistaken for another',
    async (id) => {
      const knex = sqlite()
      await knex.raw('create table people (id, email text, password_hash text)')
      await knex('people').insert({ id, email: 'ada', password_hash: await bcrypt('secret') })
      const { users } = observed(knex, { ...mapping, isActive: undefined })
      await expect(users.authenticate('ada', 'secret', req)).rejects.toThrow('users.columns.id must be')
    },
  )

  test('an unavailable database is temporarily_unavailable, and works again afterwards', async () => {
    const { users, knex } = await withPeople([{ id: 1, email: 'ada', password_hash: await bcrypt('secret') }])
    await knex.schema.renameTable('people', 'elsewhere')
    const faults = [users.find('1'), users.authenticate('ada', 'secret', req)]
    for (const { reason } of (await Promise.allSettled(faults)) as PromiseRejectedResult[]) {
      expect(reason).toBeInstanceOf(OAuthError)
      expect(reason).toMatchObject({ code: 'temporarily_unavailable' })
      expect(reason.message).not.toContain('people')
    }
    await knex.schema.renameTable('elsewhere', 'people')
    await expect(users.authenticate('ada', 'secret', req)).resolves.toBeDefined()
  })

  test.each([
    ['the username', 'ada', {}, { preferred_username: 'ada' }],
    ['left out if that is an e-mail address', 'ada@example.com', {}, {}],
    [
      'what the host maps',
      'a@b.example',
      { preferred_username: 'email' },
      { preferred_username: 'a@b.example' },
    ],
    ['left out if the host says so', 'ada', { preferred_username: () => undefined }, {}],
  ])('preferred_username is %s', async (_case, email, claims, expected) => {
    const { users } = await withPeople([{ id: 1, email, password_hash: 'x' }], { claims })
    await expect(users.claims((await users.find('1'))!, askedFor(['profile']))).resolves.toEqual(expected)
  })
})

describe("Latchkey's own table", () => {
  const account = {
    id: 'u-1',
    username: 'ada',
    name: 'Ada Lovelace',
    email: 'ada@example.com',
    emailVerified: true,
    claims: { locale: 'en', name: 'not this one' },
    now: 1_800_000_000,
  }
  const withAccounts = async (meanwhile?: Parameters<typeof observed>[2]) => {
    const knex = sqlite()
    const own = observed(knex, undefined, meanwhile)
    await migrateDatabase(own.database, migrations)
    const passwordHash = await hashPassword('secret')
    await createUser(own.database, { ...account, passwordHash })
    await createUser(own.database, {
      ...account,
      id: 'u-2',
      username: 'bob',
      passwordHash: null,
      claims: {},
      name: null,
      email: null,
      emailVerified: false,
    })
    await createUser(own.database, { ...account, id: 'u-3', username: 'gone', passwordHash })
    await knex('latchkey_users').where({ id: 'u-3' }).update({ disabled_at: 1_800_000_001 })
    return own
  }

  test.each([
    ['the password is changed', { password_hash: 'another hash' }],
    ['the user is disabled', { disabled_at: 1 }],
    ['the account gets another id', { id: 'u-9' }],
  ])('while a password is checked, %s: nobody signs in (H1)', async (_, change) => {
    const accounts = await withAccounts(() =>
      accounts.database.knex('latchkey_users').where({ id: 'u-1' }).update(change),
    )
    await expect(accounts.users.authenticate('ada', 'secret', req)).resolves.toBeUndefined()
    expect(accounts.hashes).toHaveLength(1)
  })

  test('a username that is an e-mail address is not revealed as preferred_username', async () => {
    const { users, database } = await withAccounts()
    await createUser(database, { ...account, id: 'u-4', username: 'ada@example.com', passwordHash: null })
    const claims = await users.claims((await users.find('u-4'))!, askedFor([]))
    expect(claims).not.toHaveProperty('preferred_username')
  })

  test('a user signs in, is found, and has claims', async () => {
    const { users } = await withAccounts()
    const user = await users.authenticate('ADA', 'secret', req)
    expect(user).toMatchObject({ subject: 'u-1', username: 'ada', record: { id: 'u-1' } })
    expect(JSON.stringify(user?.record)).not.toContain('argon2')
    await expect(users.claims((await users.find('u-1'))!, askedFor([]))).resolves.toEqual({
      name: 'Ada Lovelace',
      email: 'ada@example.com',
      email_verified: true,
      preferred_username: 'ada',
      updated_at: 1_800_000_000,
      locale: 'en',
    })
    await expect(users.claims((await users.find('u-2'))!, askedFor([]))).resolves.toEqual({
      preferred_username: 'bob',
      updated_at: 1_800_000_000,
    })
  })

  test('with hashes of two kinds unknown names are checked like one, and disabled users as before', async () => {
    const own = await withAccounts()
    const [older, newer] = await mixedHashes()
    const update = (id: string, change: object) =>
      own.database.knex('latchkey_users').where({ id }).update(change)
    await update('u-1', { password_hash: older })
    await update('u-2', { password_hash: newer, disabled_at: 1 })
    await update('u-3', { password_hash: older })
    await expectSteadyCosts(own, ['ada', 'bob', 'gone'])
    own.hashes.length = 0
    for (const name of ['bob', 'gone'])
      await expect(own.users.authenticate(name, 'secret', req)).resolves.toBeUndefined()
    expect(own.hashes).toEqual([newer, older])
  })

  test('every failure has one answer and one verification of one kind', async () => {
    const { users, hashes } = await withAccounts()
    const attempts = 'unknown:secret ada:wrong ada: gone:secret bob:secret bob: a\0:secret'.split(' ')
    for (const [username = '', password = ''] of attempts.map((attempt) => attempt.split(':'))) {
      hashes.length = 0
      await expect(users.authenticate(username, password, req)).resolves.toBeUndefined()
      expect(hashes.map((hash) => hash.slice(0, 30))).toEqual(['$argon2id$v=19$m=19456,t=2,p=1'])
    }
    for (const subject of ['u-3', 'u-4', 'U-1', '', 'u-1\0', 'x'.repeat(300)]) {
      await expect(users.find(subject)).resolves.toBeUndefined()
    }
  })
})

describe('the full name of a user', () => {
  const row = { id: 7, email: 'ada@example.com', full_name: 'Ada' }
  test.each<[string, UserMapping['claims'], string | undefined]>([
    ['a column', { name: 'full_name' }, 'Ada'],
    ['a column that goes elsewhere', { name: { value: 'full_name', for: ['access_token'] } }, 'Ada'],
    ['a function of the row', { name: (given) => `Dr ${given.full_name}` }, 'Dr Ada'],
    [
      'a function that asks which client wants it',
      { name: (_row, { client }) => `${client.client_id}` },
      undefined,
    ],
    ['an empty column', { name: 'salt' }, undefined],
    ['no claim', {}, undefined],
  ])('in the table of the host, by %s', async (_, claims, expected) => {
    const { users } = await withPeople([row], { claims })
    const user = await users.find('7')
    expect(await users.fullName(user!)).toBe(expected)
  })

  test.each([
    ['a name', { name: 'Ada' }, 'Ada'],
    ['no name', {}, undefined],
    ['a name that is no text', { name: 5 }, undefined],
  ])('behind functions that return %s', async (_, more, expected) => {
    const find = (id: string) => ({ id, ...more })
    const { users } = observed(sqlite(), { find, authenticate: () => undefined })
    const user = await users.find('7')
    expect(await users.fullName(user!)).toBe(expected)
  })
})
