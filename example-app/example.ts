import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { journalApp } from './client/app.ts'
import { type Listening, listen } from './listen.ts'
import { writeRunning } from './running.ts'

/** Options of `startExample`. */
export interface ExampleOptions {
  /** The folder of the database, the secrets and `running.json`; created if missing. */
  data: string
  /** The first port to try; 0 lets the system choose. @default 3000 */
  notesPort?: number
  /** @default 3001 */
  clientPort?: number
  /** Shows the pages in another look: `theme/`. @default false */
  theme?: boolean
  /** Hides Latchkey's informational log lines. @default false */
  quiet?: boolean
}

/** The running apps. */
export interface Example {
  notesUrl: string
  clientUrl: string
  /** The MCP server of Notes. */
  mcpUrl: string
  /** The demo users who may sign in. */
  credentials: { email: string; password: string }[]
  /** Stops accepting connections, waits for running requests and closes the database. */
  close(): Promise<void>
}

const typescriptFiles = (folder: string): string[] =>
  readdirSync(join(import.meta.dirname, folder))
    .filter((file) => file.endsWith('.ts'))
    .sort()

// The same names as if Knex read the folders itself, so that its command line recognizes them. They are objects,
// because Knex's own `import()` of a path does not work everywhere that this file runs.
const migrationSource = {
  getMigrations: async () => typescriptFiles('notes/migrations'),
  getMigrationName: (file: string) => file,
  getMigration: (file: string) => import(`./notes/migrations/${file}`),
}
const seedSource = {
  getSeeds: async () => typescriptFiles('seeds'),
  getSeed: (file: string) => import(`./seeds/${file}`),
}

// Notes reads its settings when it is loaded, so it is imported here.
const startNotes = async (server: Listening) => {
  const { database } = await import('./notes/database.ts')
  try {
    await database.migrate.latest({ migrationSource })
    await database.seed.run({ seedSource })
    const { app, oauth } = await import('./notes/app.ts')
    await oauth.ready()
    server.serve(app)
    return async () => {
      await oauth.close()
      await database.destroy()
    }
  } catch (error) {
    await database.destroy()
    throw error
  }
}

const startJournal = async (server: Listening, notesUrl: string): Promise<void> => {
  const { secret } = await import('./notes/settings.ts')
  const settings = { url: server.url, issuer: `${notesUrl}/oauth`, notesApi: `${notesUrl}/api/notes` }
  server.serve(journalApp({ ...settings, clientId: 'journal', clientSecret: secret('journal') }))
}

const demoCredentials = async (): Promise<Example['credentials']> => {
  const { demoUsers } = await import('./seeds/00_demo.ts')
  return demoUsers.filter((user) => !user.disabled).map(({ email, password }) => ({ email, password }))
}

let isLoaded = false

/**
 * Migrates, seeds and starts Notes and Journal on free ports of localhost.
 * Call it once per process (in tests: per test file), because Notes reads its settings once. A second call throws.
 */
export const startExample = async (options: ExampleOptions): Promise<Example> => {
  const { data, notesPort = 3000, clientPort = 3001, theme = false, quiet = false } = options
  if (isLoaded) throw new Error('startExample() runs once per process')
  isLoaded = true
  mkdirSync(data, { recursive: true })
  const notes = await listen(notesPort)
  const journal = await listen(clientPort)
  const closeServers = () => Promise.all([notes.close(), journal.close()])
  try {
    writeRunning(data, notes.url, journal.url)
    process.env.NOTES_DATA = data
    process.env.NOTES_URL = notes.url
    if (theme) process.env.NOTES_THEME = '1'
    if (quiet) process.env.LOG_LEVEL = 'warn'
    const closeNotes = await startNotes(notes)
    await startJournal(journal, notes.url)
    return {
      notesUrl: notes.url,
      clientUrl: journal.url,
      mcpUrl: `${notes.url}/mcp`,
      credentials: await demoCredentials(),
      close: async () => {
        await closeServers()
        await closeNotes()
      },
    }
  } catch (error) {
    await closeServers()
    throw error
  }
}
