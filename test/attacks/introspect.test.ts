import { hashSecret } from '../../lib/keys/secrets.ts'
import {
  type Asked,
  apiSide,
  changesNothing,
  comparable,
  expectRefusal,
  jsonOf,
  native,
  other,
  otherSecret,
  rivals,
  tokensOf,
  web,
} from '../support/api-side.ts'
import { stopClock } from '../support/clock.ts'
import { secret } from '../support/host.ts'
import type { Answer } from '../support/raw-browser.ts'
import { underAttack } from '../support/target.ts'

afterEach(() => jest.restoreAllMocks())

const unknown = `lk_at_${'A'.repeat(43)}`
const noCredentials = { client_id: undefined, client_secret: undefined }

underAttack(
  'introspection',
  (target, { describe, test, everyMount }) => {
    const { ask, browserOf, codeFor, introspect, nativeTokens, own, redeem, refresh, revoke, tokensFor } =
      apiSide(target)

    /** RFC 7662 §2.2: not a byte more than for a token that never was, in body or header; and asking changes nothing. */
    const expectInactive = async (value: string, asker: Asked = {}): Promise<void> => {
      const answer = await changesNothing(target(), () => introspect(value, asker))
      expect({ status: answer.status, html: answer.html }).toEqual({ status: 200, html: '{"active":false}' })
      expect(comparable(answer)).toEqual(comparable(await introspect(unknown, asker)))
    }
    const expectActive = async (value: string, asker: Asked = {}): Promise<void> => {
      expect(jsonOf(await introspect(value, asker))).toMatchObject({ active: true })
    }

    describe('by a client that may not ask shows nothing (RFC 7662 §2.1 and §4, ASVS 10.4.10)', () => {
      test.each<[string, Asked, readonly [number, string]]>([
        ['a public client', native, [401, 'invalid_client']],
        ['no client', noCredentials, [400, 'invalid_request']],
        ['a client without its secret', { client_secret: undefined }, [401, 'invalid_client']],
        ['a client with another secret', { client_secret: otherSecret }, [401, 'invalid_client']],
        ['a client that does not exist', { client_id: 'nobody' }, [401, 'invalid_client']],
      ])('%s', async (_, asker, [status, error]) => {
        const tokens = await tokensFor()
        for (const value of [tokens.access_token, tokens.refresh_token, unknown]) {
          const answer = await changesNothing(target(), () => introspect(value, asker))
          expectRefusal(answer, status, error)
          expect(comparable(answer)).toEqual(comparable(await introspect(unknown, asker)))
        }
      })

      test('a public client about its own token', async () => {
        const tokens = await nativeTokens()
        for (const value of [tokens.access_token, tokens.refresh_token]) {
          expectRefusal(await introspect(value, native), 401, 'invalid_client')
        }
      })

      test('a bearer of the token itself, or of another one', async () => {
        const [one, two] = [await tokensFor(), await tokensFor()]
        for (const bearer of [one, two]) {
          const headers = { Authorization: `Bearer ${bearer.access_token}` }
          expectRefusal(await ask('/introspect', { token: one.access_token }, headers), 401, 'invalid_client')
        }
      })

      test('a signed-in user', async () => {
        const { access_token } = await tokensFor()
        const answer = await browserOf().post(`${target().base}/introspect`, { token: access_token })
        expectRefusal(answer, 400, 'invalid_request')
      })
    })

    describe('looks the same as for an unknown token (RFC 7662 §2.2 and §4)', () => {
      test('of every token of another client', async () => {
        const [tokens, public_, { access_token }] = [
          await tokensFor(),
          await nativeTokens(),
          tokensOf(await own()),
        ]
        for (const value of [tokens.access_token, tokens.refresh_token, access_token])
          await expectInactive(value, other)
        for (const value of [public_.access_token, public_.refresh_token]) {
          await expectInactive(value)
          await expectInactive(value, other)
        }
        await expectActive(tokens.access_token)
      })

      test.each<[string, Asked]>([
        ['a hint at an access token', { token_type_hint: 'access_token' }],
        ['a hint at a refresh token', { token_type_hint: 'refresh_token' }],
        ['a hint at nothing there is', { token_type_hint: 'pop' }],
        ['the name of its owner', { owner: 'web', azp: 'web', audience: 'web' }],
      ])('of another client’s token with %s (RFC 7662 §2.1)', async (_, more) => {
        const tokens = await tokensFor()
        for (const value of [tokens.access_token, tokens.refresh_token])
          await expectInactive(value, { ...other, ...more })
      })

      test('of a code, an ID token, a secret, a hash (RFC 8725 §3.12)', async () => {
        const [tokens, code] = [await tokensFor(), await codeFor()]
        const hashes = [tokens.access_token, tokens.refresh_token].map(hashSecret)
        const prefixed = hashes.flatMap((hash) => [`lk_at_${hash}`, `lk_rt_${hash}`])
        for (const value of [code, tokens.id_token, secret, ...hashes, ...prefixed, 'web', '__proto__']) {
          await expectInactive(value)
        }
        expect((await redeem(code)).status).toBe(200)
      })

      test.each<[string, (value: string) => string]>([
        ['cut by one character (CVE-2026-27840)', (value) => value.slice(0, -1)],
        ['one character longer', (value) => `${value}A`],
        ['in capitals', (value) => value.toUpperCase()],
        [
          'of the other kind',
          (value) => value.replace(/lk_(.)t_/, (_, kind) => `lk_${kind === 'a' ? 'r' : 'a'}t_`),
        ],
        ['with a space behind', (value) => `${value} `],
      ])('of its own token %s', async (_, change) => {
        const tokens = await tokensFor()
        for (const value of [tokens.access_token, tokens.refresh_token]) {
          await expectInactive(change(value))
          await expectActive(value)
        }
      })
    })

    describe('never calls alive what is dead (RFC 7662 §4, CVE-2026-8922)', () => {
      test('expired, to the second', async () => {
        const clock = stopClock()
        const { access_token } = await tokensFor()
        clock.travel(3599)
        await expectActive(access_token)
        clock.travel(1)
        await expectInactive(access_token)
      })

      test('revoked, alone and with its family (RFC 7009 §2.1)', async () => {
        const [one, two] = [await tokensFor(), await tokensFor()]
        await revoke(one.access_token)
        await expectInactive(one.access_token)
        await expectActive(one.refresh_token)
        await revoke(two.refresh_token)
        for (const value of [two.access_token, two.refresh_token]) await expectInactive(value)
      })

      test('a refresh token that was used up, within the window too (RFC 9700 §4.14.2)', async () => {
        stopClock()
        const { refresh_token } = await tokensFor()
        const next = tokensOf(await refresh(refresh_token))
        await expectInactive(refresh_token)
        await expectActive(next.refresh_token)
      })

      test('a family whose code was used twice (ASVS 10.4.2)', async () => {
        const code = await codeFor()
        const tokens = tokensOf(await redeem(code))
        await redeem(code)
        for (const value of [tokens.access_token, tokens.refresh_token]) await expectInactive(value)
      })
    })

    test('returns only members of RFC 7662 §2.2, and no token_type for a refresh token', async () => {
      const tokens = await tokensFor({ scope: 'openid email notes:read' })
      const told = jsonOf(await introspect(tokens.access_token))
      const names = ['active', 'client_id', 'exp', 'iat', 'iss', 'scope', 'sub', 'token_type', 'username']
      expect(Object.keys(told).sort()).toEqual(names)
      expect(told.iss).toBe(target().issuer)
      const ofRefresh = jsonOf(await introspect(tokens.refresh_token))
      expect(ofRefresh).not.toHaveProperty('token_type')
      expect(Object.keys(ofRefresh).filter((name) => !names.includes(name))).toEqual([])
    })

    everyMount(() => {
      test.each<[string, () => Promise<Answer>, number]>([
        ['no token', () => ask('/introspect', web), 400],
        ['an empty token', () => introspect(''), 400],
        ['a token of 8,193 characters', () => introspect('a'.repeat(8193)), 400],
        ['a NUL in the token, at which PostgreSQL throws', () => introspect(`${unknown}\0`), 400],
        ['the token in the address', () => ask(`/introspect?token=${unknown}`, web), 400],
        [
          'everything in the address',
          () => ask(`/introspect?token=${unknown}&client_id=web&client_secret=${secret}`, {}),
          400,
        ],
        [
          'GET',
          () =>
            target().get(
              `${target().base}/introspect?token=${unknown}&client_id=web&client_secret=${secret}`,
            ),
          405,
        ],
        [
          'JSON',
          () =>
            ask('/introspect', JSON.stringify({ token: unknown, ...web }), {
              'Content-Type': 'application/json',
            }),
          415,
        ],
      ])('refuses %s (RFC 7662 §2.1)', async (_, send, status) => {
        expectRefusal(await changesNothing(target(), send), status, 'invalid_request')
      })
    })

    test('is for servers: no script of another origin may read it (CVE-2024-41657)', async () => {
      const { access_token } = await tokensFor()
      for (const Origin of ['https://evil.example', 'null', new URL(target().issuer).origin]) {
        const preflight = await target()
          .browser()
          .send('OPTIONS', `${target().base}/introspect`, {
            headers: {
              Origin,
              'Access-Control-Request-Method': 'POST',
              'Access-Control-Request-Headers': 'authorization',
            },
          })
        expect(preflight.status).toBe(405)
        const told = await ask('/introspect', { token: access_token, ...web }, { Origin })
        expect(jsonOf(told)).toMatchObject({ active: true })
        for (const { headers } of [preflight, told]) {
          expect(Object.keys(headers).filter((name) => name.startsWith('access-control-'))).toEqual([])
        }
      }
    })

    everyMount(() => {
      test('is stored by no cache (RFC 7662 §4)', async () => {
        const { access_token } = await tokensFor()
        for (const value of [access_token, unknown]) {
          const { headers } = await introspect(value)
          expect(headers['cache-control']).toBe('no-store')
          expect(headers).not.toHaveProperty('etag')
        }
      })
    })
  },
  () => ({ clients: rivals }),
)
