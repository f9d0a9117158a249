import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { authRouter } from '../../lib/index.ts'
import { openTestDatabase, type TestDatabase } from './database.ts'
import { kept } from './features.ts'

const root = join(__dirname, '../..')

/** Changes with the day, with the schema, and with what makes keys. */
const version = (): string => {
  const hash = createHash('sha256').update(String(Math.floor(performance.timeOrigin / 86_400_000)))
  for (const folder of ['migrations', 'lib/keys', 'lib/storage/database', 'lib/features']) {
    const files = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    for (const name of files.filter((file) => file.endsWith('.ts')).sort())
      hash.update(readFileSync(join(root, folder, name)))
  }
  return hash.digest('hex').slice(0, 16)
}

/** A database in memory, for `openTestDatabase`. */
export const contentOf = async ({ knex }: TestDatabase): Promise<Buffer> => {
  const connection = await knex.client.acquireConnection()
  const content: Buffer = connection.serialize()
  await knex.client.releaseConnection(connection)
  return content
}

const prepare = async (secret: string): Promise<Buffer> => {
  const database = openTestDatabase()
  const oauth = authRouter({
    issuer: 'http://localhost:3000/oauth',
    database: { knex: database.knex, prune: false },
    secrets: [secret],
    features: kept,
    logger: { info: () => {}, warn: () => {}, error: () => {} },
  })
  await oauth.ready()
  await oauth.close()
  const content = await contentOf(database)
  await database.close()
  return content
}

/**
 * A database in memory with tables and signing keys. Making them takes longer than most tests, so the first one is kept
 * in a file for the day; the keys of a copy are as old as the copy.
 */
export const openPreparedDatabase = async (secret: string): Promise<TestDatabase> => {
  const path = join(tmpdir(), `latchkey-tests-${version()}.sqlite`)
  if (!existsSync(path)) {
    const own = `${path}.${process.pid}`
    writeFileSync(own, await prepare(secret))
    renameSync(own, path)
  }
  const database = openTestDatabase(undefined, readFileSync(path))
  const now = Math.floor(Date.now() / 1000)
  await database.knex('latchkey_signing_keys').update({ created_at: now, active_at: now })
  return database
}
