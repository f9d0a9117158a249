// Runs `latchkey` again and again in one process, as if each time were a process of its own: the parent sends the
// arguments, the folder, the environment and what standard input holds, and receives the exit code and the output.
import { Readable } from 'node:stream'
import { main } from '../../lib/tools/cli/main.ts'

/** What one process of the command line would be given. */
export interface CliRun {
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly input: string
}

/** How it ends. */
export interface CliOutcome {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

const collect = (stream: NodeJS.WriteStream): (() => string) => {
  let text = ''
  Object.assign(stream, {
    write: (chunk: string | Uint8Array) => {
      text += chunk.toString()
      return true
    },
  })
  return () => text
}

const run = async ({ args, cwd, env, input }: CliRun): Promise<CliOutcome> => {
  const [stdout, stderr] = [collect(process.stdout), collect(process.stderr)]
  process.chdir(cwd)
  process.env = { ...env }
  Object.defineProperty(process, 'stdin', { value: Readable.from([input]), configurable: true })
  const code = await main([...args])
  return { code, stdout: stdout(), stderr: stderr() }
}

// As lib/tools/cli/index.ts does: logs are not results.
Object.assign(console, { log: console.error, info: console.error, debug: console.error })

let last: Promise<unknown> = Promise.resolve()
process.on('message', (message: CliRun) => {
  last = last.then(async () => process.send?.(await run(message)))
})
process.on('disconnect', () => process.exit(0))
