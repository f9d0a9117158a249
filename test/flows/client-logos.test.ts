import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import request from 'supertest'
import { seedClients } from '../../lib/index.ts'
import { openServer, type TestServer } from '../support/client-server.ts'
import { stopClock } from '../support/clock.ts'
import { authorizeUrl, callback, type Host, secret, startHost } from '../support/host.ts'
import { RawBrowser } from '../support/raw-browser.ts'

const png = (width: number, height = width, length = 60): Buffer => {
  const bytes = Buffer.alloc(length)
  bytes.write('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1')
  bytes.writeUInt32BE(width, 16)
  bytes.writeUInt32BE(height, 20)
  return bytes
}
const jpeg = Buffer.concat([Buffer.from('ffd8ffe0000401ffffc0001108004000200301', 'hex'), Buffer.alloc(20)])
const gif = Buffer.concat([Buffer.from('GIF89a\x20\0\x20\0', 'latin1'), Buffer.alloc(30)])
const webp = Buffer.concat([Buffer.from('RIFF\0\0\0\0WEBPVP8X', 'latin1'), Buffer.alloc(20)])
const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>top.ran++</script></svg>')

const redirectUris = { client_secret: secret, redirect_uris: [callback] }
const warnings: string[] = []
/** What the client's site serves, by path, and how often it was asked. */
const files = new Map<string, { status?: number; body: Buffer; location?: string }>()
const asked: string[] = []
let site: TestServer
let host: Host
beforeAll(async () => {
  site = await openServer()
  site.serve((req, res) => {
    asked.push(`${req.headers.cookie ?? ''}${req.headers.referer ?? ''}${req.url}`)
    const { status = 200, body, location } = files.get(req.url ?? '') ?? { status: 404, body: gif }
    res.writeHead(status, { 'Content-Type': 'image/png', ...(location && { location }) }).end(body)
  })
  const logger = { info: () => {}, warn: (line: string) => void warnings.push(line), error: () => {} }
  host = await startHost({ clients: [], options: { outbound: { allow: [site.origin] }, logger } })
})
afterAll(async () => {
  await host.close()
  await site.close()
})
afterEach(() => jest.restoreAllMocks())

const browser = () => new RawBrowser(host.app)
const sha256 = (body: Buffer): string => createHash('sha256').update(body).digest('base64url')
const logoOn = ({ html }: { html: string }): string | undefined =>
  /<img class="client-logo" src="([^"]+)"/.exec(html)?.[1]
const signInPage = (client_id: string) => browser().open(authorizeUrl({ client_id, scope: 'openid' }))

/** The logo on the sign-in page, as soon as the background work that a page began has had its result. */
const settled = async (client_id: string, isSettled: (logo?: string) => boolean = Boolean) => {
  for (let views = 0; views < 200; views += 1) {
    const logo = logoOn(await signInPage(client_id))
    if (isSettled(logo)) return logo
  }
  throw new Error('the logo was not fetched')
}
const hasWarned = (id: string) => () => warnings.some((line) => line.includes(`client ${id} `))

const register = async (client_id: string, path: string): Promise<void> => {
  const { knex, tablePrefix } = host.database
  const seed = { ...redirectUris, client_id, client_name: 'Desk', logo_uri: new URL(path, site.origin).href }
  await seedClients(knex, [seed], { database: { tablePrefix } })
}

test('a logo is fetched once, after the first page, and every page loads it from the host', async () => {
  files.set('/desk.png', { body: png(64) })
  await register('desk', '/desk.png')
  expect((await signInPage('desk')).html).toContain('<span class="disc tint')
  const logo = await settled('desk')
  expect(logo).toBe(`/oauth/logos/${sha256(png(64))}`)
  const agent = browser()
  const consent = await agent.signIn(await agent.open(authorizeUrl({ client_id: 'desk', scope: 'openid' })))
  await agent.decide(consent, 'allow')
  for (const page of [consent, await agent.open('/oauth/account')]) {
    expect(logoOn(page)).toBe(logo)
    expect(page.html).not.toContain(site.origin)
  }
  const { body, headers } = await request(host.app).get(String(logo)).expect(200)
  expect(body).toEqual(png(64))
  expect(headers).toMatchObject({
    'content-type': 'image/png',
    'cache-control': 'public, max-age=31536000, immutable',
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'",
  })
  await request(host.app).get(String(logo)).set('If-None-Match', headers.etag!).expect(304)
  await request(host.app)
    .get(`/oauth/logos/${sha256(gif)}`)
    .expect(404)
  expect(asked).toEqual(['/desk.png'])
})

