import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import knex from 'knex'
import { silence } from '../support/fault-databases.ts'
import { type ServerFolder, until } from '../support/fault-programs.ts'

/** A database server of this test file alone, which can be started and stopped as it likes. */
export interface Instance {
  readonly url: string
  /** Settles when it answers. @param more parameters for this time, which override others */
  start(more?: readonly string[]): Promise<void>
  /** As an operator stops it: connections are closed, and it writes down what it has to. */
  stop(): Promise<void>
  /** As the kernel ends a process: the next start begins with crash recovery. */
  kill(): Promise<void>
  /** Ends it and removes its data. */
  close(): Promise<void>
}

interface InstanceProgram {
  readonly folder: ServerFolder
  readonly client: 'pg' | 'mysql2'
  readonly url: string
  readonly program: string
  readonly parameters: readonly string[]
  /** What asks it to end at once, and in good order. */
  readonly stopSignal: NodeJS.Signals
  /** A statement that succeeds when it can be used, by the number of rows it gives. */
  readonly probe?: string
}

const answers = async ({ client, url, probe = 'SELECT 1' }: InstanceProgram): Promise<boolean> => {
  const connection = knex({ client, connection: url, ...probing })
  try {
    const result = await connection.raw(probe)
    return (client === 'pg' ? result.rows : result[0]).length > 0
  } catch {
    return false
  } finally {
    await connection.destroy()
  }
}

const probing = { log: silence, acquireConnectionTimeout: 1000, pool: { min: 0, max: 1 } }

const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode !== null || signalCode !== null

/** PostgreSQL gives each connection a process, in a group of its own; those that are missed see that it has gone. */
const childrenOf = (pid: number): number[] => {
  const path = `/proc/${pid}/task/${pid}/children`
  return existsSync(path) ? readFileSync(path, 'utf8').split(' ').map(Number).filter(Boolean) : []
}

/** What has ended by itself is no fault. */
const send = (pid: number, signal: NodeJS.Signals): void => {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

const killAll = (pid: number): void => {
  // One that is stopped has no more children.
  send(pid, 'SIGSTOP')
  // Whatever it runs beside itself is in its group.
  for (const victim of [...childrenOf(pid), pid, -pid]) send(victim, 'SIGKILL')
}

/** A server that is not running yet. */
export const instanceOf = (description: InstanceProgram): Instance => {
  const { folder, program, parameters, stopSignal, url } = description
  let server: ChildProcess | undefined
  let isClosed = false

  const end = async (ask: (pid: number) => void): Promise<void> => {
    const ending = server
    server = undefined
    if (ending?.pid === undefined || hasEnded(ending)) return
    const exit = once(ending, 'exit')
    ask(ending.pid)
    // One that does not end politely ends.
    const timer = setTimeout(() => killAll(ending.pid as number), 20_000)
    await exit
    clearTimeout(timer)
  }
  const start = async (more: readonly string[] = []): Promise<void> => {
    await until(`${program} answers`, async () => {
      if (isClosed) throw new Error(`${program} is closed`)
      // What a killed one leaves (its port, its shared memory) may be there a moment longer; then it is started again.
      if (server === undefined || hasEnded(server)) server = folder.launch(program, [...parameters, ...more])
      return answers(description)
    }).catch((error: Error) => {
      throw new Error(`${error.message}\n${isClosed ? '' : folder.log()}`)
    })
  }
  const kill = (): Promise<void> => end(killAll)
  return {
    url,
    start,
    stop: () => end((pid) => send(pid, stopSignal)),
    kill,
    close: async () => {
      isClosed = true
      await kill()
      folder.remove()
    },
  }
}
