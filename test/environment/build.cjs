const { spawnSync } = require('node:child_process')
const { createHash } = require('node:crypto')
const { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } = require('node:fs')
const { dirname, join } = require('node:path')
const { pathToFileURL } = require('node:url')
const { build } = require('esbuild')
const { folder, packages, root, standIn } = require('./paths.cjs')

/** In a bundle, `import.meta.url` would be the same for all modules. */
const urlOfEachFile = {
  name: 'url-of-each-file',
  setup: ({ onLoad }) =>
    onLoad({ filter: /[/\\]lib[/\\].*\.ts$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8')
      if (!text.includes('import.meta.url')) return undefined
      return { contents: `const urlOfFile = '${pathToFileURL(path)}';${text}`, loader: 'ts' }
    }),
}

/** Bundles modules into one file that exports a function for each, which loads it the first time. */
const bundle = async (file, names, options) => {
  const { outputFiles } = await build({
    absWorkingDir: root,
    stdin: {
      contents: names.map((name) => `exports['${name}'] = () => require('${name}')`).join('\n'),
      resolveDir: root,
    },
    outfile: join(folder, file),
    write: false,
    bundle: true,
    format: 'cjs',
    platform: 'node',
    target: 'es2023',
    charset: 'utf8',
    logLevel: 'warning',
    ...options,
  })
  return outputFiles
}

/** Other processes may read the file meanwhile. */
const write = (path, text) => {
  mkdirSync(dirname(path), { recursive: true })
  const own = `${path}.${process.pid}`
  writeFileSync(own, text)
  renameSync(own, path)
}

const bundleLibrary = async () => {
  const modules = ['lib', 'migrations'].flatMap((top) =>
    readdirSync(join(root, top), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => `./${top}/${name.replaceAll('\\', '/')}`),
  )
  const files = await bundle('library.js', modules, {
    packages: 'external',
    sourcemap: true,
    define: { 'import.meta.url': 'urlOfFile' },
    plugins: [urlOfEachFile],
  })
  for (const { path, text } of files) write(path, text)
}

/** Drivers that knex may load, and what a package can do without, stay with Node. */
const drivers = [
  'better-sqlite3',
  'mysql',
  'mysql2',
  'oracledb',
  'pg',
  'pg-*',
  'sqlite3',
  'tedious',
  'mariadb/*',
]

const bundlePackages = async () => {
  const state = createHash('sha256')
  for (const file of ['package-lock.json', 'test/environment/paths.cjs', 'test/environment/build.cjs'])
    state.update(readFileSync(join(root, file)))
  const stamp = join(folder, `${state.digest('hex').slice(0, 16)}.stamp`)
  if (existsSync(stamp)) return
  const [{ path, text }] = await bundle('packages.js', packages, { external: drivers })
  write(path, text)
  for (const name of packages) write(standIn(name), `module.exports = latchkeyTests.packages['${name}']()\n`)
  write(stamp, '')
}

/** A number made of the commit, so that its random tests try the same each time. */
const seedOfCommit = () => {
  const { stdout } = spawnSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' })
  return Number.parseInt(stdout?.slice(0, 7) || '1', 16)
}

/** Before the tests: bundles the library, in half a second, and after a change of the packages these as well. */
module.exports = async () => {
  process.env.TEST_SEED ??= `${seedOfCommit()}`
  await Promise.all([bundleLibrary(), bundlePackages()])
}
