import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The checkout that this file belongs to. */
export const thisCheckout = fileURLToPath(new URL('../', import.meta.url))

/**
 * Compiles the library and the servers of a checkout to JavaScript, as hosts run it: nothing is compiled while they
 * start. The result lies under the checkout's `node_modules`, where its packages are found, until this process ends.
 *
 * @returns the folder
 */
export const compile = (checkout: string): string => {
  const cache = join(checkout, 'node_modules/.cache')
  mkdirSync(cache, { recursive: true })
  const directory = mkdtempSync(join(cache, 'latchkey-bench-'))
  process.on('exit', () => rmSync(directory, { recursive: true, force: true }))
  const tsc = join(checkout, 'node_modules/typescript/bin/tsc')
  const options = ['-p', join(checkout, 'bench/tsconfig.json'), '--outDir', directory]
  execFileSync(process.execPath, [tsc, ...options], { stdio: ['ignore', 'inherit', 'inherit'] })
  cpSync(join(checkout, 'views'), join(directory, 'views'), { recursive: true })
  writeFileSync(join(directory, 'package.json'), '{ "type": "module" }\n')
  return directory
}
