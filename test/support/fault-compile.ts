import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(__dirname, '../..')

/** The library and the servers of the fault tests as JavaScript, so that a process starts in half the time. */
export interface CompiledServers {
  /** The program that `fork` starts. */
  readonly server: string
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
  const files = [join(root, 'test/support/fault-server.ts')]
  const settings = { extends: join(root, 'tsconfig.json'), compilerOptions: options, files, include: [] }
  writeFileSync(project, JSON.stringify(settings))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n')
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  execFileSync(process.execPath, [tsc, '-p', project], { stdio: 'pipe' })
  cpSync(join(root, 'views'), join(folder, 'views'), { recursive: true })
  return { server: join(folder, 'test/support/fault-server.js'), remove: () => rmSync(folder, removed) }
}
