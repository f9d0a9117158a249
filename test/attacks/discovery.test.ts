import supertest from 'supertest'
import { createOperatorCode } from '../../lib/keys/operator-code.ts'
import { type Host, startHost } from '../support/host.ts'
import { type Answer, RawBrowser } from '../support/raw-browser.ts'
import { apiSide, comparable, expectRefusal, jsonOf, rivals, web } from './api-side.ts'
import { type Fields, type Mount, mounts, plainMount, targetIn } from './target.ts'

const documents = ['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server', '/jwks']
const evil = 'https://evil.example'

/** What a stranger, or a proxy that passes on what strangers say, may claim about the address. */
const lies: readonly Fields[] = [
  { Host: 'evil.example' },
  { 'X-Forwarded-Host': 'evil.example', 'X-Forwarded-Port': '666', 'X-Forwarded-Prefix': '/evil' },
  { Forwarded: 'for=203.0.113.7;host=evil.example;proto=http', 'X-Original-URL': '/evil' },
  { Origin: evil, Referer: `${evil}/` },
]

const symmetricOrNone = /^(none|HS\d+|RSA1_5|RS1|dir|A\d+KW)$/i

const everyValue = (value: unknown): unknown[] =>
  typeof value === 'object' && value !== null ? Object.values(value).flatMap(everyValue) : [value]

const corsOf = ({ headers }: Answer): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('access-control-')))

/** The cookies of an answer without the session cookie of the host. */
const ourCookies = ({ setCookies }: Answer): string[] =>
  setCookies.filter((cookie) => !cookie.startsWith('host.sid='))

/** What the attacks have at a target in that mount. */
const attackerIn = (mount: Mount) => {
  const target = targetIn(mount, () => ({ clients: rivals }))
  const side = apiSide(target)
  const at = (path: string, headers?: Fields) => target().get(`${target().base}${path}`, headers)
  return { ...side, target, at }
}

describe('discovery', () => {
  const { target, own, at } = attackerIn(plainMount)

  describe('offers nothing that may not be used', () => {
    test('no algorithm without a key or with a shared one (RFC 8725 §3.1 and §3.2)', async () => {
      const metadata = jsonOf(await at('/.well-known/openid-configuration'))
      const lists = Object.entries(metadata).filter(([name]) => /_alg(_values_supported|$)/.test(name))
      expect(lists.length).toBeGreaterThan(3)
      for (const [, values] of lists)
        expect((values as string[]).filter((value) => symmetricOrNone.test(value))).toEqual([])
    })

    test('no internals: tables, paths, versions, clients (RFC 8414 §6)', async () => {
      for (const path of documents) {
        const { html, headers } = await at(path)
        expect(html).not.toMatch(/latchkey_|node_modules|127\.0\.0\.1|latchkey\/|"web"|"native"/)
        expect(headers.server).toBeUndefined()
      }
    })
  })

  describe('keys', () => {
    test('have no private member, no shared secret and no name twice (RFC 7517 §9.3, CVE-2024-37568)', async () => {
      const { keys } = jsonOf(await at('/jwks')) as { keys: Record<string, unknown>[] }
      expect(keys.length).toBeGreaterThan(2)
      for (const key of keys) {
        expect(Object.keys(key).filter((name) => /^(d|p|q|dp|dq|qi|oth|k|jku|x5u)$/.test(name))).toEqual([])
        expect(['RSA', 'EC', 'OKP']).toContain(key.kty)
        expect(key.use).toBe('sig')
        expect(String(key.alg)).not.toMatch(symmetricOrNone)
      }
      expect(new Set(keys.map(({ kid }) => kid)).size).toBe(keys.length)
      // One key for one algorithm: none verifies what another has signed (RFC 8725 §3.1).
      expect(new Set(keys.map(({ alg }) => alg)).size).toBe(keys.length)
    })

    test('are not what the database holds (RFC 6819 §5.1.4.1.3)', async () => {
      const rows = await target().table('signing_keys')
      expect(rows.length).toBeGreaterThan(2)
      const { html } = await at('/jwks')
      for (const row of rows) {
        expect(Buffer.from(String(row.private_key), 'base64url').toString('latin1')).not.toContain('"kty"')
        expect(html).not.toContain(row.private_key)
      }
    })

    test('are the same whatever a query asks for', async () => {
      for (const path of documents) {
        const plain = comparable(await at(path))
        for (const query of ['kid=x', 'callback=alert', 'alg=none', '__proto__=x', '', '%00', '%ff'])
          expect(comparable(await at(`${path}?${query}`))).toEqual(plain)
      }
    })
  })

  test('still works while the database is unavailable, and nothing else does (RFC 6819 §4.4.1.11)', async () => {
    const { knex, tablePrefix } = target().host.database
    const before = await Promise.all(documents.map((path) => at(path)))
    await knex.schema.renameTable(`${tablePrefix}clients`, `${tablePrefix}away`)
    const after = await Promise.all(documents.map((path) => at(path)))
    const refused = await own()
    await knex.schema.renameTable(`${tablePrefix}away`, `${tablePrefix}clients`)
    expect(after.map(comparable)).toEqual(before.map(comparable))
    expectRefusal(refused, 'temporarily_unavailable')
  })
})

