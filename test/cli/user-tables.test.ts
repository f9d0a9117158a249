// `latchkey init` with the user tables of common frameworks: an inactive user is never let in.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runInNewContext } from 'node:vm'
import knex from 'knex'
import { openCommandLine } from '../support/command-line.ts'

const cli = openCommandLine()
afterAll(() => cli.close())

type Row = Readonly<Record<string, unknown>>

interface Framework {
  readonly table: string
  /** The row of an active user; its keys are the columns. */
  readonly active: Row
  /** What each kind of inactive user has instead. */
  readonly inactive: readonly Row[]
  readonly columns: { readonly id: string; readonly username: string; readonly password: string }
  /** Answers the question of `init`. */
  readonly options?: readonly string[]
  /** What makes an address unverified. */
  readonly unverified?: Row
}

const time = '2026-01-01T00:00:00Z'
const future = '2999-01-01T00:00:00Z'

const frameworks: Readonly<Record<string, Framework>> = {
  'Rails Devise': {
    table: 'users',
    active: {
      id: 1,
      email: 'a@b.c',
      encrypted_password: 'x',
      confirmed_at: time,
      locked_at: null,
      discarded_at: null,
    },
    inactive: [{ locked_at: time }, { discarded_at: time }],
    columns: { id: 'id', username: 'email', password: 'encrypted_password' },
    unverified: { confirmed_at: null },
  },
  Django: {
    table: 'auth_user',
    active: {
      id: 1,
      username: 'ada',
      email: 'a@b.c',
      password: 'x',
      is_active: 1,
      is_staff: 0,
      is_superuser: 0,
    },
    inactive: [{ is_active: 0 }],
    columns: { id: 'id', username: 'email', password: 'password' },
  },
  Laravel: {
    table: 'users',
    active: { id: 1, name: 'Ada', email: 'a@b.c', password: 'x', email_verified_at: time, deleted_at: null },
    inactive: [{ deleted_at: time }],
    columns: { id: 'id', username: 'email', password: 'password' },
    unverified: { email_verified_at: null },
  },
  'Prisma with Auth.js': {
    table: 'User',
    active: { id: 'u1', name: 'Ada', email: 'a@b.c', emailVerified: time, passwordHash: 'x', isBanned: 0 },
    inactive: [{ isBanned: 1 }],
    columns: { id: 'id', username: 'email', password: 'passwordHash' },
    unverified: { emailVerified: null },
  },
  Sequelize: {
    table: 'Users',
    active: { id: 1, username: 'ada', email: 'a@b.c', password: 'x', isActive: 1, deletedAt: null },
    inactive: [{ isActive: 0 }, { deletedAt: time }],
    columns: { id: 'id', username: 'email', password: 'password' },
  },
  Supabase: {
    table: 'users',
    active: {
      id: 'u1',
      email: 'a@b.c',
      encrypted_password: 'x',
      email_confirmed_at: time,
      banned_until: null,
      deleted_at: null,
    },
    inactive: [{ banned_until: future }, { deleted_at: time }],
    columns: { id: 'id', username: 'email', password: 'encrypted_password' },
    unverified: { email_confirmed_at: null },
  },
  WordPress: {
    table: 'wp_users',
    active: {
      ID: 1,
      user_login: 'ada',
      user_pass: 'x',
      user_email: 'a@b.c',
      user_status: 0,
      display_name: 'Ada',
    },
    inactive: [{ user_status: 1 }],
    columns: { id: 'ID', username: 'user_login', password: 'user_pass' },
    options: ['--active', 'user_status=0'],
  },
  Drupal: {
    table: 'users_field_data',
    active: { uid: 1, name: 'ada', pass: 'x', mail: 'a@b.c', status: 1 },
    inactive: [{ status: 0 }],
    columns: { id: 'uid', username: 'mail', password: 'pass' },
    options: ['--active', 'status=1'],
  },
  Phoenix: {
    table: 'users',
    active: { id: 1, email: 'a@b.c', hashed_password: 'x', confirmed_at: time },
    inactive: [],
    columns: { id: 'id', username: 'email', password: 'hashed_password' },
    unverified: { confirmed_at: null },
  },
  'ASP.NET Identity': {
    table: 'AspNetUsers',
    active: {
      Id: 'u1',
      UserName: 'ada',
      Email: 'a@b.c',
      EmailConfirmed: 1,
      PasswordHash: 'x',
      LockoutEnd: null,
    },
    inactive: [{ LockoutEnd: future }],
    columns: { id: 'Id', username: 'Email', password: 'PasswordHash' },
    unverified: { EmailConfirmed: 0 },
  },
  Strapi: {
    table: 'up_users',
    active: { id: 1, username: 'ada', email: 'a@b.c', password: 'x', confirmed: 1, blocked: 0 },
    inactive: [{ blocked: 1 }],
    columns: { id: 'id', username: 'email', password: 'password' },
    unverified: { confirmed: 0 },
  },
  Directus: {
    table: 'directus_users',
    active: { id: 'u1', email: 'a@b.c', password: 'x', status: 'active', tfa_secret: null },
    inactive: [{ status: 'suspended' }, { status: 'archived' }],
    columns: { id: 'id', username: 'email', password: 'password' },
    options: ['--active', 'status=active'],
  },
  Ghost: {
    table: 'users',
    active: { id: 'u1', name: 'Ada', email: 'a@b.c', password: 'x', status: 'active' },
    inactive: [{ status: 'inactive' }, { status: 'locked' }],
    columns: { id: 'id', username: 'email', password: 'password' },
    options: ['--active', 'status=active'],
  },
  Moodle: {
    table: 'mdl_user',
    active: { id: 1, username: 'ada', password: 'x', email: 'a@b.c', confirmed: 1, deleted: 0, suspended: 0 },
    inactive: [{ deleted: 1 }, { suspended: 1 }],
    columns: { id: 'id', username: 'email', password: 'password' },
    unverified: { confirmed: 0 },
  },
  'Spring Security': {
    table: 'users',
    active: { id: 1, username: 'ada', password: 'x', enabled: 1, account_non_locked: 1 },
    inactive: [{ enabled: 0 }, { account_non_locked: 0 }],
    columns: { id: 'id', username: 'username', password: 'password' },
  },
  Payload: {
    table: 'users',
    active: { id: 1, email: 'a@b.c', hash: 'x', salt: 'y', lock_until: null },
    inactive: [{ lock_until: future }],
    columns: { id: 'id', username: 'email', password: 'hash' },
  },
  Joomla: {
    table: 'jos_users',
    active: { id: 1, name: 'Ada', username: 'ada', email: 'a@b.c', password: 'x', block: 0 },
    inactive: [{ block: 1 }],
    columns: { id: 'id', username: 'email', password: 'password' },
  },
  kutt: {
    table: 'users',
    active: { id: 1, email: 'a@b.c', password: 'x', banned: 0, verified: 1 },
    inactive: [{ banned: 1 }],
    columns: { id: 'id', username: 'email', password: 'password' },
    unverified: { verified: 0 },
  },
}

