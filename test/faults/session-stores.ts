import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { MemoryStore, type SessionData } from 'express-session'
import { createClient } from 'redis'
import { freePort } from '../support/free-ports.ts'

/** How a session store is: well, slow, failing, throwing, silent, or silent for all that writes. */
export type StoreState = 'well' | 'slow' | 'failing' | 'throwing' | 'silent' | 'silent for writes'

type Done<T = void> = (error?: unknown, result?: T) => void

const fault = (): Error => new Error('the store is on fire')

/** A store of a host's that can be any of that; what it holds stays. */
export class FickleStore extends MemoryStore {
  state: StoreState = 'well'

  override get(sid: string, done: Done<SessionData | null>): void {
    this.#answer('read', () => super.get(sid, done), done)
  }

  override set(sid: string, data: SessionData, done?: Done): void {
    this.#answer('write', () => super.set(sid, data, done), done)
  }

  override touch(sid: string, data: SessionData, done?: Done): void {
    this.#answer('write', () => (super.touch as (...given: unknown[]) => void)(sid, data, done), done)
  }

  override destroy(sid: string, done?: Done): void {
    this.#answer('write', () => super.destroy(sid, done), done)
  }

  #answer(kind: 'read' | 'write', work: () => void, done: ((error: unknown) => void) | undefined): void {
    const { state } = this
    if (state === 'throwing') throw fault()
    if (state === 'failing') return void setImmediate(() => done?.(fault()))
    if (state === 'slow') return void setTimeout(work, 100)
    if (state === 'well' || (state === 'silent for writes' && kind === 'read')) work()
  }
}

/** A Redis of one test file alone, which can be started and stopped. */
export interface RedisServer {
  readonly url: string
  start(): Promise<void>
  /** What it held is gone. */
  stop(): Promise<void>
  /** It runs and says nothing any more, until it is woken. */
  freeze(): void
  wake(): void
}

/** `describeWith`, for tests that start a Redis themselves. */
export const describeWithRedisServer = (name: string, tests: () => void): void => {
  const isThere = spawnSync('redis-server', ['--version']).status === 0
  if (isThere || process.env.REQUIRE_SERVICES === '1') return void describe(name, tests)
  console.warn(`skipped: ${name}, because redis-server is missing: apt-get install redis-server`)
  describe.skip(name, tests)
}

const answers = async (url: string): Promise<boolean> => {
  const client = createClient({ url, socket: { reconnectStrategy: false } }).on('error', () => {})
  try {
    await client.connect()
    await client.ping()
    client.destroy()
    return true
  } catch {
    return false
  }
}

export const openRedisServer = async (): Promise<RedisServer> => {
  const port = await freePort()
  const url = `redis://127.0.0.1:${port}`
  let child: ChildProcess | undefined
  const parameters = ['--bind', '127.0.0.1', '--port', String(port), '--save', '', '--appendonly', 'no']
  return {
    url,
    start: async () => {
      child = spawn('redis-server', parameters, { stdio: 'ignore' })
      // Where there is no such program, waiting for its end fails at once.
      const ended = () => Promise.reject(new Error('redis-server has ended'))
      const failed = once(child, 'exit').then(ended)
      failed.catch(() => {})
      while (!(await answers(url)))
        await Promise.race([failed, new Promise((resolve) => setTimeout(resolve, 50))])
    },
    stop: async () => {
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    },
    freeze: () => void child?.kill('SIGSTOP'),
    wake: () => void child?.kill('SIGCONT'),
  }
}
