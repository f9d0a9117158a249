import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { readRunning } from '../running.ts'

/** Everything the example writes stays in this folder. */
export const dataFolder = resolve(process.env.NOTES_DATA ?? join(import.meta.dirname, '../data'))

const running = readRunning(dataFolder)

/** Where Notes is reached: the address of this start, else of the last one. */
export const notesUrl = process.env.NOTES_URL ?? running.at(-1)?.notesUrl ?? 'http://localhost:3000'

/** Where Journal, the demo client, is reached: more than one address when more than one copy runs. */
export const journalUrls =
  running.length > 0 ? running.map((one) => one.journalUrl) : ['http://localhost:3001']

/** A secret that survives restarts: read from the data folder, made there on first use (43 characters, mode 0600). */
export const secret = (name: string): string => {
  const file = join(dataFolder, 'secrets', name)
  mkdirSync(join(dataFolder, 'secrets'), { recursive: true, mode: 0o700 })
  try {
    writeFileSync(file, randomBytes(32).toString('base64url'), { flag: 'wx', mode: 0o600 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  return readFileSync(file, 'utf8')
}
