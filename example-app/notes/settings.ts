import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { readRunning } from '../running.ts'

/** The folder that contains everything the example writes. */
export const dataFolder = resolve(process.env.NOTES_DATA ?? join(import.meta.dirname, '../data'))

const running = readRunning(dataFolder)

/** The address of Notes, of this start or the last one. */
export const notesUrl = process.env.NOTES_URL ?? running.at(-1)?.notesUrl ?? 'http://localhost:3000'

/** The address of the MCP server of Notes, which is its name as a resource (RFC 8707). */
export const mcpUrl = `${notesUrl}/mcp`

/** The addresses of Journal, the demo client; several if several copies run. */
export const journalUrls =
  running.length > 0 ? running.map((one) => one.journalUrl) : ['http://localhost:3001']

/** A secret that survives restarts. It is created in the data folder on first use (43 characters, mode 0600). */
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