describe.each(mounts)('discovery, mounted $name', (mount) => {
  const { target, ask, expectRefused, introspect, tokensFor, at } = attackerIn(mount)

  describe('is built from the configured issuer, never from what a request says (RFC 9700 §4.13)', () => {
    test.each(lies)('%j (CVE-2023-49097, CVE-2025-48936)', async (headers) => {
      for (const path of documents) {
        const [said, lied] = [await at(path), await at(path, headers)]
        expect(comparable(lied)).toEqual(comparable(said))
        // No key can hold any of these by chance: base64url has neither dot nor slash nor colon.
        expect(lied.html).not.toMatch(/evil\.example|\/evil|:666/)
      }
      const sends = [
        (more: Fields) => ask('/token', { ...web, client_secret: 'x', grant_type: 'x' }, more),
        (more: Fields) => at('/userinfo', { Authorization: 'Bearer x', ...more }),
      ]
      for (const send of sends) expect(comparable(await send(headers))).toEqual(comparable(await send({})))
      const { access_token } = await tokensFor()
      const told = jsonOf(await ask('/introspect', { token: access_token, ...web }, headers))
      expect(told).toEqual(jsonOf(await introspect(access_token)))
      expect(told.iss).toBe(target().issuer)
    })

    test('every URL is below the issuer, at the root of the host too (RFC 8414 §2 and §3.1)', async () => {
      const root = new RawBrowser(target().host.app)
      for (const name of ['openid-configuration', 'oauth-authorization-server']) {
        const { html } = await at(`/.well-known/${name}`)
        expect(JSON.parse(html).issuer).toBe(target().issuer)
        const addresses = everyValue(JSON.parse(html)).filter((value) => /^[a-z]+:\/\//.test(String(value)))
        expect(addresses.length).toBeGreaterThan(5)
        const others = addresses.filter((address) => !String(address).startsWith(`${target().issuer}/`))
        expect(others).toEqual([target().issuer])
        const headers = { Host: 'evil.example', 'X-Forwarded-Proto': 'https' }
        const found = await root.get(`/.well-known/${name}${target().base}`, headers)
        expect(found.html).toBe(html)
        for (const path of ['/evil', `${target().base}/evil`, `/..%2f${target().base}`])
          expect((await root.get(`/.well-known/${name}${path}`, headers)).html).not.toContain('"issuer"')
      }
    })
  })

  const closed = ['/introspect', '/authorize', '/login', '/consent', '/logout']
  test.each([
    ...[...documents, '/token', '/userinfo', '/revoke'].map((path) => [path, true] as const),
    ...closed.map((path) => [path, false] as const),
  ])(
    'other origins may read %s only without credentials or not at all: %s (CVE-2024-41657)',
    async (path, isOpen) => {
      const any = { 'access-control-allow-origin': '*' }
      const preflight = {
        'Access-Control-Request-Method': 'POST',
        'Access-Control-Request-Headers': 'authorization,x-evil',
        'Access-Control-Request-Private-Network': 'true',
      }
      for (const Origin of [evil, 'null', new URL(target().issuer).origin]) {
        const headers = { Origin, ...preflight }
        const asked = await target()
          .browser()
          .send('OPTIONS', target().base + path, { headers })
        expect({ status: asked.status, cors: corsOf(asked) }).toEqual({
          status: isOpen ? 204 : 405,
          cors: isOpen
            ? {
                ...any,
                'access-control-allow-methods': expect.stringMatching(/^(GET, HEAD|POST|GET, HEAD, POST)$/),
                'access-control-allow-headers': 'authorization, content-type, x-evil',
                'access-control-max-age': '600',
              }
            : {},
        })
        for (const answer of [await at(path, { Origin }), await ask(path, {}, { Origin })])
          expect(corsOf(answer)).toEqual(
            isOpen ? { ...any, 'access-control-expose-headers': 'WWW-Authenticate' } : {},
          )
      }
    },
  )

  test('no script of another origin may read what introspection says (CVE-2024-41657)', async () => {
    const { access_token } = await tokensFor()
    const told = await ask('/introspect', { token: access_token, ...web }, { Origin: evil })
    expect(jsonOf(told)).toMatchObject({ active: true })
    expect(corsOf(told)).toEqual({})
  })

  test.each(documents)(
    '%s may be cached and is the same for everybody; refusals are not cached',
    async (path) => {
      const [first, again] = [await at(path), await at(path)]
      expect(comparable(again)).toEqual(comparable(first))
      expect(first.headers['cache-control']).toMatch(/^public, max-age=[1-9][0-9]*$/)
      expect(first.headers['x-content-type-options']).toBe('nosniff')
      expect(ourCookies(first)).toEqual([])
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
        const send = () =>
          target()
            .browser()
            .send(method, target().base + path)
        const refused = await expectRefused(send, 'invalid_request', 405)
        expect(refused.headers.allow).toBe('GET, HEAD')
      }
      const head = await target()
        .browser()
        .send('HEAD', target().base + path)
      expect({ status: head.status, html: head.html }).toEqual({ status: 200, html: '' })
    },
  )

  test('is refused behind a proxy that reports http for an https issuer (RFC 9700 §4.13)', async () => {
    for (const path of documents) {
      const answer = await at(path, { 'X-Forwarded-Proto': 'http' })
      if (mount.isProxied) expectRefusal(answer, 'temporarily_unavailable')
      else expect(answer.status).toBe(200)
    }
  })
})

