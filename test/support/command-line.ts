import { type ChildProcess, execFile, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import knex, { type Knex } from 'knex'
import type { CliOutcome, CliRun } from './cli-process.ts'
import { compiledProgram } from './compiled.ts'
import { sqliteAt } from './database.ts'

const root = join(__dirname, '../..')

interface Surroundings {
  readonly input?: string
  readonly env?: Readonly<Record<string, string>>
  /** Runs a process with these arguments before the command's; without them many commands share one process. */
  readonly program?: readonly string[]
}

/** `latchkey` in folders of a test file. */
interface CommandLine {
  /** An empty folder below which Node finds the packages that a host has. */
  folder(files?: Readonly<Record<string, string>>): string
  run(folder: string, args: readonly string[], surroundings?: Surroundings): Promise<CliOutcome>
  /** Fails unless the exit code is 0. */
  succeed(folder: string, args: readonly string[], surroundings?: Surroundings): Promise<CliOutcome>
  close(): Promise<void>
}

/** The URL of `latchkey/features` as the command loads it, for configuration files. */
export const features = (): string => pathToFileURL(compiledProgram('lib/features/index.ts')).href

/** A configuration file with these options, in which `features` has the functions of `latchkey/features`. */
export const configuration = (options: string): Readonly<Record<string, string>> => ({
  'latchkey.config.mjs': `import * as features from '${features()}'\nexport default { ${options} }\n`,
})

/** The command as a host's `node_modules/.bin` has it. */
export const program = (): string => compiledProgram('lib/tools/cli/index.ts')

const runProcess = (programs: readonly string[], { args, cwd, env, input }: CliRun): Promise<CliOutcome> =>
  new Promise((resolve) => {
    const settings = { cwd, env, timeout: 60_000 }
    const child = execFile(process.execPath, [...programs, ...args], settings, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? -1), stdout, stderr })
    })
    child.stdin?.end(input)
  })

export const openCommandLine = (): CommandLine => {
  const parent = mkdtempSync(join(tmpdir(), 'latchkey-cli-'))
  symlinkSync(join(root, 'node_modules'), join(parent, 'node_modules'))
  let folders = 0
  let shared: ChildProcess | undefined
  let last: Promise<unknown> = Promise.resolve()

  const runShared = async (run: CliRun): Promise<CliOutcome> => {
    shared ??= fork(compiledProgram('test/support/cli-process.ts'), { execArgv: [] })
    const outcome = once(shared, 'message')
    shared.send(run)
    const [message] = await outcome
    return message
  }
  const run: CommandLine['run'] = (cwd, args, { input = '', env: more, program: programs } = {}) => {
    const { LATCHKEY_PASSWORD: _, FORCE_COLOR: __, ...inherited } = process.env
    const given = { args, cwd, env: { ...inherited, NODE_ENV: 'development', ...more }, input }
    if (programs !== undefined) return runProcess(programs, given)
    const outcome = last.then(() => runShared(given))
    last = outcome
    return outcome
  }
  return {
    folder: (files = {}) => {
      folders += 1
      const folder = join(parent, `app-${folders}`)
      mkdirSync(folder)
      for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
      return folder
    },
    run,
    succeed: async (...call) => {
      const outcome = await run(...call)
      expect(outcome).toMatchObject({ code: 0 })
      return outcome
    },
    close: async () => {
      if (shared !== undefined) {
        const exit = once(shared, 'exit')
        shared.kill('SIGKILL')
        await exit
      }
      rmSync(parent, { recursive: true, force: true })
    },
  }
}

/** A stack trace in the output. */
export const stack = /^\s+at /m

/** A value of a table of names and values. */
export const field = (output: string, name: string): string =>
  new RegExp(`^${name} +(\\S+)$`, 'm').exec(output)?.[1] ?? ''

/** Works on the default database of a folder. */
export const withDatabase = async <T>(folder: string, work: (database: Knex) => Promise<T>): Promise<T> => {
  const database = knex(sqliteAt(join(folder, 'latchkey.sqlite')))
  try {
    return await work(database)
  } finally {
    await database.destroy()
  }
}

/** All rows of a table in the default database of a folder. */
export const rowsOf = (folder: string, table: string): Promise<Record<string, unknown>[]> =>
  withDatabase(folder, (database) => database(table).select())
