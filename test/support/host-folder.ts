import { type ChildProcess, fork } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { compiledPackage } from './compiled.ts'
import { printedBy } from './fault-programs.ts'
import { closedAfterFile } from './told.ts'

/** A folder of a host that has installed the package and all packages of this project. */
export interface HostFolder {
  readonly path: string
  /** Runs a file of the folder and resolves with the port on which it listens; rejects with its output if it ends. */
  start(file: string, env?: Readonly<Record<string, string>>): Promise<number>
  /** Ends what was started. */
  stop(): void
  /** Ends what was started, and removes the folder. */
  remove(): void
}

/** Makes a program send its port as soon as it listens. */
const announce = `data:text/javascript,${encodeURIComponent(`
  import net from 'node:net'
  const { listen } = net.Server.prototype
  net.Server.prototype.listen = function (...args) {
    this.once('listening', () => process.send?.(this.address().port))
    return listen.apply(this, args)
  }`)}`

/**
 * @param files their texts by their paths in the folder
 * @param installed the folder of the package
 */
export const openHostFolder = (
  files: Readonly<Record<string, string>>,
  installed = compiledPackage(),
): HostFolder => {
  const artifacts = join(__dirname, '../.artifacts')
  mkdirSync(artifacts, { recursive: true })
  const path = mkdtempSync(join(artifacts, 'host-'))
  const running: ChildProcess[] = []
  for (const [name, text] of Object.entries({ 'package.json': '{ "type": "module" }', ...files })) {
    mkdirSync(dirname(join(path, name)), { recursive: true })
    writeFileSync(join(path, name), text)
  }
  mkdirSync(join(path, 'node_modules'))
  symlinkSync(installed, join(path, 'node_modules/latchkey'))
  const stop = (): void => {
    for (const child of running.splice(0)) child.kill('SIGKILL')
  }
  return {
    path,
    start: (file, env = {}) => {
      const child = fork(join(path, file), {
        cwd: path,
        execArgv: ['--import', announce],
        env: { ...process.env, NODE_ENV: 'development', ...env },
        silent: true,
      })
      running.push(child)
      const ended = new Promise((resolve) => void child.once('exit', resolve))
      // The worker of the tests cannot end before its children have.
      closedAfterFile.push({ close: () => Promise.all([child.kill('SIGKILL'), ended]).then(() => {}) })
      const printed = printedBy(child)
      return new Promise((resolve, reject) => {
        child.once('message', (port: number) => resolve(port))
        child.once('exit', (status) => reject(new Error(`${file} ended with ${status}\n${printed()}`)))
      })
    },
    stop,
    remove: () => {
      stop()
      rmSync(path, { recursive: true, force: true })
    },
  }
}
