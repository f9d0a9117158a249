import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { build } from 'esbuild'
import { resolveOptions } from '../../lib/options/resolve.ts'
import { compose } from '../../lib/router.ts'
import {
  copiedFiles,
  copiedFrom,
  ownFile,
  ownViews,
  runningVersion,
  warnOfOldCopies,
  withOrigin,
} from '../../lib/web/pages/template-version.ts'
import type { Views } from '../../lib/web/pages/views.ts'
import { createViews, look } from '../support/views.ts'

const folder = mkdtempSync(join(tmpdir(), 'origin-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** A host's folder with copies of everything, as one version made them. */
const copies = (name: string, version: string): string => {
  const target = join(folder, name)
  for (const file of copiedFiles()) {
    mkdirSync(dirname(join(target, file)), { recursive: true })
    writeFileSync(join(target, file), withOrigin(file, readFileSync(ownFile(file), 'utf8'), version))
  }
  return target
}

const render = (views: Views): string[] => [
  views.render('signed-out', { client: { name: 'Desk', uri: 'https://desk.example.com' } }),
  views.render('error', { kind: 'error', code: 'invalid_request', errorId: 'e-1', time: '2026-01-02' }),
  views.render('login', {
    action: '/login',
    hidden: { csrf: 'token' },
    client: { name: 'Desk', host: 'desk.example.com', unverified: true },
    username: 'alice',
    confirm: false,
    error: 'credentials',
  }),
]

/** What is said about a folder when the pages are made. */
const warnings = (directory: string): string[] => {
  const told: string[] = []
  warnOfOldCopies(directory, { info: () => {}, warn: (text) => told.push(text), error: () => {} })
  return told
}

describe('copies of our templates', () => {
  it('make the pages that ours make, to the letter', () => {
    const options = { basePath: '/oauth' }
    const directory = copies('same', '0.0.9')
    rmSync(join(directory, 'assets'), { recursive: true })
    const copied = createViews({ pages: look({ views: directory }), ...options })
    expect(render(copied)).toEqual(render(createViews({ pages: look({}), ...options })))
  })

  it('show the version they came from, and whether they were changed', () => {
    const text = withOrigin('login.eta', '<h1>Hi</h1>\n', '1.2.3-beta.1')
    expect(copiedFrom(text)).toEqual({ version: '1.2.3-beta.1', isChanged: false })
    expect(copiedFrom(text.replaceAll('\n', '\r\n'))).toEqual({ version: '1.2.3-beta.1', isChanged: false })
    expect(copiedFrom(text.replace('Hi', 'Ho'))).toEqual({ version: '1.2.3-beta.1', isChanged: true })
    expect(copiedFrom('<h1>Hi</h1>\n')).toBeUndefined()
    expect(copiedFrom(withOrigin('assets/style.css', 'a {}\n', '2.0.0'))?.version).toBe('2.0.0')
  })

  it('of another version are named in one warning, of this one in none', () => {
    expect(warnings(copies('current', runningVersion()))).toEqual([])
    const [told = '', ...more] = warnings(copies('old', '0.0.9'))
    expect(told).toMatch(/account-sign-in\.eta, account\.eta, .*assets\/style\.css, consent\.eta/)
    expect(told).toContain(`another version than ${runningVersion()}`)
    expect(more).toEqual([])
  })

  it.each([
    ['development', 1],
    ['production', 0],
  ])('are spoken of in %s: %i times', (environment, times) => {
    const options = resolveOptions(
      {
        issuer: 'https://app.example.com/oauth',
        database: { client: 'better-sqlite3' },
        secrets: ['a secret of the tests, long enough'],
        pages: { views: copies(`in ${environment}`, '0.0.9') },
        logger: { info: () => {}, warn: (text) => told.push(text), error: () => {} },
      },
      { NODE_ENV: environment },
    )
    const told: string[] = []
    compose(options)
    expect(told.filter((text) => text.includes('copies from another version'))).toHaveLength(times)
  })

  it('leave files of the host alone', () => {
    const own = join(folder, 'own')
    cpSync(ownViews, own, { recursive: true })
    writeFileSync(join(own, 'login.eta'), 'From Latchkey 0.0.9, more or less')
    expect(warnings(own)).toEqual([])
  })
})

test.each([
  ['esm', 'mjs'],
  ['cjs', 'cjs'],
] as const)(
  'a server that was bundled as %s does not start, and says what to leave out',
  async (format, suffix) => {
    const outfile = join(folder, 'bundled', `server.${suffix}`)
    const entryPoints = [join(__dirname, '../../lib/web/pages/template-version.ts')]
    await build({ entryPoints, outfile, format, bundle: true, platform: 'node', logLevel: 'silent' })
    const { status, stderr } = spawnSync(process.execPath, [outfile], { encoding: 'utf8' })
    expect(status).toBe(1)
    expect(stderr).toContain('--external:latchkey')
  },
)
