import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { hash } from '@node-rs/bcrypt'
import { clients } from '../support/host.ts'
import { ada } from '../support/tokens.ts'

export const root = join(__dirname, '../..')
export const modules = join(root, 'node_modules')

/** Other versions of Node and TypeScript: `npm ci --prefix test/versions` installs them. */
const versions = join(root, 'test/versions/node_modules')

/** The path of a file in one of the packages of test/versions. */
export const fileOfVersion = (name: string, file: string): string => join(versions, name, file)

/**
 * `describe` for what needs test/versions. Without them the tests are skipped; with REQUIRE_VERSIONS=1 they fail.
 */
export const describeVersions = (name: string, tests: () => void): void => {
  const isInstalled = existsSync(versions) || process.env.REQUIRE_VERSIONS === '1'
  if (!isInstalled) console.warn(`skipped: ${name}; run npm ci --prefix test/versions`)
  const describeOrSkip = isInstalled ? describe : describe.skip
  describeOrSkip(name, tests)
}

const execute = promisify(execFile)

/** Runs a program and returns its standard output. A failure shows the output as well, because tsc reports there. */
export const run = async (cwd: string, program: string, ...args: string[]): Promise<string> => {
  const { stdout } = await execute(program, args, { cwd }).catch((error) => {
    throw new Error(`${error.message}\n${error.stdout}`)
  })
  return stdout
}

export const manifestIn = (folder: string) => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))

export interface HostSettings {
  /** The file to run, in the folder. */
  readonly file: string
  readonly mount?: string
  /** The Node to run it with; this process's by default. */
  readonly node?: string
  readonly env?: Readonly<Record<string, string>>
  /** Knex's `client` and `connection`; an SQLite file in the folder by default. */
  readonly database?: { client: string; connection: unknown }
}

export interface PackedPackage {
  /** The tarball's files. */
  readonly files: readonly string[]
  /** As npm publishes it. */
  readonly tarball: string
  /** The unpacked tarball. */
  readonly path: string
  /** A new folder with the package installed; `links` names further packages, or other ones or paths under these names. */
  hostFolder(name: string, links?: Readonly<Record<string, string>>): string
  /** Starts a host and returns its origin; rejects with its output if it ends before it listens. */
  startHost(folder: string, settings: HostSettings): Promise<string>
  remove(): void
}

/** Builds and packs the package as `npm publish` does. */
export const packPackage = async (): Promise<PackedPackage> => {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-package-'))
  await run(root, 'npm', 'pack', '--foreground-scripts', '--pack-destination', folder)
  const tarball = join(folder, `latchkey-${manifestIn(root).version}.tgz`)
  await run(folder, 'tar', '-xzf', tarball)
  const listing = await run(folder, 'tar', '-tzf', tarball)
  const path = join(folder, 'package')
  const running: ChildProcess[] = []

  // Only declared packages are linked, so an import that package.json does not declare fails. Most hosts need no
  // express-session.
  const hostFolder: PackedPackage['hostFolder'] = (name, links = {}) => {
    const host = join(folder, name)
    const { dependencies, peerDependencies } = manifestIn(path)
    const { 'express-session': _, ...needed } = { ...dependencies, ...peerDependencies }
    const declared = Object.keys(needed).map((each) => [each, each])
    cpSync(path, join(host, 'node_modules/latchkey'), { recursive: true })
    for (const [as, of] of Object.entries<string>({ ...Object.fromEntries(declared), ...links })) {
      const link = join(host, 'node_modules', as)
      mkdirSync(dirname(link), { recursive: true })
      symlinkSync(resolve(modules, of), link)
    }
    return host
  }

  const startHost: PackedPackage['startHost'] = async (
    cwd,
    { file, mount = '/oauth', node, database, env },
  ) => {
    const { email, full_name, confirmed_at, password } = ada
    const person = { email, full_name, confirmed_at, password_hash: await hash(password, { cost: 4 }) }
    const child = spawn(node ?? process.execPath, [file, mount], {
      cwd,
      env: {
        ...process.env,
        NODE_ENV: 'development',
        HOST: JSON.stringify({ clients, person, database }),
        ...env,
      },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    running.push(child)
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk) => {
        output += chunk
      })
    }
    return new Promise((resolve, reject) => {
      child.on('error', reject)
      child.on('message', (message) => resolve((message as { origin: string }).origin))
      child.on('exit', (status, signal) =>
        reject(new Error(`${file} ended with ${status ?? signal}\n${output}`)),
      )
    })
  }

  const remove = (): void => {
    for (const child of running) child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
  return { files: listing.trim().split('\n'), tarball, path, hostFolder, startHost, remove }
}
