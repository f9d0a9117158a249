import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { compiledProgram } from './compiled.ts'
import type { DeathPoint, FaultServerMessage, FaultServerReport, StartFaultServer } from './fault-server.ts'

/** A server in a process of its own. */
export interface FaultServer {
  readonly origin: string
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

/** A process that has loaded the kit and waits. */
interface Loaded {
  readonly child: ChildProcess
  readonly ended: Promise<unknown>
}

const load = async (): Promise<Loaded> => {
  const child = fork(compiledProgram('test/support/fault-server.ts'), { execArgv: [] })
  const ended = once(child, 'exit')
  await reportOf(child)
  return { child, ended }
}

const serve = async ({ child, ended }: Loaded, options: StartFaultServer): Promise<FaultServer> => {
  const report = await ask(child, { start: options })
  if (!('port' in report)) throw new Error(`no server: ${JSON.stringify(report)}`)
  return {
    origin: `http://127.0.0.1:${report.port}`,
    ended,
    dieAt: async (statement, when) => {
      await ask(child, { dieAt: statement, when })
    },
    kill: async () => {
      child.kill('SIGKILL')
      await ended
    },
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
      for (const loading of waiting) {
        const { child, ended } = await loading
        child.kill('SIGKILL')
        await ended
      }
      await Promise.all(started.map((server) => server.kill()))
    },
  }
}
