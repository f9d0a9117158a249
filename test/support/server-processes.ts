import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { compiledProgram } from './compiled.ts'
import type { ServerReport, StartServer } from './server-process.ts'

/** Several processes that each run servers on a database they share. */
export interface ServerProcesses {
  /** Starts one server in each process at the same moment; gives their origins. */
  start(settings: StartServer): Promise<string[]>
  close(): Promise<void>
}

const reportOf = (child: ChildProcess): Promise<ServerReport> =>
  new Promise((resolve, reject) => {
    const ended = (code: number | null) => reject(new Error(`a server process ended with ${code}`))
    child.once('exit', ended)
    child.once('message', (message: ServerReport) => {
      child.off('exit', ended)
      resolve(message)
    })
  })

const originOf = async (child: ChildProcess): Promise<string> => {
  const report = await reportOf(child)
  if (!('port' in report)) throw new Error(`no server: ${JSON.stringify(report)}`)
  return `http://127.0.0.1:${report.port}`
}

/** Forks processes that have loaded the kit and wait. */
export const forkServers = async (count: number): Promise<ServerProcesses> => {
  const program = compiledProgram('test/support/server-process.ts')
  const children = Array.from({ length: count }, () => fork(program, { execArgv: [] }))
  await Promise.all(children.map(reportOf))
  return {
    start(settings) {
      const origins = Promise.all(children.map(originOf))
      for (const child of children) child.send(settings)
      return origins
    },
    async close() {
      const ends = children.map((child) => once(child, 'exit'))
      for (const child of children) child.disconnect()
      await Promise.all(ends)
    },
  }
}
