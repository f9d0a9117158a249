// The queries of docs/recipes/row-level.md find what the user may see and the token is for: Knex and Sequelize on PostgreSQL,
// Prisma by the query that it is given, because its client is generated from a schema.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import createKnex, { type Knex } from 'knex'
import { type HostFolder, openHostFolder } from '../support/host-folder.ts'
import { compileFolder } from '../support/recipe.ts'
import { describeWith, services } from '../support/services.ts'
import { filesOf } from '../support/snippets.ts'

const page = 'docs/recipes/row-level.md'
const { 'tasks-prisma.ts': prisma = '', ...modules } = filesOf(page)

/** Runs the query of a module as a guard would: with what the token is for. */
const program = `const [, , module, chosen] = process.argv
const { listTasks } = await import(module)
const found = await listTasks({ subject: '1', chosen: () => JSON.parse(chosen) })
console.log(JSON.stringify(found))
process.exit()
`

const runIn = async (
  folder: HostFolder,
  file: string,
  chosen: 'all' | readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<unknown> => {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [join(folder.path, 'run.mjs'), file, JSON.stringify(chosen)],
    { cwd: folder.path, env: { ...process.env, ...env } },
  )
  return JSON.parse(stdout)
}

/** Ada belongs to a and b; c is of others. */
const cases: readonly [string, 'all' | readonly string[], readonly string[]][] = [
  ['all things are all of the user, and none of others', 'all', ['a', 'b']],
  ['some are these', ['b'], ['b']],
  ['none finds nothing', [], []],
  ['a thing that the user has lost is not found, although the token is for it', ['a', 'c'], ['a']],
]

describeWith('postgresql', page, () => {
  const schema = `row_level_${process.pid}`
  let knex: Knex
  let folder: HostFolder
  beforeAll(async () => {
    const admin = createKnex({ client: 'pg', connection: services.postgresql })
    await admin.schema.createSchemaIfNotExists(schema)
    await admin.destroy()
    knex = createKnex({ client: 'pg', connection: services.postgresql, searchPath: [schema] })
    await knex.schema.createTable('members', (table) => {
      table.increments('id')
      table.string('projectId')
      table.integer('userId')
    })
    await knex.schema.createTable('tasks', (table) => {
      table.increments('id')
      table.string('projectId')
      table.string('title')
    })
    const rows = ['a', 'b', 'c'].map((projectId) => ({ projectId, title: `of ${projectId}` }))
    await knex('tasks').insert(rows)
    await knex('members').insert([
      { projectId: 'a', userId: 1 },
      { projectId: 'b', userId: 1 },
      { projectId: 'c', userId: 2 },
    ])
    folder = openHostFolder({ ...modules, 'run.mjs': program })
  })
  afterAll(async () => {
    folder?.remove()
    await knex?.schema.dropSchemaIfExists(schema, true)
    await knex?.destroy()
  })

  describe.each(['tasks-knex.mjs', 'tasks-sequelize.mjs'])('%s', (module) => {
    test.each(cases)('%s', async (_, chosen, expected) => {
      const env = { DATABASE_URL: services.postgresql, PGOPTIONS: `-c search_path=${schema}` }
      const found = (await runIn(folder, `./${module}`, chosen, env)) as { projectId: string }[]
      expect(found.map(({ projectId }) => projectId)).toEqual(expected)
    })
  })
})

test('tasks-prisma.ts asks for both rules, and leaves out only that of a token for all', async () => {
  const folder = openHostFolder({
    'run.mjs': program,
    'tasks-prisma.ts': prisma,
    'prisma.ts': `type Where = { project: { members: { some: { userId: number } } }; projectId?: { in: string[] } }
type Asked = { where: Where; orderBy: { id: 'asc' | 'desc' } }
export const prisma = { task: { findMany: async ({ where }: Asked) => where } }
`,
  })
  try {
    const file = `./${compileFolder(folder)}/tasks-prisma.js`
    const project = { members: { some: { userId: 1 } } }
    expect(await runIn(folder, file, 'all')).toEqual({ project })
    expect(await runIn(folder, file, ['a'])).toEqual({ project, projectId: { in: ['a'] } })
    expect(await runIn(folder, file, [])).toEqual({ project, projectId: { in: [] } })
  } finally {
    folder.remove()
  }
})
