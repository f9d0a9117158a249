import createKnex, { type Knex } from 'knex'
import type { UserMapping } from '../../lib/options/users.ts'
import { describeWith, services } from '../support/services.ts'
import { bcrypt, mapping, observed, req } from './observed-users.ts'

const uuid = '6f1c2b1e-0000-4000-8000-00000000000a'
const hostile = [
  '05',
  ' 5',
  '5 ',
  '+5',
  '5.0',
  '5e0',
  '0x5',
  '5abc',
  'abc',
  '5\0',
  '\0',
  '',
  "5' or '1'='1",
  '\ud800',
  '-1',
  '2147483648',
  '9223372036854775808',
  '9'.repeat(30),
  '9'.repeat(300),
  '5'.repeat(255),
  uuid.toUpperCase(),
  `{${uuid}}`,
  '__proto__',
  'null',
  'true',
]

const idLookup = (config: () => Knex.Config) => {
  let knex: Knex
  beforeAll(() => {
    knex = createKnex(config())
  })
  afterAll(() => knex.destroy())

  test.each([
    ['integer', 5, '5'],
    ['bigInteger', 5, '5'],
    ['string', '5', '5'],
    ['uuid', uuid, uuid],
  ] as const)('a column of type %s finds its own id and no other', async (type, id, subject) => {
    const table = `people_by_${type.toLowerCase()}`
    await knex.schema.dropTableIfExists(table)
    try {
      await knex.schema.createTable(table, (builder) => {
        builder[type]('id').primary()
        builder.string('email')
        builder.string('password_hash')
      })
      await knex(table).insert({ id, email: 'ada', password_hash: await bcrypt('secret') })
      const { users } = observed(knex, { ...mapping, table, isActive: undefined })
      await expect(users.find(subject)).resolves.toMatchObject({ subject })
      await expect(users.authenticate('ADA', 'secret', req)).resolves.toMatchObject({ subject })
      for (const other of hostile) {
        await expect(users.find(other)).resolves.toBeUndefined()
        await expect(users.authenticate(other, 'secret', req)).resolves.toBeUndefined()
      }
      for (const name of ['áda', 'ada ', 'ad\u00e1', 'ada\0']) {
        await expect(users.authenticate(name, 'secret', req)).resolves.toBeUndefined()
      }
    } finally {
      await knex.schema.dropTableIfExists(table)
    }
  })

  test('a mapping is usable if the table has its columns; else the error names what is wrong', async () => {
    const table = 'people_to_check'
    const assertTable = (columns: Partial<UserMapping['columns']> = {}) =>
      observed(knex, { table, columns: { ...mapping.columns, ...columns } }).users.assertTable?.()
    await knex.schema.dropTableIfExists(table)
    await expect(assertTable()).rejects.toThrow('users.table is people_to_check')
    try {
      await knex.schema.createTable(table, (builder) => {
        for (const name of ['id', 'email', 'password_hash']) builder.string(name)
      })
      await expect(assertTable()).resolves.toBeUndefined()
      await expect(assertTable({ username: 'login' })).rejects.toThrow('users.columns.username is login')
    } finally {
      await knex.schema.dropTableIfExists(table)
    }
  })

  test('a username that is a number is found by itself and by no similar string', async () => {
    await knex.schema.dropTableIfExists('people_by_number')
    try {
      await knex.schema.createTable('people_by_number', (builder) => {
        builder.integer('id').primary()
        builder.integer('email')
        builder.string('password_hash')
      })
      await knex('people_by_number').insert({ id: 1, email: 0, password_hash: await bcrypt('secret') })
      const { users } = observed(knex, { ...mapping, table: 'people_by_number', isActive: undefined })
      await expect(users.authenticate('0', 'secret', req)).resolves.toMatchObject({ username: '0' })
      await expect(users.authenticate('abc', 'secret', req)).resolves.toBeUndefined()
      await expect(users.authenticate('00', 'secret', req)).resolves.toBeUndefined()
    } finally {
      await knex.schema.dropTableIfExists('people_by_number')
    }
  })
}

const sqlite = { client: 'better-sqlite3', connection: ':memory:', useNullAsDefault: true }
describe('ids on SQLite', () => idLookup(() => sqlite))
describeWith('postgresql', 'ids on PostgreSQL', () =>
  idLookup(() => ({ client: 'pg', connection: services.postgresql })),
)
describeWith('mariadb', 'ids on MariaDB', () =>
  idLookup(() => ({ client: 'mysql2', connection: services.mariadb })),
)
