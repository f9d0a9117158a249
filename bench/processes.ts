import { type ChildProcess, fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import createKnex from 'knex'
import { compile, thisCheckout } from './compile.ts'
import type { Contestant } from './contestants.ts'
import type { GeneratorAnswers, GeneratorSettings } from './load/generator.ts'
import { type Ask, asking } from './messages.ts'
import type { ServerAnswers, ServerSettings } from './server/serving.ts'

/** A server in a process of its own. */
export interface RunningServer {
  readonly contestant: Contestant
  readonly base: string
  readonly ask: Ask<ServerAnswers>
  /** Gathers the statistics by which PostgreSQL plans statements, as its autovacuum does within a minute. */
  analyze(): Promise<void>
  stop(): Promise<void>
}

/** A server whose folder and schema exist, and which does not run yet. */
export interface PreparedServer {
  /** Its PostgreSQL schema. */
  readonly schema: string
  /** @param extra further settings */
  start(extra?: Partial<ServerSettings>): Promise<RunningServer>
  remove(): Promise<void>
}

export interface Bench {
  prepare(contestant: Contestant, extra?: Partial<ServerSettings>): Promise<PreparedServer>
  generator(
    settings?: GeneratorSettings,
  ): Promise<{ readonly ask: Ask<GeneratorAnswers>; stop(): Promise<void> }>
}

export const postgresUrl = process.env.BENCH_POSTGRES_URL ?? 'postgres://postgres@127.0.0.1:5432/test'

/** The reason why PostgreSQL is unavailable; undefined if it is available. */
export const postgresProblem = async (): Promise<string | undefined> => {
  const knex = createKnex({ client: 'pg', connection: postgresUrl, acquireConnectionTimeout: 2000 })
  try {
    await knex.raw('SELECT 1')
    return undefined
  } catch (error) {
    return `PostgreSQL is unavailable (set BENCH_POSTGRES_URL): ${(error as Error).message}`
  } finally {
    await knex.destroy()
  }
}

const onPostgres = async (sql: string, bindings: readonly string[] = []): Promise<void> => {
  const knex = createKnex({ client: 'pg', connection: postgresUrl })
  await knex.raw(sql, bindings)
  await knex.destroy()
}

const ended = (child: ChildProcess): Promise<number | null> =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) resolve(child.exitCode)
    else child.once('exit', resolve)
  })

const stop = async (child: ChildProcess): Promise<void> => {
  if (child.connected) child.disconnect()
  await ended(child)
}

/** @throws Error if the process ends first */
const firstMessage = (child: ChildProcess, name: string): Promise<{ base: string }> =>
  new Promise((resolve, reject) => {
    child.once('message', resolve)
    child.once('exit', (code) => reject(new Error(`${name} ended with ${code} before it was ready`)))
  })

/**
 * Compiles a checkout once. Each server and each load generator then runs in its own process.
 *
 * @param checkout the folder of the checkout that the servers come from
 * @param postgres the URL of PostgreSQL
 */
export const openBench = (checkout = thisCheckout, postgres = postgresUrl): Bench => {
  const directory = compile(checkout)
  const run = (file: string, settings: object): ChildProcess =>
    fork(join(directory, 'bench', file), [JSON.stringify(settings)], {
      // Without tsx, which only the parent needs.
      execArgv: [],
      env: { ...process.env, NODE_ENV: 'production', NODE_OPTIONS: '' },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })

  const prepare = async (
    contestant: Contestant,
    given: Partial<ServerSettings> = {},
  ): Promise<PreparedServer> => {
    const schema = `latchkey_bench_${randomBytes(6).toString('hex')}`
    const settings: ServerSettings = {
      directory: mkdtempSync(join(tmpdir(), 'latchkey-bench-')),
      storage: contestant.storage,
      model: contestant.model,
      ...(contestant.storage === 'postgresql' ? { postgres: { url: postgres, schema } } : {}),
      ...given,
    }
    const file = `server/${contestant.server}.js`
    const code = await ended(run(file, { ...settings, prepare: true }))
    if (code !== 0) throw new Error(`${contestant.name} could not be prepared`)
    return {
      schema,
      start: async (extra) => {
        const child = run(file, { ...settings, ...extra })
        const { base } = await firstMessage(child, contestant.name)
        return {
          contestant,
          base,
          ask: asking<ServerAnswers>(child),
          stop: () => stop(child),
          analyze: async () => {
            if (settings.postgres) await onPostgres('ANALYZE')
          },
        }
      },
      remove: async () => {
        rmSync(settings.directory, { recursive: true, force: true })
        if (settings.postgres) await onPostgres('DROP SCHEMA IF EXISTS ?? CASCADE', [schema])
      },
    }
  }

  const generator = async (settings: GeneratorSettings = {}) => {
    const child = run('load/generator.js', settings)
    await firstMessage(child, 'the load generator')
    return { ask: asking<GeneratorAnswers>(child), stop: () => stop(child) }
  }
  return { prepare, generator }
}
