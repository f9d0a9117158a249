import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { authenticatorApps, device, pushedRequests } from '../../lib/features/index.ts'
import type { AuthRouterOptions } from '../../lib/index.ts'
import { resolveOptions } from '../../lib/options/resolve.ts'
import { assess } from '../../lib/tools/assessment/requirements.ts'
import { openCommandLine } from '../support/command-line.ts'

const base = {
  issuer: 'https://auth.example.com',
  database: { client: 'better-sqlite3', connection: ':memory:' },
  secrets: ['N7Zq0xW4vT9cR2mK8sJ5hD1fB6gL3pYe'],
}
const rowsOf = (options: AuthRouterOptions = {}) =>
  assess(resolveOptions({ ...base, ...options }, { NODE_ENV: 'test' }))
const strict: AuthRouterOptions = {
  protocol: { dpop: true, fapi2: true },
  features: [pushedRequests({ required: true }), authenticatorApps()],
}
const unmet = (options?: AuthRouterOptions) => rowsOf(options).filter(({ state }) => state === 'not met')

test('no requirement is listed twice, and each test that shows one is there under its title', () => {
  const rows = rowsOf()
  const names = rows.map(({ document, number }) => `${document} ${number}`)
  expect(new Set(names).size).toBe(names.length)
  const proofs = rows.filter(({ state }) => state === 'met').map(({ reason }) => reason)
  expect(proofs.length).toBeGreaterThan(10)
  for (const proof of proofs) {
    const [, file = '', title = ''] = /^(test\/\S+): “(.+)”$/.exec(proof) ?? []
    expect(readFileSync(join(__dirname, '../..', file), 'utf8')).toContain(title)
  }
})

test('a strict configuration meets what defaults do not', () => {
  expect(unmet().map(({ reason }) => reason)).toContain(
    'protocol.dpop or protocol.mutualTls, with protocol.fapi2',
  )
  expect(unmet(strict)).toEqual([])
})

test.each<[string, AuthRouterOptions]>([
  ['10.4.4', { protocol: { implicit: true } }],
  ['5.3.2.2 code', { lifetimes: { code: 120 } }],
  ['10.4.6', { codeChallengeMethods: ['S256', 'plain'] }],
  ['10.4.13', { features: [pushedRequests({ required: true })] }],
  ['10.4.14', { protocol: { dpop: true } }],
  ['6.3.1', { limits: false }],
  ['7.3.1', { session: 'host' }],
])('the row %s follows its setting', (number, options) => {
  const stateOf = (rows: ReturnType<typeof rowsOf>) => rows.find((row) => row.number === number)?.state
  expect(stateOf(rowsOf(options))).not.toBe(stateOf(rowsOf()))
})

test('flows across devices are assessed only where there are devices (RFC 10027)', () => {
  const statesOf = (options?: AuthRouterOptions) =>
    new Set(rowsOf(options).flatMap(({ document, state }) => (document === 'RFC 10027' ? [state] : [])))
  expect(statesOf()).toEqual(new Set(['by configuration']))
  expect(statesOf({ features: [device()] })).toEqual(new Set(['met', 'host']))
})

test('with login.url, guesses and second factors are the matter of the app', () => {
  const login = { url: '/sign-in', current: () => undefined }
  const ofLogin = rowsOf({ login }).filter(({ number }) => ['6.3.1', '6.3.3'].includes(number))
  expect(ofLogin.map(({ state }) => state)).toEqual(['host', 'host'])
})

test('the command prints a table, JSON or Markdown', async () => {
  const cli = openCommandLine()
  try {
    const folder = cli.folder()
    await cli.succeed(folder, ['migrate'])
    expect((await cli.succeed(folder, ['report'])).stdout).toContain('RFC 9700')
    expect(JSON.parse((await cli.succeed(folder, ['report', '--json'])).stdout)[0].number).toBe('2.1')
    expect((await cli.succeed(folder, ['report', '--markdown'])).stdout).toContain('| --- |')
  } finally {
    await cli.close()
  }
})
