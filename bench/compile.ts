import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The checkout that this file belongs to. */
export const thisCheckout = fileURLToPath(new URL('../', import.meta.url))

/**
 * Compiles the library and the servers of a checkout to JavaScript, because hosts do not compile at start-up either. The
 * output lies in the checkout's `node_modules`, so that imports resolve, and is removed when this process ends.
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