describe('the report about the server', () => {
  const secret = 'a secret of the tests that is long enough'
  const older = 'an older secret that is long enough too'
  const now = Math.floor(Date.now() / 1000)
  let host: Host
  beforeAll(async () => {
    host = await startHost({ options: { secrets: [secret, older] } })
  })
  afterAll(() => host.close())

  const report = (headers: Fields) => supertest(host.app).get('/oauth/doctor').set(headers)
  const signed = (by: string, time = now): string => `Operator ${createOperatorCode(by, time)}`

  test.each<[string, string?]>([
    ['nothing', undefined],
    ['another secret', signed('another secret that is as long as the first')],
    ['a code of six minutes ago', signed(secret, now - 360)],
    ['a code of a later time', signed(secret, now + 360)],
    ['a code for no time', 'Operator .'],
    ['the time of another code', signed(secret).replace(/\d+\./, `${now - 1}.`)],
    ['the scheme of access tokens', signed(secret).replace('Operator', 'Bearer')],
  ])('tells nothing to a request with %s', async (_, Authorization) => {
    const { status, body } = await report(Authorization === undefined ? {} : { Authorization })
    const error_description = 'there is nothing here'
    expect({ status, body }).toEqual({ status: 404, body: { error: 'invalid_request', error_description } })
  })

  test('is also the only answer to a form, which tells nothing to others', async () => {
    const send = (Authorization: string) =>
      supertest(host.app).post('/oauth/doctor').set({ Authorization }).type('form').send({ text: '&<>' })
    expect(await send(signed('another secret that is as long as the first'))).toMatchObject({ status: 404 })
    expect(await send(signed(secret))).toMatchObject({ status: 200, body: { received: '&<>' } })
  })

  test.each([secret, older])('contains no secret for the holder of %s', async (by) => {
    const { status, text } = await report({ Authorization: signed(by) })
    const keys = ['production', 'node', 'trustProxy', 'guardedScopes', 'ignoresSession', 'cookie']
    expect({ status, keys: Object.keys(JSON.parse(text)) }).toEqual({ status: 200, keys })
  })
})