const folderWith = async ({ table, active }: Framework): Promise<string> => {
  const folder = cli.folder()
  const connection = { filename: join(folder, 'app.sqlite') }
  const database = knex({ client: 'better-sqlite3', connection, useNullAsDefault: true })
  await database.schema.createTable(table, (made) => {
    for (const column of Object.keys(active)) made.string(column)
  })
  await database.destroy()
  return folder
}

/** The configuration as a host loads it, without the database. */
const load = (folder: string) => {
  const source = readFileSync(join(folder, 'latchkey.config.mjs'), 'utf8')
  const users = /users: (\{[\s\S]*?\n {2}\}),/.exec(source)?.[1] ?? ''
  return runInNewContext(`(${users})`)
}

describe.each(Object.entries(frameworks))('the user table of %s (F1)', (_, framework) => {
  const { table, active, inactive, columns, options = [], unverified } = framework
  const init = async (more: readonly string[]) => {
    const folder = await folderWith(framework)
    const given = ['--database', 'app.sqlite', '--redirect-uri', 'http://localhost:4000/cb', '--users', table]
    return { folder, ...(await cli.run(folder, ['init', ...given, ...more])) }
  }

  test('has its columns, and lets active users in, and no others', async () => {
    const { folder, code, stderr } = await init(options)
    expect({ code, stderr }).toMatchObject({ code: 0 })
    const users = load(folder)
    expect(users).toMatchObject({ table, columns })
    expect(users.isActive?.(active) ?? true).toBe(true)
    for (const row of inactive)
      expect({ row, isActive: users.isActive({ ...active, ...row }) }).toEqual({ row, isActive: false })
    const verified = users.claims.email_verified
    expect(verified === undefined).toBe(unverified === undefined)
    if (unverified) expect([verified(active), verified({ ...active, ...unverified })]).toEqual([true, false])
  })

  if (options.length > 0)
    test('needs a word about a column that does not say which value is that of an active user', async () => {
      const { code, stderr } = await init([])
      expect(code).not.toBe(0)
      expect(stderr).toContain(`--active ${String(options[1]).split('=')[0]}=`)
    })
})
