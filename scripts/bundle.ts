/**
 * A step of the build: bundles `lib/` into one file per entry point, and files with what several of them share. Node
 * then loads a few files instead of hundreds. The other modules that tsc emitted are deleted; their declarations stay.
 * Packages stay imports, and so do the migrations below `dist/migrations`, which hosts may import one by one.
 *
 * The first argument is the folder into which tsc wrote, `dist` by default.
 */
import { readdirSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { build } from 'esbuild'
import { bundled } from './bundled.ts'

const checkout = resolve(import.meta.dirname, '..')
const outdir = resolve(process.argv[2] ?? join(checkout, 'dist'))
const lib = join(outdir, 'lib')

for (const file of readdirSync(lib, { recursive: true, encoding: 'utf8' })) {
  if (file.endsWith('.js')) rmSync(join(lib, file))
}

await build({
  absWorkingDir: checkout,
  entryPoints: ['lib/index.ts', 'lib/guard/index.ts', 'lib/tools/testing/index.ts', 'lib/tools/cli/index.ts'],
  outdir: lib,
  outbase: 'lib',
  // As deep as `lib/web/pages`, because modules find `views` by their own path.
  chunkNames: 'web/shared/[hash]',
  ...bundled,
  logLevel: 'warning',
})
