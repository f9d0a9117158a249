import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import request from 'supertest'
import { featureOptions } from '../../lib/features/index.ts'
import { resolveOptions } from '../../lib/options/resolve.ts'
import { previewPages } from '../../lib/preview/pages.ts'
import { openCommandLine, program } from '../support/command-line.ts'
import { allSamples, featureSamples } from '../support/views.ts'

jest.setTimeout(60_000)

const isExhaustive = process.env.TEST_ALL === '1'
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
      resolveOptions(
        {
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
        },
        featureOptions,
      ),
      [{ samples: featureSamples }],
    ),
  )

  test('frames every state, and shows each with the name, a language and the scopes of the host', async () => {
    const overview = await request(server).get('/?language=de&width=320').expect(200)
    const states = [...overview.text.matchAll(/<iframe src="([^"]+)"[^>]*width: 320px/g)].map(
      ([, url = '']) => url,
    )
    // Those of the samples, and the consent page with the scopes of the host.
    expect(states).toHaveLength(allSamples.length + 1)
    for (const state of isExhaustive ? states : oneOfEachPage) {
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
