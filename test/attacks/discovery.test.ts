import {
  apiSide,
  changesNothing,
  comparable,
  expectRefusal,
  jsonOf,
  rivals,
  web,
} from '../support/api-side.ts'
import { type Answer, RawBrowser } from '../support/raw-browser.ts'
import { type Fields, underAttack } from '../support/target.ts'

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

/** A session cookie of the host's own is none of ours. */
const ourCookies = ({ setCookies }: Answer): string[] =>
  setCookies.filter((cookie) => !cookie.startsWith('host.sid='))

underAttack(
  'discovery',
  (target, { mount, describe, test, everyMount }) => {
    const { ask, introspect, own, tokensFor } = apiSide(target)
    const at = (path: string, headers?: Fields) => target().get(`${target().base}${path}`, headers)

    everyMount(() => {
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
          for (const send of sends)
            expect(comparable(await send(headers))).toEqual(comparable(await send({})))
          const { access_token } = await tokensFor()
          const told = jsonOf(await ask('/introspect', { token: access_token, ...web }, headers))
          expect(told).toEqual(jsonOf(await introspect(access_token)))
          expect(told.iss).toBe(target().issuer)
        })

        test('every URL is below the issuer, and none is that of this machine (RFC 8414 §2)', async () => {
          for (const path of documents.slice(0, 2)) {
            const metadata = jsonOf(await at(path))
            expect(metadata.issuer).toBe(target().issuer)
            const addresses = everyValue(metadata).filter((value) => /^[a-z]+:\/\//.test(String(value)))
            expect(addresses.length).toBeGreaterThan(5)
            const others = addresses.filter((address) => !String(address).startsWith(`${target().issuer}/`))
            expect(others).toEqual([target().issuer])
          }
        })

        test.each(['oauth-authorization-server', 'openid-configuration'])(
          'nor is %s at the root, which exists for this issuer alone (RFC 8414 §3.1)',
          async (name) => {
            const root = new RawBrowser(target().host.app)
            const base = `/.well-known/${name}`
            const headers = {
              Host: 'evil.example',
              'X-Forwarded-Host': 'evil.example',
              'X-Forwarded-Proto': 'https',
            }
            const found = await root.get(`${base}${target().base}`, headers)
            expect(found.html).toBe((await at(`/.well-known/${name}`)).html)
            for (const path of ['/evil', `${target().base}/evil`, `/..%2f${target().base}`])
              expect((await root.get(`${base}${path}`, headers)).html).not.toContain('"issuer"')
          },
        )
      })
    })

    describe('offers nothing that may not be used', () => {
      test('no algorithm without a key or with a shared one (RFC 8725 §3.1 and §3.2, GHSA-9h47-pqcx-hjr4)', async () => {
        const metadata = jsonOf(await at('/.well-known/openid-configuration'))
        const lists = Object.entries(metadata).filter(([name]) => /_alg(_values_supported|$)/.test(name))
        expect(lists.length).toBeGreaterThan(3)
        for (const [, values] of lists) {
          expect((values as string[]).filter((value) => symmetricOrNone.test(value))).toEqual([])
        }
      })

      test('no internals: tables, paths, versions, clients (RFC 8414 §6)', async () => {
        for (const path of documents) {
          const { html, headers } = await at(path)
          expect(html).not.toMatch(/oauth_|node_modules|127\.0\.0\.1|latchkey\/|"web"|"native"/)
          expect(headers.server).toBeUndefined()
        }
      })
    })

    describe('keys', () => {
      test('have no private member, no shared secret, no two of one name (RFC 7517 §9.3, CVE-2024-37568)', async () => {
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
        const { knex, tablePrefix } = target().host.database
        const rows = await knex(`${tablePrefix}signing_keys`)
        expect(rows.length).toBeGreaterThan(2)
        const { html } = await at('/jwks')
        for (const row of rows) {
          // A JWE: five parts, and nothing in them that can be read.
          expect(row.private_key).toMatch(/^[\w-]+\.[\w-]*\.[\w-]+\.[\w-]+\.[\w-]+$/)
          expect(html).not.toContain(row.private_key)
        }
      })

      test.each(['?kid=x', '?callback=alert', '?alg=none', '?__proto__=x', '?', '?%00', '?%ff'])(
        'are the same whatever is asked: %s',
        async (query) => {
          for (const path of documents) {
            expect(comparable(await at(`${path}${query}`))).toEqual(comparable(await at(path)))
          }
        },
      )
    })

    everyMount(() => {
      describe('scripts of other origins', () => {
        const open = [...documents, '/token', '/userinfo', '/revoke']
        const closed = ['/introspect', '/authorize', '/login', '/consent', '/logout']
        const asked = {
          'Access-Control-Request-Method': 'POST',
          'Access-Control-Request-Headers': 'authorization,x-evil',
          'Access-Control-Request-Private-Network': 'true',
        }
        const preflight = (path: string, Origin: string) =>
          target()
            .browser()
            .send('OPTIONS', `${target().base}${path}`, { headers: { Origin, ...asked } })

        test('may read what is public without credentials only, from any origin, and pages not at all (CVE-2024-41657)', async () => {
          for (const Origin of [evil, 'null']) {
            for (const path of open) {
              const asked = await preflight(path, Origin)
              expect({ status: asked.status, cors: corsOf(asked) }).toEqual({
                status: 204,
                cors: {
                  'access-control-allow-origin': '*',
                  'access-control-allow-methods': expect.stringMatching(/^(GET, HEAD|POST|GET, HEAD, POST)$/),
                  'access-control-allow-headers': 'Authorization, Content-Type',
                  'access-control-max-age': '600',
                },
              })
              for (const answer of [await at(path, { Origin }), await ask(path, {}, { Origin })])
                expect(corsOf(answer)).toEqual({
                  'access-control-allow-origin': '*',
                  'access-control-expose-headers': 'WWW-Authenticate',
                })
            }
            for (const path of closed)
              for (const answer of [
                await preflight(path, Origin),
                await at(path, { Origin }),
                await ask(path, {}, { Origin }),
              ])
                expect(corsOf(answer)).toEqual({})
          }
        })
      })

      test.each(documents)(
        '%s may be kept and is the same for everybody; refusals are not kept',
        async (path) => {
          const [first, again] = [await at(path), await at(path)]
          expect(comparable(again)).toEqual(comparable(first))
          expect(first.headers['cache-control']).toMatch(/^public, max-age=[1-9][0-9]*$/)
          expect(first.headers['x-content-type-options']).toBe('nosniff')
          expect(ourCookies(first)).toEqual([])
          for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
            const refused = await changesNothing(target(), () =>
              target().browser().send(method, `${target().base}${path}`),
            )
            expectRefusal(refused, 405, 'invalid_request')
            expect(refused.headers.allow).toBe('GET, HEAD')
          }
          const head = await target().browser().send('HEAD', `${target().base}${path}`)
          expect({ status: head.status, html: head.html }).toEqual({ status: 200, html: '' })
        },
      )
    })

    test('still stands when the database is away, and nothing else does (RFC 6819 §4.4.1.11)', async () => {
      const { knex, tablePrefix } = target().host.database
      const before = await Promise.all(documents.map((path) => at(path)))
      await knex.schema.renameTable(`${tablePrefix}clients`, `${tablePrefix}away`)
      const after = await Promise.all(documents.map((path) => at(path)))
      const refused = await own()
      await knex.schema.renameTable(`${tablePrefix}away`, `${tablePrefix}clients`)
      expect(after.map(comparable)).toEqual(before.map(comparable))
      expectRefusal(refused, 503, 'temporarily_unavailable')
    })

    everyMount(() => {
      test('a proxy that reports http for an https issuer gets no mixed answer (RFC 9700 §4.13)', async () => {
        const isHttps = target().issuer.startsWith('https:')
        for (const path of documents) {
          const answer = await at(path, { 'X-Forwarded-Proto': 'http' })
          if (isHttps) expectRefusal(answer, 503, 'temporarily_unavailable')
          else expect(answer.status).toBe(200)
        }
        expect(isHttps).toBe(mount.startsWith('behind a proxy'))
      })
    })
  },
  () => ({ clients: rivals }),
)
