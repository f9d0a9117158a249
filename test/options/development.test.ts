import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AuthRouterOptions, Options } from '../../lib/options/options.ts'
import { resolveOptions } from '../../lib/options/resolve.ts'

const secret = 's'.repeat(32)
const issuer = 'https://app.example.com/oauth'
const right: AuthRouterOptions = { issuer, database: { client: 'pg' }, secrets: [secret] }
const production = { NODE_ENV: 'production' }
/** Options as a host without TypeScript may write them. */
const resolve = (
  options: Record<string, unknown> = {},
  environment: NodeJS.ProcessEnv = { NODE_ENV: 'test' },
): Options => resolveOptions({ ...right, ...options }, environment)

const folders: string[] = []
const temporaryFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-options-'))
  folders.push(folder)
  return folder
}
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true })
})

describe('the secret of a development machine', () => {
  const said: string[] = []
  const info = (line: string): void => void said.push(line)
  beforeEach(() => {
    said.length = 0
  })
  const start = (folder: string): Options =>
    resolve({
      secrets: undefined,
      logger: { info, warn: info, error: info },
      database: { client: 'better-sqlite3', connection: { filename: join(folder, 'app.sqlite') } },
    })

  test('is written once beside the SQLite file, for its owner alone, and survives a restart', () => {
    const folder = temporaryFolder()
    const { secrets } = start(folder)
    expect(secrets).toHaveLength(1)
    expect(Buffer.from(secrets[0], 'base64url')).toHaveLength(32)
    const file = join(folder, '.latchkey-secret')
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readFileSync(file, 'utf8').trim()).toBe(secrets[0])
    expect(start(folder).secrets).toEqual(secrets)
    expect(said).toEqual([`latchkey: wrote a secret for development to ${file}; add this file to .gitignore`])
  })

  test('is asked for where the folder cannot be written to, as in a read-only container', () => {
    const missing = join(temporaryFolder(), 'missing')
    expect(() => start(missing)).toThrow(
      `latchkey: ${join(missing, '.latchkey-secret')} cannot be written (ENOENT); set the option secrets`,
    )
  })

  test('is refused when the file was cut short', () => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, '.latchkey-secret'), 'short\n')
    chmodSync(join(folder, '.latchkey-secret'), 0o600)
    expect(() => start(folder)).toThrow('at least 32 bytes')
  })

  test.each([0o640, 0o604])('is refused when others may read the file: mode %o', (mode) => {
    const folder = temporaryFolder()
    const { secrets } = start(folder)
    const file = join(folder, '.latchkey-secret')
    chmodSync(file, mode)
    expect(() => start(folder)).toThrow(`chmod 600 ${file}`)
    chmodSync(file, 0o600)
    expect(start(folder).secrets).toEqual(secrets)
  })

  test('is not made where the host gives one', () => {
    const folder = temporaryFolder()
    resolve({ database: { client: 'better-sqlite3', connection: { filename: join(folder, 'app.sqlite') } } })
    expect(statSync(join(folder, '.latchkey-secret'), { throwIfNoEntry: false })).toBeUndefined()
  })
})

describe('production', () => {
  test('starts with issuer, database and secrets', () => {
    expect(resolve({}, production)).toMatchObject({ production: true, issuerIsGuess: false })
  })

  test.each([
    ['issuer', 'https://app.example.com/oauth'],
    ['database', 'database: knex'],
    ['secrets', 'openssl rand -base64 32'],
  ])('does not start without %s, and names the fix', (name, hint) => {
    const starting = () => resolve({ [name]: undefined }, production)
    expect(starting).toThrow(`latchkey: ${name} is required in production`)
    expect(starting).toThrow(hint)
  })

  test('does not start with a secret from an environment variable that is not set', () => {
    for (const secrets of [[undefined], [''], [], [undefined, '']]) {
      expect(() => resolve({ secrets }, production)).toThrow('is the environment variable set?')
    }
  })

  const issuers = { host: 'https://app.example.com/oauth', here: 'http://localhost:3000/oauth' }
  test.each([
    [undefined, { host: false, here: false }],
    ['development', { host: false, here: false }],
    ['staging', { host: true, here: false }],
    ['Production', { host: true, here: false }],
    ['production', { host: true, here: true }],
  ])('with NODE_ENV=%s is meant on a host and on this machine: %j', (NODE_ENV, expected) => {
    const logger = { info: () => {}, warn: () => {}, error: () => {} }
    const isMeant = (issuer: string) => resolve({ issuer, logger }, { NODE_ENV }).production
    expect({ host: isMeant(issuers.host), here: isMeant(issuers.here) }).toEqual(expected)
    const explained = () => resolveOptions({}, { NODE_ENV: 'staging' })
    expect(explained).toThrow('NODE_ENV=staging counts as production')
    expect(explained).toThrow('on your own machine set NODE_ENV=development, or an issuer on localhost')
  })

  test('is asked for if the issuer is public and NODE_ENV is not set', () => {
    const warnings = (issuer: string, environment: NodeJS.ProcessEnv): string[] => {
      const said: string[] = []
      const logger = { info: () => {}, warn: (line: string) => void said.push(line), error: () => {} }
      resolve({ issuer, logger }, environment)
      return said
    }
    expect(warnings(issuers.host, {})).toEqual([expect.stringContaining('set NODE_ENV=production')])
    expect(warnings(issuers.here, {})).toEqual([])
    expect(warnings(issuers.host, { NODE_ENV: 'development' })).toEqual([])
  })
})