test.each([
  ['jpeg', jpeg, 'image/jpeg'],
  ['gif', gif, 'image/gif'],
  ['webp', webp, 'image/webp'],
])('a %s is served with the type of its bytes, whatever its server said', async (id, body, type) => {
  files.set(`/${id}`, { body })
  await register(id, `/${id}`)
  await request(host.app)
    .get(String(await settled(id)))
    .expect(200)
    .expect('Content-Type', type)
})

test.each([
  ['svg', { body: svg }, 'it is not a PNG, JPEG, WebP or GIF image'],
  ['large', { body: png(64, 64, 102_401) }, 'larger than 100 kB'],
  ['bomb', { body: png(40_000) }, 'it has 40000 × 40000 pixels'],
  ['short', { body: png(64).subarray(0, 20) }, 'it is not a PNG'],
  ['missing', { status: 404, body: png(64) }, 'status 404'],
  ['inner', undefined, 'https://169.254.169.254: the address is not public'],
  ['moved', { status: 302, body: png(64), location: '/desk.png' }, 'status 302'],
])('instead of %s the page shows the initial, and the log says why, once', async (id, file, reason) => {
  if (file) files.set(`/${id}`, file)
  await register(id, file ? `/${id}` : 'https://169.254.169.254/latest/inner')
  expect(await settled(id, hasWarned(id))).toBeUndefined()
  expect(logoOn(await signInPage(id))).toBeUndefined()
  const lines = warnings.filter((line) => line.includes(`client ${id} `))
  expect(lines).toEqual([expect.stringContaining(reason)])
  expect(lines[0]).not.toContain(`/${id}`)
  expect(asked.filter((path) => path === `/${id}`)).toHaveLength(file ? 1 : 0)
})

test('a failure of a time when the clock was far ahead is tried again at once', async () => {
  const clock = stopClock()
  files.set('/ahead', { status: 500, body: gif })
  clock.travel(30 * 86_400)
  await register('ahead', '/ahead')
  await settled('ahead', hasWarned('ahead'))
  files.set('/ahead', { body: png(4) })
  clock.travel(-30 * 86_400)
  expect(await settled('ahead')).toContain(sha256(png(4)))
})

test('a logo that was fetched stays until its address changes; a failure is tried again (L15)', async () => {
  const clock = stopClock()
  files.set('/first', { status: 500, body: gif })
  await register('changing', '/first')
  await settled('changing', hasWarned('changing'))
  files.set('/first', { body: png(1) })
  clock.travel(86_400)
  const first = await settled('changing')
  expect(first).toContain(sha256(png(1)))
  files.set('/first', { body: png(2) })
  clock.travel(366 * 86_400)
  expect(logoOn(await signInPage('changing'))).toBe(first)
  files.set('/second', { body: png(3) })
  await register('changing', '/second')
  expect(logoOn(await signInPage('changing'))).toBeUndefined()
  expect(await settled('changing')).toContain(sha256(png(3)))
  await request(host.app).get(String(first)).expect(404)
  expect(asked.filter((path) => path === '/first')).toHaveLength(2)
})

describe('a file of the host', () => {
  const folder = mkdtempSync(join(tmpdir(), 'logos-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const file = (name: string, body: Buffer): URL => {
    writeFileSync(join(folder, name), body)
    return pathToFileURL(join(folder, name))
  }

  test('is the logo at once, instead of logo_uri, until it is removed', async () => {
    const logo = file('logo.png', png(32))
    const logo_uri = `${site.origin}/never.png`
    await host.oauth.clients.create({ ...redirectUris, client_id: 'own', logo, logo_uri })
    const path = logoOn(await signInPage('own'))
    expect(path).toContain(sha256(png(32)))
    expect(asked).not.toContain('/never.png')
    await host.oauth.clients.update('own', { logo: null, logo_uri: null })
    expect(logoOn(await signInPage('own'))).toBeUndefined()
    await request(host.app).get(String(path)).expect(404)
  })

  test.each([
    ['an SVG', () => file('logo.svg', svg), 'logo: it is not a PNG, JPEG, WebP or GIF image'],
    ['a file that does not exist', () => pathToFileURL('/nowhere/logo.png'), 'cannot be read'],
    ['a path, which a stranger could send', () => join(folder, 'logo.png'), 'logo must be a file, such as'],
    ['an address', () => new URL('https://desk.example/logo.png'), 'logo must be a file, such as'],
  ])('is not %s', async (_, logo, message) => {
    const create = host.oauth.clients.create({ ...redirectUris, logo: logo() as URL })
    await expect(create).rejects.toThrow(message)
  })
})
