import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The example app as `npm start` runs it, in a process and a data folder of its own. */
export interface RunningExample {
  readonly notesUrl: string
  readonly journalUrl: string
  /** The folder of its data. */
  readonly data: string
  readonly process: ChildProcess
  /** Settles when it has ended. */
  readonly ended: Promise<unknown>
  close(): Promise<void>
}

const root = join(__dirname, '../..')

/** Starts it on free ports, with flags such as `--theme`; resolves when it says that it is ready, rejects with its output when it ends before. */
export const startExampleApp = async (...flags: string[]): Promise<RunningExample> => {
  const data = mkdtempSync(join(tmpdir(), 'latchkey-example-'))
  const child = spawn(process.execPath, ['--import', 'tsx', 'example-app/start.ts', ...flags], {
    cwd: root,
    env: { ...process.env, NODE_ENV: 'development', PORT: '0', JOURNAL_PORT: '0', NOTES_DATA: data },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(child, 'exit')
  const close = async (): Promise<void> => {
    child.kill('SIGTERM')
    await ended
    rmSync(data, { recursive: true, force: true })
  }
  let output = ''
  const ready = new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => {
        output += chunk
        if (output.includes('Ready:')) resolve()
      })
    }
    child.once('exit', (status) => reject(new Error(`the example app ended with ${status}\n${output}`)))
  })
  await ready.catch(async (error: unknown) => {
    await close()
    throw error
  })
  const url = (name: string): string => new RegExp(`${name} +(http://localhost:\\d+)`).exec(output)?.[1] ?? ''
  return { notesUrl: url('Notes'), journalUrl: url('Journal'), data, process: child, ended, close }
}
