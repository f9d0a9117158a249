import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../', import.meta.url))

/**
 * The library and the servers as JavaScript, as hosts run them: nothing is compiled while they start.
 * It lies under `node_modules`, so that packages are found from it, and goes when this process ends.
 *
 * @returns the folder
 */
export const compile = (): string => {
  const cache = join(root, 'node_modules/.cache')
  mkdirSync(cache, { recursive: true })
  const directory = mkdtempSync(join(cache, 'latchkey-bench-'))
  process.on('exit', () => rmSync(directory, { recursive: true, force: true }))
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const options = ['-p', join(root, 'bench/tsconfig.json'), '--outDir', directory]
  execFileSync(process.execPath, [tsc, ...options], { stdio: ['ignore', 'inherit', 'inherit'] })
  cpSync(join(root, 'views'), join(directory, 'views'), { recursive: true })
  writeFileSync(join(directory, 'package.json'), '{ "type": "module" }\n')
  return directory
}
