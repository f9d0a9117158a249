import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { assertPasswordLibraries } from '../../lib/users/passwords/libraries.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'latchkey-libraries-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const install = (name: string, source: string, manifest: object = {}): void => {
  const path = join(folder, 'node_modules', name)
  mkdirSync(path, { recursive: true })
  writeFileSync(join(path, 'index.js'), source)
  writeFileSync(join(path, 'package.json'), JSON.stringify(manifest))
}

const { platform, arch } = process
const binary = `hashes-${platform}-${arch}${platform === 'linux' ? '-gnu-musl' : ''}`
const otherPlatform = `hashes-${platform === 'linux' ? 'darwin' : 'linux'}-${arch}-gnu-musl`
const otherLibrary = `hashes-linux-${arch}-other`

const assertLoads = () => assertPasswordLibraries(['hashes'], pathToFileURL(join(folder, 'app.js')).href)

const unusable: readonly (readonly [string, string, boolean])[] = [
  ['its binary is not installed', binary, false],
  ['only the binary of another platform is installed', otherPlatform, true],
  ['only a binary for another C library is installed', otherLibrary, true],
]

test.each(unusable)('a library is tried at the start if %s', (_name, optional, isInstalled) => {
  install('hashes', "throw new Error('no binary')", { optionalDependencies: { [optional]: '1' } })
  if (isInstalled) install(optional, '')
  expect(assertLoads).toThrow('no binary')
})

test('a library whose binary is installed is not loaded at the start', () => {
  install('hashes', "throw new Error('loaded')", { optionalDependencies: { [binary]: '1' } })
  install(binary, '')
  expect(assertLoads).not.toThrow()
})

test('a library that finds its binary elsewhere is accepted', () => {
  install('hashes', '')
  expect(assertLoads).not.toThrow()
})

test('the libraries that npm installed are not loaded', () => {
  expect(() => assertPasswordLibraries()).not.toThrow()
  const loaded = Object.keys(require.cache).filter((path) => /@node-rs.*\.(js|node)$/.test(path))
  expect(loaded).toEqual([])
})
