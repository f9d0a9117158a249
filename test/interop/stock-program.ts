import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

/** A stock client in another language: it reads a line of JSON from standard input and answers with one. */
export interface StockProgram {
  /** Writes a line and returns the program's next one. @throws Error with its standard error if it has ended */
  say(line: unknown): Promise<unknown>
  stop(): void
}

/** Starts a program of a test with an interpreter or a compiler. */
export const startProgram = (
  command: string,
  parameters: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): StockProgram => {
  const program: ChildProcess = spawn(command, parameters, { env: { ...process.env, ...environment } })
  let errors = ''
  program.stderr?.on('data', (chunk) => {
    errors += chunk
  })
  const lines = createInterface({ input: program.stdout! })[Symbol.asyncIterator]()
  return {
    say: async (line) => {
      program.stdin?.write(`${JSON.stringify(line)}\n`)
      const { value, done } = await lines.next()
      if (done) throw new Error(errors)
      return JSON.parse(value)
    },
    stop: () => void program.kill(),
  }
}
