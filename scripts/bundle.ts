/**
 * A step of the build: bundles `lib/` into one file per entry point, and files with what several of them share. Node
 * then loads a few files instead of hundreds. The other modules that tsc emitted are deleted; their declarations stay.
 * Packages stay imports, and so do the migrations below `dist/migrations`, which hosts may import one by one.
 *
 * The first argument is the folder into which tsc wrote, `dist` by default.
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { build, type Plugin } from 'esbuild'
import { bundled } from './bundled.ts'

const checkout = resolve(import.meta.dirname, '..')
const outdir = resolve(process.argv[2] ?? join(checkout, 'dist'))
const lib = join(outdir, 'lib')

for (const file of readdirSync(lib, { recursive: true, encoding: 'utf8' })) {
  if (file.endsWith('.js')) rmSync(join(lib, file))
}

/** The functions of `latchkey/features`, each with the folder of its feature. */
const features = Array.from(
  readFileSync(join(checkout, 'lib/features/index.ts'), 'utf8').matchAll(
    /^export \{([^}]+)\} from '\.\/([\w-]+)\/index\.ts'$/gm,
  ),
  ([, names = '', folder = '']) =>
    names
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '' && !name.startsWith('type '))
      .map((name) => [name, folder] as const),
).flat()

/**
 * Lets features and tools load the whole server, which they need anyway. Otherwise esbuild makes a file of its own for
 * what each combination of them shares.
 */
const loadServer: Plugin = {
  name: 'load-server',
  setup: ({ onLoad }) =>
    onLoad(
      {
        filter:
          /[/\\]lib[/\\](?:features[/\\](?:own|every|[\w-]+[/\\](?:index|tools|samples))|tools[/\\]\w+[/\\]index)\.ts$/,
      },
      ({ path }) => ({
        contents: `${readFileSync(path, 'utf8')}\nimport '${relative(dirname(path), join(checkout, 'lib/index.ts'))}'`,
        loader: 'ts',
      }),
    ),
}

await build({
  absWorkingDir: checkout,
  entryPoints: [
    'lib/index.ts',
    ...new Set(features.map(([, folder]) => `lib/features/${folder}/index.ts`)),
    'lib/features/own.ts',
    'lib/guard/index.ts',
    'lib/tools/testing/index.ts',
    'lib/tools/cli/index.ts',
  ],
  outdir: lib,
  outbase: 'lib',
  // As deep as `lib/web/pages`, because modules find `views` by their own path.
  chunkNames: 'web/shared/[hash]',
  ...bundled,
  plugins: [loadServer],
  logLevel: 'warning',
})

/** Its functions load the file of their feature when they are called, so that a host loads only what it lists. */
writeFileSync(
  join(lib, 'features/index.js'),
  `import { createRequire } from 'node:module'
export * from './own.js'
const load = createRequire(import.meta.url)
const feature = (folder, name) => {
  const made = () => load(\`./\${folder}/index.js\`)[name]
  return Object.assign((...options) => made()(...options), { off: () => made().off() })
}
${features.map(([name, folder]) => `export const ${name} = feature('${folder}', '${name}')`).join('\n')}
`,
)
