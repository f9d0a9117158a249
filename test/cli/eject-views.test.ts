import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openCommandLine } from '../support/command-line.ts'

const root = join(__dirname, '../..')
const cli = openCommandLine()
afterAll(() => cli.close())

describe('eject-views', () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const own = (name: string): string => readFileSync(join(root, 'views', name), 'utf8')
  const filesIn = (folder: string): string[] =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.\w+$/.test(name))
      .sort()

  test.each([
    ["'./pages/oauth'", 'pages/oauth/'],
    ["new URL('./pages/oauth/', import.meta.url)", expect.stringMatching(/^\/.*\/pages\/oauth\/$/)],
  ])('copies the named templates to the configured folder %s, and creates it', async (views, printed) => {
    const config = `export default { issuer: 7, pages: { views: ${views} } }`
    const folder = cli.folder({ 'latchkey.config.mjs': config })
    const { stdout, stderr } = await cli.succeed(folder, ['eject-views', 'login', 'footer', 'style.css'])
    const names = ['login.eta', 'partials/footer.eta', 'assets/style.css']
    const lines = stdout.trim().split('\n')
    expect(lines.map((line, index) => line.slice(0, -names[index]!.length))).toEqual(names.map(() => printed))
    expect(stderr).toBe('')
    expect(filesIn(join(folder, 'pages/oauth'))).toEqual(names.toSorted())
    for (const name of names) {
      const [first = '', ...rest] = readFileSync(join(folder, 'pages/oauth', name), 'utf8').split('\n')
      expect(first).toMatch(/^(<%)?\/\* From Latchkey \S+ \([0-9a-f]{12}\) \*\/(%>)?$/)
      expect(first).toContain(` ${version} `)
      expect(rest.join('\n')).toBe(own(name))
    }
    expect(readdirSync(folder).sort()).toEqual(['latchkey.config.mjs', 'pages'])
  })

  test('copies all templates without a name, keeps changed ones, and updates the rest', async () => {
    const folder = cli.folder()
    const eject = (...args: string[]) => cli.succeed(folder, ['eject-views', '--to', 'views', ...args])
    const first = await eject()
    const folders = [
      'views',
      ...readdirSync(join(root, 'lib/features')).map((name) => `lib/features/${name}/views`),
    ]
    const templates = folders
      .filter((name) => existsSync(join(root, name)))
      .flatMap((name) => filesIn(join(root, name)))
      .filter((name) => name.endsWith('.eta'))
    const all = [...templates, 'assets/style.css'].sort()
    expect(filesIn(join(folder, 'views'))).toEqual(all)
    expect(first.stdout.trim().split('\n').sort()).toEqual(all.map((name) => `views/${name}`))
    expect(await eject()).toEqual({ code: 0, stdout: '', stderr: '' })

    const path = (name: string) => join(folder, 'views', name)
    const copied = readFileSync(path('error.eta'), 'utf8')
    writeFileSync(path('login.eta'), `${readFileSync(path('login.eta'), 'utf8')}<p>Mine</p>\n`)
    writeFileSync(path('layout.eta'), '<p>Mine alone</p>\n')
    writeFileSync(path('consent.eta'), own('consent.eta'))
    writeFileSync(path('return.eta'), readFileSync(path('return.eta'), 'utf8').replaceAll('\n', '\r\n'))
    // As an earlier version would have copied it.
    const hash = createHash('sha256').update('<p>Old</p>\n').digest('hex').slice(0, 12)
    writeFileSync(path('error.eta'), `<%/* From Latchkey 0.0.9 (${hash}) */%>\n<p>Old</p>\n`)
    const second = await eject()
    expect(second.stdout).toBe('views/consent.eta\nviews/error.eta\nviews/return.eta\n')
    expect(second.stderr).toContain('views/layout.eta, views/login.eta')
    expect(second.stderr).toContain('--force')
    expect(readFileSync(path('login.eta'), 'utf8')).toContain('<p>Mine</p>')
    expect(readFileSync(path('layout.eta'), 'utf8')).toBe('<p>Mine alone</p>\n')
    expect(readFileSync(path('error.eta'), 'utf8')).toBe(copied)

    const third = await eject('login', '--force')
    expect(third).toMatchObject({ stdout: 'views/login.eta\n', stderr: '' })
    expect(readFileSync(path('login.eta'), 'utf8')).not.toContain('Mine')
    expect(readFileSync(path('layout.eta'), 'utf8')).toContain('Mine')
  })
})
