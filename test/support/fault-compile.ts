import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(__dirname, '../..')

/** The library, its CLI and the servers of the fault tests as JavaScript, so that a process starts in half the time. */
export interface CompiledServers {
  /** The program that `fork` starts. */
  readonly server: string
  readonly cli: string
  remove(): void
}

const removed = { recursive: true, force: true } as const

/** It lies under `node_modules`, so that packages are found from it; whoever compiles removes it. */
export const compileServers = (): CompiledServers => {
  const cache = join(root, 'node_modules/.cache')
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, 'latchkey-fault-'))
  const project = join(folder, 'tsconfig.json')
  const options = { rootDir: root, outDir: folder, noEmit: false, noCheck: true }
  const files = ['test/support/fault-server.ts', 'lib/cli/index.ts'].map((file) => join(root, file))
  const settings = { extends: join(root, 'tsconfig.json'), compilerOptions: options, files, include: [] }
  writeFileSync(project, JSON.stringify(settings))
  cpSync(join(root, 'package.json'), join(folder, 'package.json'))
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  execFileSync(process.execPath, [tsc, '-p', project], { stdio: 'pipe' })
  cpSync(join(root, 'views'), join(folder, 'views'), { recursive: true })
  return {
    server: join(folder, 'test/support/fault-server.js'),
    cli: join(folder, 'lib/cli/index.js'),
    remove: () => rmSync(folder, removed),
  }
}
