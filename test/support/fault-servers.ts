import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { compiledProgram } from './compiled.ts'
import { printedBy } from './fault-programs.ts'
import type { DeathPoint, FaultServerMessage, FaultServerReport, StartFaultServer } from './fault-server.ts'
import { note } from './told.ts'

/** A server in a process of its own. */
export interface FaultServer {
  readonly origin: string
  readonly pid: number
  /** Everything it has printed so far, its log above all. */
  printed(): string
  /** Whether it still runs. */
  isAlive(): boolean
  /** It will end, as by a power cut, at this statement from now; the first is 1. */
  dieAt(statement: number, when: DeathPoint): Promise<void>
  /** Ends it as a power cut would. */
  kill(): Promise<void>
  /** Settles when it has ended, however that came. */
  readonly ended: Promise<unknown>
}

const reportOf = (child: ChildProcess): Promise<FaultServerReport> =>
  new Promise((resolve, reject) => {
    const ended = (code: number | null) => reject(new Error(`a server process ended with ${code}`))
    child.once('exit', ended)
    child.once('message', (message: FaultServerReport) => {
      child.off('exit', ended)
      resolve(message)
    })
  })

const ask = async (child: ChildProcess, message: FaultServerMessage): Promise<FaultServerReport> => {
  const report = reportOf(child)
  child.send(message)
  return report
}

/** A process that has loaded Latchkey and waits. */
interface Loaded extends Pick<FaultServer, 'printed' | 'kill' | 'ended'> {
  readonly child: ChildProcess
}

const load = async (): Promise<Loaded> => {
  const child = fork(compiledProgram('test/support/fault-server.ts'), { execArgv: [], silent: true })
  const ended = once(child, 'exit')
  const printed = printedBy(child)
  await reportOf(child)
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL')
    await ended
    // No secret may have been printed, either.
    note(printed())
  }
  return { child, ended, kill, printed }
}

const serve = async ({ child, ...loaded }: Loaded, options: StartFaultServer): Promise<FaultServer> => {
  const report = await ask(child, { start: options })
  if (!('port' in report)) throw new Error(`no server: ${JSON.stringify(report)}`)
  return {
    ...loaded,
    origin: `http://127.0.0.1:${report.port}`,
    pid: child.pid ?? 0,
    isAlive: () => child.exitCode === null && child.signalCode === null,
    dieAt: async (statement, when) => {
      await ask(child, { dieAt: statement, when })
    },
  }
}

/**
 * Starts one server and waits until it listens.
 *
 * @param options may come later: it takes a while to load
 */
export const startServer = async (
  options: StartFaultServer | Promise<StartFaultServer>,
): Promise<FaultServer> => {
  const loading = load()
  try {
    const given = await options
    return await serve(await loading, given)
  } catch (error) {
    await (await loading).kill()
    throw error
  }
}

/** Starts servers, and kills whatever still runs at the end. */
export interface FaultServers {
  start(options: StartFaultServer): Promise<FaultServer>
  /** Several at the same moment. */
  startAll(count: number, options: StartFaultServer): Promise<FaultServer[]>
  close(): Promise<void>
}

/**
 * Processes to run servers in.
 *
 * @param spare how many wait loaded while others serve, where servers are killed often
 */
export const openServers = (spare = 0): FaultServers => {
  const started: FaultServer[] = []
  const waiting = Array.from({ length: spare }, () => load())
  const start = async (options: StartFaultServer): Promise<FaultServer> => {
    const loaded = waiting.shift() ?? load()
    if (waiting.length < spare) waiting.push(load())
    const server = await serve(await loaded, options)
    started.push(server)
    return server
  }
  return {
    start,
    startAll: (count, options) => Promise.all(Array.from({ length: count }, () => start(options))),
    close: async () => {
      for (const loading of waiting) await (await loading).kill()
      await Promise.all(started.map((server) => server.kill()))
    },
  }
}

/** Processes that have loaded Latchkey. A start begins a server in each of them at the same moment, and gives their origins. */
export const forkServers = async (count: number) => {
  const loaded = await Promise.all(Array.from({ length: count }, load))
  return {
    start: async (options: StartFaultServer): Promise<string[]> =>
      (await Promise.all(loaded.map((one) => serve(one, options)))).map(({ origin }) => origin),
    close: async (): Promise<void> => {
      await Promise.all(loaded.map(({ kill }) => kill()))
    },
  }
}
