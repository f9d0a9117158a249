import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import request from 'supertest'
import { resolveOptions } from '../../lib/options/resolve.ts'
import { previewPages } from '../../lib/tools/preview/pages.ts'
import { withOrigin } from '../../lib/web/pages/template-version.ts'
import { openCommandLine, program } from '../support/command-line.ts'
import { sampleOf, testsAll } from '../support/sample.ts'
import { allSamples, featureSamples } from '../support/views.ts'

const firstByPage = new Map(allSamples.toReversed().map(({ page, name }) => [page, name]))
const oneOfEachPage = [...firstByPage.values()].map((name) => `/de/${name}`)

const cli = openCommandLine()
afterAll(() => cli.close())

describe('latchkey preview', () => {
  const folder = cli.folder()
  const views = join(folder, 'views')
  mkdirSync(views)
  const server = createServer(
    previewPages(
      resolveOptions({
        secrets: ['a secret of this test, long enough'],
        pages: { name: 'Juniper', accent: '#0a6', views, locales: { de: true } },
        login: {
          identifier: 'email',
          current: () => undefined,
          providers: [{ name: 'Larch', url: '/larch' }],
        },
        scopes: {
          'notes:read': { description: 'See your notes', group: 'read' },
          'notes:delete': { description: 'Delete your notes', risk: 'high', optional: true },
        },
      }),
      [{ samples: featureSamples }],
    ),
  )

  test('frames every state, and shows each with the name, a language and the scopes of the host', async () => {
    const overview = await request(server).get('/?language=de&width=320').expect(200)
    const states = [...overview.text.matchAll(/<iframe data-src="([^"]+)"[^>]*class="w320"/g)].map(
      ([, url = '']) => url,
    )
    // Those of the samples, and the consent page with the scopes of the host.
    expect(states).toHaveLength(allSamples.length + 1)
    for (const state of testsAll ? states : sampleOf(oneOfEachPage, 12)) {
      const { text } = await request(server).get(state).expect(200)
      expect({ state, isGerman: text.includes('<html lang="de"'), brand: text.includes('Juniper') }).toEqual({
        // Pages for operators are in English only.
        state,
        isGerman: !state.includes('/operator-'),
        brand: true,
      })
    }
    const { text } = await request(server).get('/en/consent-your-scopes').expect(200)
    const login = (await request(server).get('/en/login').expect(200)).text
    expect(login).toMatch(/>Email<\/label>.*href="\/larch".*Continue with <bdi>Larch<\/bdi>/s)
    expect(login).not.toContain('Forgot your password?')
    expect(text).toMatch(/See who you are.*Alice Liddell.*See your notes.*name="scope:notes:delete"/s)
  })

  test('reads a template anew for each request, and shows why one does not compile', async () => {
    writeFileSync(join(views, 'signed-out.eta'), '<p>One</p>')
    expect((await request(server).get('/en/signed-out').expect(200)).text).toBe('<p>One</p>')
    writeFileSync(join(views, 'signed-out.eta'), '<p>Two <%= it. %></p>')
    expect((await request(server).get('/en/signed-out').expect(500)).text).toContain('<pre>')
  })

  test('pretends the chosen colour scheme, and leaves forms unanswered', async () => {
    const chosen = await request(server)
      .get('/?scheme=dark')
      .expect('Set-Cookie', /^preview_scheme=dark;/)
    const cookie = chosen.headers['set-cookie']?.[0]?.split(';')[0] ?? ''
    const styles = async (headers: Record<string, string>) =>
      (await request(server).get('/assets/style.css').set(headers).expect(200)).text
    expect(await styles({})).toContain('(prefers-color-scheme:dark)')
    expect(await styles({ Cookie: cookie })).not.toContain('prefers-color-scheme')
    await request(server).post('/login').expect(204)
    await request(server).get('/en/nonsense').expect(404)
    await request(server).get('/xx/login').expect(404)
  })

  test('serves the configuration of the folder until it is stopped, and writes nothing', async () => {
    const host = cli.folder({ 'latchkey.config.mjs': "export default { pages: { name: 'Larch' } }" })
    const preview = spawn(process.execPath, [program(), 'preview', '--port', '0'], { cwd: host })
    const ended = once(preview, 'close')
    const [line] = await once(preview.stdout, 'data')
    expect(await (await fetch(`${String(line).trim()}en/login`)).text()).toContain('Larch')
    expect(readdirSync(host)).toEqual(['latchkey.config.mjs'])
    preview.kill('SIGINT')
    expect(await ended).toEqual([null, 'SIGINT'])
    const { code, stderr } = await cli.run(host, ['preview', '--port', '99999'])
    expect({ code, stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--port must be a number'),
    })
  })
})

