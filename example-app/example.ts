import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { journalApp } from './client/app.ts'
import { type Listening, listen } from './listen.ts'
import { writeRunning } from './running.ts'

/** What `startExample` takes. */
export interface ExampleOptions {
  /** The folder for the database, the secrets and `running.json`; made when missing. */
  data: string
  /** Where to begin looking for a free port; 0 lets the system choose. @default 3000 */
  notesPort?: number
  /** @default 3001 */
  clientPort?: number
  /** Gives the pages another look: `theme/`. @default false */
  theme?: boolean
  /** Keeps Latchkey's informational log lines out of the output. @default false */
  quiet?: boolean
}

/** Notes and Journal, running. */
export interface Example {
  notesUrl: string
  clientUrl: string
  /** The demo users who may sign in. */
  credentials: { email: string; password: string }[]
  /** Stops accepting, lets running requests finish, closes the database. */
  close(): Promise<void>
}

const typescriptFiles = (folder: string): string[] =>
  readdirSync(join(import.meta.dirname, folder))
    .filter((file) => file.endsWith('.ts'))
    .sort()

// Both as knex would read the folders itself, with names that its command line knows; given as objects
// because knex's own `import()` of a path does not work everywhere that this file runs.
const migrationSource = {
  getMigrations: async () => typescriptFiles('notes/migrations'),
  getMigrationName: (file: string) => file,
  getMigration: (file: string) => import(`./notes/migrations/${file}`),
}
const seedSource = {
  getSeeds: async () => typescriptFiles('seeds'),
  getSeed: (file: string) => import(`./seeds/${file}`),
}

// Notes reads its settings when it is loaded, as an app does: hence the imports inside.
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
 * Once per process (in tests: per test file), because Notes reads its settings only once; throws a second time.
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
