#!/usr/bin/env node
import { main } from './main.ts'

// Output of the host's configuration must not mix with the results on standard output.
Object.assign(console, { log: console.error, info: console.error, debug: console.error })

// A reader such as `head` may close the pipe early.
process.stdout.on('error', () => process.exit(0))

// Timers and connections of the host's configuration may keep the process alive, so it exits explicitly.
main(process.argv.slice(2)).then((code) => process.stdout.write('', () => process.exit(code)))
