import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** A copy of the example that runs, or ran last. */
export interface Running {
  pid: number
  notesUrl: string
  journalUrl: string
}

/** The copies written down in `running.json` of a data folder, the newest last. */
export const readRunning = (folder: string): Running[] => {
  try {
    return JSON.parse(readFileSync(join(folder, 'running.json'), 'utf8'))
  } catch {
    return []
  }
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** Writes this process's addresses down, so that seeds run by hand know them; drops copies that are gone. */
export const writeRunning = (folder: string, notesUrl: string, journalUrl: string): void => {
  const others = readRunning(folder).filter((one) => isAlive(one.pid) && one.journalUrl !== journalUrl)
  const all = [...others, { pid: process.pid, notesUrl, journalUrl }]
  writeFileSync(join(folder, 'running.json'), `${JSON.stringify(all, undefined, 2)}\n`)
}
