#!/usr/bin/env node
import { main } from './main.ts'
import { printError } from './terminal.ts'

// Output of the host's configuration must not mix with the results on standard output.
Object.assign(console, { log: console.error, info: console.error, debug: console.error })

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // A reader such as `head` may close the pipe early.
  if (error.code === 'EPIPE') process.exit(0)
  // It can be a secret that is stored nowhere else.
  if (process.exitCode === undefined)
    printError(`the result is lost, but not what was done: ${error.message}`)
  process.exitCode = 1
})

// Node ends a process in which nothing but promises is left to wait for.
process.on('beforeExit', () => {
  printError(
    'the command did not end: it waits for something that never happens, such as a promise in the configuration',
  )
  process.exit(1)
})

// Timers and connections of the host's configuration may keep the process alive, so it exits explicitly.
const exit = (code: number): void =>
  void setImmediate(() => process.exit(code === 0 ? process.exitCode : code))
main(process.argv.slice(2)).then((code) => process.stdout.write('', () => exit(code)))
