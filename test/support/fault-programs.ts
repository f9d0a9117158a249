import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import { chownSync, closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** Polls until it is so. @throws Error that says what was waited for, after so many milliseconds */
export const until = async (
  what: string,
  isSo: () => boolean | Promise<boolean>,
  milliseconds = 30_000,
): Promise<void> => {
  const end = performance.now() + milliseconds
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error(`${what}: not within ${milliseconds} ms`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** What a child process prints, as far as it has come. */
export const printedBy = ({ stdout, stderr }: ChildProcess): (() => string) => {
  let printed = ''
  for (const stream of [stdout, stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      printed += text
    })
  return () => printed
}

const isRoot = process.getuid?.() === 0

/** Who runs a server that does not let root do so: `account` where we are root, else we ourselves. */
const asAccount = (account: string): string[] =>
  isRoot ? [`--reuid=${account}`, `--regid=${account}`, '--clear-groups'] : []

/** A folder for a server, with the log of whatever ran in it. */
export interface ServerFolder {
  readonly path: string
  /** Runs a program to its end. @throws Error with what it printed */
  run(program: string, parameters: readonly string[]): Promise<void>
  /** Starts a program in a process group of its own; it dies with this process, however that ends. */
  launch(program: string, parameters: readonly string[]): ChildProcess
  /** The end of the log. */
  log(): string
  remove(): void
}

export const openServerFolder = (account: string): ServerFolder => {
  const path = mkdtempSync(join(tmpdir(), 'latchkey-server-'))
  const idOf = (flag: string): number => Number(execFileSync('id', [flag, account], { encoding: 'utf8' }))
  if (isRoot) chownSync(path, idOf('-u'), idOf('-g'))
  const log = join(path, 'log')
  const env = { PATH: process.env.PATH, HOME: path, LC_ALL: 'C', TMPDIR: path }
  return {
    path,
    run: async (program, parameters) => {
      const given = [...asAccount(account), program, ...parameters]
      await promisify(execFile)('setpriv', given, { env, cwd: path, timeout: 60_000 })
    },
    launch: (program, parameters) => {
      const output = openSync(log, 'a')
      const child = spawn('setpriv', [...asAccount(account), '--pdeathsig=KILL', program, ...parameters], {
        env,
        cwd: path,
        detached: true,
        stdio: ['ignore', output, output],
      })
      closeSync(output)
      return child
    },
    log: () => readFileSync(log, 'utf8').slice(-2000),
    remove: () => rmSync(path, { recursive: true, force: true, maxRetries: 5 }),
  }
}

/** `describe` for tests that cannot run everywhere; where they cannot, they are skipped with a message. */
export const describeWhere = (missing: string | undefined, name: string, tests: () => void): void => {
  if (missing !== undefined) console.warn(`skipped: ${name}, because ${missing}`)
  const describing = missing === undefined ? describe : describe.skip
  describing(name, tests)
}

const isAsked = ['REQUIRE_SERVICES', 'TEST_ALL'].some((name) => process.env[name] === '1')

/** Why no server of its own is started for a test: that takes longer than the tests of a whole folder. */
export const notAsked = (): string | undefined =>
  isAsked ? undefined : 'it starts a database server of its own: set REQUIRE_SERVICES=1 or TEST_ALL=1'

/**
 * `describe` for tests that start database servers of their own, from programs that may not be installed. They run in
 * `.ci/run` and with TEST_ALL=1. As for `describeWith`, with REQUIRE_SERVICES=1 what is missing is a failing test.
 *
 * @param missing what is not there, and how to get it
 */
export const describeUnless = (missing: string | undefined, name: string, tests: () => void): void => {
  if (missing !== undefined && process.env.REQUIRE_SERVICES === '1') {
    describe(name, () => {
      test('has what it needs', () => {
        throw new Error(missing)
      })
    })
  } else {
    describeWhere(notAsked() ?? missing, name, tests)
  }
}
