import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** A running copy of the example, or the last one. */
export interface Running {
  pid: number
  notesUrl: string
  journalUrl: string
}

/** The copies in `running.json` of a data folder, the newest last. */
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

/** Stores this process's addresses for seeds that are run by hand, and removes copies that have ended. */
export const writeRunning = (folder: string, notesUrl: string, journalUrl: string): void => {
  const others = readRunning(folder).filter((one) => isAlive(one.pid) && one.journalUrl !== journalUrl)
  const all = [...others, { pid: process.pid, notesUrl, journalUrl }]
  writeFileSync(join(folder, 'running.json'), `${JSON.stringify(all, undefined, 2)}\n`)
}
