import type { Knex } from 'knex'
import { openOnFile, openOnServer, type SharedDatabase } from './database.ts'
import { sampleOf } from './sample.ts'
import { describeWith, services } from './services.ts'

/** The three databases that Latchkey promises to work alike on. */
export type DatabaseKind = 'SQLite' | 'PostgreSQL' | 'MariaDB'

/** Knex prints each connection that breaks; here they all do. Give it as `log`. */
export const silence = { warn: () => {}, error: () => {}, debug: () => {}, deprecate: () => {} }

/** A database that several processes can open. */
export interface FaultDatabase extends SharedDatabase {
  readonly kind: DatabaseKind
}

interface Settings {
  /** Another server than the shared one, or a way there. */
  readonly url?: string
  /** Changes what the test's own handle is opened with. */
  readonly own?: (config: Knex.Config) => Knex.Config
}

const urls = { PostgreSQL: services.postgresql, MariaDB: services.mariadb } as const

/** A database for one describe: an SQLite file, or tables of its own on a server. */
export const openFaultDatabase = (kind: DatabaseKind, { url, own }: Settings = {}): FaultDatabase => ({
  ...(kind === 'SQLite' ? openOnFile(own) : openOnServer(url ?? urls[kind], 5, own)),
  kind,
})

const listed = {
  PostgreSQL: `SELECT client_port AS place FROM pg_stat_activity WHERE client_port IS NOT NULL`,
  MariaDB: `SELECT host AS place FROM information_schema.processlist`,
}

/** Waits until the server has done with these connections of TCP: what was on its way has happened then, or never will. */
export const doneWith = async (
  { kind, knex: own }: FaultDatabase,
  ports: ReadonlySet<number>,
): Promise<void> => {
  if (kind === 'SQLite') return
  for (;;) {
    const answer = await own.raw(listed[kind])
    const places: { place: string | number }[] = kind === 'PostgreSQL' ? answer.rows : answer[0]
    if (!places.some(({ place }) => ports.has(Number(String(place).split(':').at(-1))))) return
    await new Promise(setImmediate)
  }
}

const servers = ['PostgreSQL', 'MariaDB'] as const

/**
 * The same tests on one of the servers; on both with TEST_ALL=1. A server that is missing is said aloud, as by `describeWith`.
 */
export const describeOnSampledServer = (
  name: string,
  tests: (kind: Exclude<DatabaseKind, 'SQLite'>) => void,
): void => {
  for (const kind of sampleOf(servers, 1))
    describeWith(kind === 'MariaDB' ? 'mariadb' : 'postgresql', `${name}, on ${kind}`, () => tests(kind))
}

/** The same tests on SQLite, and on a server. */
export const describeOnSampled = (name: string, tests: (kind: DatabaseKind) => void): void => {
  describe(`${name}, on SQLite`, () => tests('SQLite'))
  describeOnSampledServer(name, tests)
}
