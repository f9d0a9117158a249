import { join } from 'node:path'
import knex, { type Knex } from 'knex'
import type { CliOutcome } from '../support/cli-process.ts'
import { openCommandLine } from '../support/command-line.ts'
import { databaseOn, sqliteAt } from '../support/database.ts'
import { createUsers, type Host, type HostSettings, startHost } from '../support/host.ts'

const configuration = `export default {
  database: { client: 'better-sqlite3', connection: { filename: 'app.sqlite' }, useNullAsDefault: true },
  scopes: { read: 'Read', write: 'Write' },
}
`

/** What `latchkey import --json` prints. */
interface ImportReport {
  readonly code: number
  readonly clients: readonly { client_id: string; action: string; fields: { name: string; to?: unknown }[] }[]
  readonly refused: readonly { client_id: string; remark: string }[]
  readonly ignored: readonly { client_id: string; remark: string }[]
  readonly notes: readonly { client_id: string; remark: string }[]
  readonly refresh_tokens?: { imported: number; known: number; refused: Record<string, number> }
  /** Everything that was printed. */
  readonly printed: string
}

/** A host that imports: its command line, and the host itself on the same database. */
export interface ImportHost extends Host {
  import(...args: string[]): Promise<ImportReport>
  /** The same command as people run it. */
  run(...args: string[]): Promise<CliOutcome>
  /** Fills a database of another server, an SQLite file. @returns its path */
  sqlite(fill: (database: Knex) => Promise<unknown>): Promise<string>
  /** Writes a map. @returns the path of its file */
  map(source: string): string
  /** Removes all clients, and what was granted to them. */
  forget(): Promise<void>
}

/** What a client of another server knows. */
export interface Known {
  readonly client_id: string
  readonly client_secret: string
  readonly refresh_token?: string
}

export const startImportHost = async (settings: HostSettings = {}): Promise<ImportHost> => {
  const cli = openCommandLine()
  const folder = cli.folder({ 'latchkey.config.mjs': configuration })
  await cli.succeed(folder, ['migrate'])
  const database = databaseOn(knex(sqliteAt(join(folder, 'app.sqlite'))))
  await createUsers(database, 'latchkey_people')
  const host = await startHost({
    database,
    clients: [],
    options: {
      scopes: { read: 'Read', write: 'Write' },
      lifetimes: { refreshGracePeriod: 0 },
      ...settings.options,
    },
  })
  return {
    ...host,
    import: async (...args) => {
      const { code, stdout, stderr } = await cli.run(folder, ['import', '--json', ...args])
      if (!stdout.startsWith('{')) throw new Error(stderr)
      return { code, printed: stdout + stderr, ...JSON.parse(stdout) }
    },
    run: (...args) => cli.run(folder, ['import', ...args]),
    sqlite: async (fill) => {
      const filename = join(cli.folder(), 'peer.sqlite')
      const peer = knex(sqliteAt(filename))
      await fill(peer)
      await peer.destroy()
      return filename
    },
    map: (source) => join(cli.folder({ 'map.mjs': source }), 'map.mjs'),
    forget: async () => {
      for (const name of ['refresh_tokens', 'access_tokens', 'authorizations', 'imported_secrets', 'clients'])
        await host.table(name).delete()
    },
    close: async () => {
      await host.close()
      await cli.close()
    },
  }
}
