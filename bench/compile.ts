import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'
import { bundled } from '../scripts/bundled.ts'

/** The checkout that this file belongs to. */
export const thisCheckout = fileURLToPath(new URL('../', import.meta.url))

/** What runs in processes of its own. */
const programs = [
  'server/latchkey',
  'server/oidc-provider',
  'server/oauth2-server',
  'server/ceiling',
  'load/generator',
]

/** The folders with templates of features. */
const featureViews = (checkout: string): string[] => {
  const features = 'lib/features'
  const names = existsSync(join(checkout, features)) ? readdirSync(join(checkout, features)) : []
  return names.map((name) => `${features}/${name}/views`).filter((path) => existsSync(join(checkout, path)))
}

/**
 * Bundles the programs of a checkout with the library, because hosts load a bundle, too (`scripts/bundle.ts`).
 * The output lies in the checkout's `node_modules`, so that imports resolve, and is removed when this process ends.
 *
 * @returns the folder
 */
export const compile = (checkout: string): string => {
  const cache = join(checkout, 'node_modules/.cache')
  mkdirSync(cache, { recursive: true })
  const directory = mkdtempSync(join(cache, 'latchkey-bench-'))
  process.on('exit', () => rmSync(directory, { recursive: true, force: true }))
  for (const program of programs) {
    buildSync({
      absWorkingDir: checkout,
      // As an entry point of its own the library becomes a file of its own, which profiles then name.
      entryPoints: [`bench/${program}.ts`, 'lib/index.ts'],
      outdir: directory,
      outbase: '.',
      // As deep as `lib/web/pages`, because modules find `views` by their own path.
      chunkNames: 'lib/web/shared/[hash]',
      ...bundled,
    })
  }
  for (const folder of ['views', ...featureViews(checkout)]) {
    cpSync(join(checkout, folder), join(directory, folder), { recursive: true })
  }
  writeFileSync(join(directory, 'package.json'), '{ "type": "module" }\n')
  return directory
}
