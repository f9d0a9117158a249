import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'

const root = join(__dirname, '../..')
// Below `node_modules`, so that Node finds packages from it.
const cache = join(root, 'node_modules/.cache')
const prefix = 'latchkey-compiled-'

/** What processes of the tests run, with everything that it imports. */
const programs = [
  'lib/index.ts',
  'lib/features/index.ts',
  'lib/guard/index.ts',
  'lib/tools/testing/index.ts',
  'lib/tools/cli/index.ts',
  'test/support/api-process.ts',
  'test/support/cli-process.ts',
  'test/support/fault-server.ts',
  'test/support/second-server.ts',
  'test/support/webhook-process.ts',
]

const filesIn = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .sort()
    .map((name) => join(root, folder, name))
    .filter((path) => statSync(path).isFile())

const version = (): string => {
  const hash = createHash('sha256')
  for (const path of [
    ...['lib', 'migrations', 'views', 'test/support'].flatMap(filesIn),
    join(root, 'package.json'),
  ]) {
    hash.update(path).update(readFileSync(path))
  }
  return hash.digest('hex').slice(0, 16)
}

const compileTo = (folder: string): void => {
  const project = join(folder, 'tsconfig.json')
  const compilerOptions = { rootDir: root, outDir: folder, noEmit: false, noCheck: true }
  const files = programs.map((file) => join(root, file))
  writeFileSync(
    project,
    JSON.stringify({ extends: join(root, 'tsconfig.json'), compilerOptions, files, include: [] }),
  )
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  execFileSync(process.execPath, [tsc, '-p', project], { stdio: 'pipe' })
  const features = readdirSync(join(root, 'lib/features')).map((name) => `lib/features/${name}/views`)
  for (const views of ['views', 'lib/tools/preview/assets', ...features].filter((name) =>
    existsSync(join(root, name)),
  )) {
    cpSync(join(root, views), join(folder, views), { recursive: true })
  }
  const { name, version, type } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const exports = {
    '.': './lib/index.js',
    './features': './lib/features/index.js',
    './guard': './lib/guard/index.js',
    './testing': './lib/tools/testing/index.js',
    './package.json': './package.json',
  }
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name, version, type, exports }))
}

const removeOld = (): void => {
  for (const name of readdirSync(cache).filter((each) => each.startsWith(prefix))) {
    const path = join(cache, name)
    const age = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now())
    if (age > 86_400_000) rmSync(path, { recursive: true, force: true })
  }
}

const compile = (): string => {
  const folder = join(cache, prefix + version())
  if (existsSync(folder)) return folder
  mkdirSync(cache, { recursive: true })
  removeOld()
  const own = mkdtempSync(join(cache, prefix))
  compileTo(own)
  try {
    renameSync(own, folder)
  } catch (error) {
    // Another worker was faster.
    if (!existsSync(folder)) throw error
    rmSync(own, { recursive: true })
  }
  return folder
}

let compiled: string | undefined

/**
 * The folder of the package compiled to JavaScript, with the programs that tests fork. A process starts from it in a
 * quarter of the time that it needs with a TypeScript loader. It is kept until a source changes.
 */
export const compiledPackage = (): string => {
  compiled ??= compile()
  return compiled
}

/** The compiled form of one of the programs, such as `test/support/fault-server.ts`. */
export const compiledProgram = (file: string): string => join(compiledPackage(), file.replace(/\.ts$/, '.js'))
