import { execFileSync } from 'node:child_process'
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A place for files that can be full. */
export interface Disk {
  readonly path: string
  /** From now on nothing grows. @param pid of the process that must not see it grow */
  fill(pid: number): void
  /** There is space again. */
  free(pid: number): void
  close(): void
}

const folder = (): string => mkdtempSync(join(tmpdir(), 'latchkey-disk-'))

/** A file system of its own in memory. @throws Error where mounting is not allowed */
export const openSmallDisk = (megabytes: number, owner?: string): Disk => {
  const path = folder()
  const ballast = join(path, 'ballast')
  try {
    const of = owner === undefined ? '' : `,uid=${owner},gid=${owner}`
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=700${of}`, 'tmpfs', path], {
      stdio: 'pipe',
    })
  } catch (error) {
    rmSync(path, { recursive: true })
    throw error
  }
  return {
    path,
    fill: () => {
      const page = Buffer.alloc(4096)
      try {
        for (;;) appendFileSync(ballast, page)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
      }
    },
    free: () => rmSync(ballast),
    close: () => {
      // Lazily, so that it leaves the tree although a process still has a file open there.
      execFileSync('umount', ['--lazy', path])
      rmSync(path, { recursive: true })
    },
  }
}

/** A folder in which a process may not write beyond the second page of any file, as by a quota. */
export const openLimitedFolder = (): Disk => {
  const path = folder()
  const limit = (pid: number, size: string): void => {
    execFileSync('prlimit', [`--pid=${pid}`, `--fsize=${size}:unlimited`])
  }
  return {
    path,
    fill: (pid) => limit(pid, '8192'),
    free: (pid) => limit(pid, 'unlimited'),
    close: () => rmSync(path, { recursive: true }),
  }
}

/** Why no disk can be made small here; undefined where it can. */
export const missingMount = (): string | undefined => {
  try {
    openSmallDisk(1).close()
    return undefined
  } catch (error) {
    return `a small disk cannot be mounted here (${String(error).split('\n').at(-1)})`
  }
}
