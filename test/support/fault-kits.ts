import { fork } from 'node:child_process'
import { once } from 'node:events'
import { migrate, seedClients, seedUsers } from '../../lib/index.ts'
import { compiledProgram } from './compiled.ts'
import type { FaultDatabase } from './fault-databases.ts'
import { faultClients } from './fault-family.ts'
import type { KitReport, StartKit } from './fault-kit.ts'
import { note } from './told.ts'

/** The kit in a process of its own. */
export interface Kit {
  readonly origin: string
  readonly pid: number
  /** Everything it has printed so far, its log above all. */
  printed(): string
  /** Whether it still runs, as it should until it is closed. */
  isAlive(): boolean
  close(): Promise<void>
}

/**
 * Starts the kit and waits until it listens.
 *
 * @param options may come later: it takes a while to load
 */
export const startKit = async (options: StartKit | Promise<StartKit>): Promise<Kit> => {
  const child = fork(compiledProgram('test/support/fault-kit.ts'), { execArgv: [], silent: true })
  const exit = once(child, 'exit')
  let printed = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      printed += text
    })
  }
  const heard = async (): Promise<KitReport> => {
    const ended = exit.then(() => ({ fault: printed }))
    return Promise.race([ended, once(child, 'message').then(([message]) => message as KitReport)])
  }
  const started = async (): Promise<number> => {
    const [given] = await Promise.all([options, heard()])
    child.send(given)
    const report = await heard()
    if ('port' in report) return report.port
    throw new Error(`no kit: ${JSON.stringify(report)}`)
  }
  const port = await started().catch((error: unknown) => {
    child.kill('SIGKILL')
    throw error
  })
  return {
    origin: `http://127.0.0.1:${port}`,
    pid: child.pid ?? 0,
    printed: () => printed,
    isAlive: () => child.exitCode === null && child.signalCode === null,
    close: async () => {
      child.kill('SIGKILL')
      await exit
      // No secret may have been printed, either.
      note(printed)
    },
  }
}

/** Tables, clients and Ada, before any kit is started. */
export const prepareDatabase = async ({ knex, tablePrefix }: FaultDatabase): Promise<void> => {
  await migrate(knex, { tablePrefix })
  const logger = { info: () => {}, warn: () => {}, error: () => {} }
  const scopes = { 'notes:read': 'Read your notes', 'notes:write': 'Write notes for you' }
  await seedClients(knex, faultClients, { tablePrefix, logger, scopes })
  const ada = { username: 'ada@example.com', password: 'ada’s password' }
  await seedUsers(knex, [ada], { tablePrefix, logger })
}