describe('the panel of latchkey preview', () => {
  const folder = cli.folder()
  const views = join(folder, 'views')
  mkdirSync(views)
  writeFileSync(join(views, 'consent.eta'), withOrigin('consent.eta', '<p>Old</p>', '0.0.9'))
  const configuration = join(folder, 'latchkey.config.mjs')
  const written = join(folder, 'latchkey.branding.mjs')
  writeFileSync(configuration, 'export default {}')
  const server = createServer(
    previewPages(
      resolveOptions({ secrets: ['a secret of this test, long enough'], pages: { name: 'Juniper', views } }),
      [],
      configuration,
    ),
  ).listen(0, '127.0.0.1')
  afterAll(() => server.close())
  const origin = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const overview = async () => (await fetch(origin())).text()
  const tokenIn = (html: string) => / data-token="([\w-]{32})"/.exec(html)?.[1] ?? ''
  const own = async () => ({ Origin: origin(), 'X-Latchkey-Studio': tokenIn(await overview()) })
  const send = async (
    method: string,
    path: string,
    body: string | Uint8Array<ArrayBuffer> | undefined,
    headers: object,
  ) => {
    const answer = await fetch(`${origin()}/studio/${path}`, { method, body, headers: { ...headers } })
    return { status: answer.status, body: await answer.json() }
  }
  const style = async () => (await fetch(`${origin()}/assets/style.css`)).text()

  test('other sites can neither read its token nor change or write anything (studio)', async () => {
    const headers = await own()
    const foreign = [
      { ...headers, Origin: 'https://evil.example.com' },
      { 'X-Latchkey-Studio': headers['X-Latchkey-Studio'] },
      { Origin: origin() },
      { ...headers, 'X-Latchkey-Studio': 'guess' },
    ]
    for (const each of foreign) {
      expect((await send('POST', 'look', '{"accent":"#ff0000"}', each)).status).toBe(403)
      expect((await send('PUT', 'logo?name=a.svg', '<svg/>', each)).status).toBe(403)
      expect((await send('POST', 'write', '{"after":""}', each)).status).toBe(403)
    }
    // A name of another site that leads to this machine.
    const rebound = await request(server).get('/').set('Host', 'evil.example.com').expect(403)
    expect(rebound.text).not.toContain('data-token')
    await request(server)
      .post('/studio/look')
      .set({ ...headers, Host: 'evil.example.com' })
      .expect(403)
    expect(await style()).not.toContain('#ff0000')
    expect(existsSync(written)).toBe(false)
    const { headers: policy } = await request(server).get('/')
    expect(policy['content-security-policy']).toMatch(
      /^default-src 'none'; style-src 'self';.*frame-ancestors 'none'/,
    )
    expect(await overview()).not.toMatch(/<style|\sstyle=|\son[a-z]+=|<script>/)
  })

  test('refuses values that the option refuses, other files and large ones, and changes no page', async () => {
    const headers = await own()
    const before = await style()
    const refused = [
      await send('POST', 'look', '{"accent":"red"}', headers),
      await send('POST', 'look', '{"radius":99}', headers),
      await send('POST', 'look', 'not JSON', headers),
      await send('PUT', 'logo?name=a.html', '<script>', headers),
      await send('PUT', 'font?name=a.ttf', 'x', headers),
      await send('PUT', 'font?name=a.woff2', new Uint8Array(2 * 1024 * 1024 + 1), headers),
      await send('POST', 'nothing', '{}', headers),
    ]
    expect(refused.map(({ status }) => status)).toEqual([400, 400, 400, 400, 400, 413, 404])
    expect(refused[0]?.body.error).toContain('pages.accent must be a colour')
    expect(await style()).toBe(before)
  })

  test('writes what it has shown, and says what the configuration lacks (studio)', async () => {
    const headers = await own()
    await send('POST', 'look', '{"accent":"#0a6b4f","radius":12,"scheme":"light"}', headers)
    await send('PUT', 'logo?name=My%20logo.SVG', '<svg xmlns="http://www.w3.org/2000/svg"/>', headers)
    expect(await style()).toContain('--accent: #0a6b4f')
    const { body: plan } = await send('POST', 'plan', undefined, headers)
    expect(plan.diff.every(({ mark }: { mark: string }) => mark === '+')).toBe(true)
    await send('POST', 'look', '{"radius":4}', headers)
    expect((await send('POST', 'write', JSON.stringify({ after: plan.after }), headers)).status).toBe(409)
    expect(existsSync(written)).toBe(false)
    const { body: shown } = await send('POST', 'plan', undefined, headers)
    const { body: done } = await send('POST', 'write', JSON.stringify({ after: shown.after }), headers)
    expect(done).toEqual({
      written: ['latchkey.branding.mjs', 'branding/logo.svg'],
      lines: ["import branding from './latchkey.branding.mjs'", 'pages: { …, ...branding },'],
    })
    expect(readFileSync(written, 'utf8')).toBe(`// The look of the pages, written by \`latchkey preview\`.
export default {
  logo: new URL('./branding/logo.svg', import.meta.url),
  accent: '#0a6b4f',
  radius: 4,
  scheme: 'light',
}
`)
    expect(readdirSync(join(folder, 'branding'))).toEqual(['logo.svg'])
    await send('POST', 'look', '{"radius":0}', headers)
    await send('DELETE', 'logo', undefined, headers)
    writeFileSync(configuration, "import branding from './latchkey.branding.mjs'")
    const { body: next } = await send('POST', 'plan', undefined, headers)
    expect(next.diff.filter(({ mark }: { mark: string }) => mark !== ' ')).toEqual([
      { mark: '-', text: "  logo: new URL('./branding/logo.svg', import.meta.url)," },
      { mark: '-', text: '  radius: 4,' },
      { mark: '+', text: '  radius: 0,' },
    ])
    expect((await send('POST', 'write', JSON.stringify({ after: next.after }), headers)).body.lines).toEqual(
      [],
    )
  })

  test('tells templates of another version apart (studio)', async () => {
    const html = await overview()
    expect(html).toMatch(/Your templates<\/h2>[\s\S]*<code>consent\.eta<\/code> 0\.0\.9</)
    expect(
      [...html.matchAll(/data-name="([\w-]+)"[^>]*>(?:(?!<\/figcaption>).)*template of 0\.0\.9/g)].map(
        ([, name]) => name?.split('-')[0],
      ),
    ).toEqual(allSamples.filter(({ page }) => page === 'consent').map(() => 'consent'))
  })
})
