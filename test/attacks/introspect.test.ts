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
    const { ask, browserOf, codeFor, introspect, nativeTokens, own, redeem, refresh, tokensFor } =
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
      ])('%s', async (_, asker, [status, error]) => {
        for (const tokens of [await tokensFor(), await nativeTokens()]) {
          for (const value of [tokens.access_token, tokens.refresh_token, unknown]) {
            const answer = await changesNothing(target(), () => introspect(value, asker))
            expectRefusal(answer, status, error)
            expect(comparable(answer)).toEqual(comparable(await introspect(unknown, asker)))
          }
        }
      })

      test('a bearer of the token itself, and a signed-in user', async () => {
        const { access_token: token } = await tokensFor()
        const headers = { Authorization: `Bearer ${token}` }
        expectRefusal(await ask('/introspect', { token }, headers), 401, 'invalid_client')
        expectRefusal(
          await browserOf().post(`${target().base}/introspect`, { token }),
          400,
          'invalid_request',
        )
      })
    })

    describe('looks the same as for an unknown token (RFC 7662 §2.2 and §4)', () => {
      test('of every token of another client, with whatever hint (RFC 7662 §2.1)', async () => {
        const [tokens, public_] = [await tokensFor(), await nativeTokens()]
        const { access_token } = tokensOf(await own())
        const hints = ['access_token', 'refresh_token', 'pop'].map(
          (token_type_hint): Asked => ({ token_type_hint }),
        )
        for (const more of [{}, ...hints, { owner: 'web', azp: 'web', audience: 'web' }])
          for (const value of [tokens.access_token, tokens.refresh_token, access_token])
            await expectInactive(value, { ...other, ...more })
        for (const value of [public_.access_token, public_.refresh_token]) {
          await expectInactive(value)
          await expectInactive(value, other)
        }
        await expectActive(tokens.access_token)
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
    })

    describe('never calls alive what is dead (RFC 7662 §4, CVE-2026-8922)', () => {
      test('a refresh token that was used up, within the window too (RFC 9700 §4.14.2)', async () => {
        stopClock()
        const { refresh_token } = await tokensFor()
        const next = tokensOf(await refresh(refresh_token))
        await expectInactive(refresh_token)
        await expectActive(next.refresh_token)
      })
    })

    test('returns only members of RFC 7662 §2.2, and no token_type for a refresh token', async () => {
      const tokens = await tokensFor({ scope: 'openid email notes:read' })
      const told = jsonOf(await introspect(tokens.access_token))
      const names = [...'active auth_time client_id exp iat iss scope sub token_type username'.split(' ')]
      expect(Object.keys(told).sort()).toEqual(names)
      expect(told.iss).toBe(target().issuer)
      const ofRefresh = jsonOf(await introspect(tokens.refresh_token))
      expect(ofRefresh).not.toHaveProperty('token_type')
      expect(Object.keys(ofRefresh).filter((name) => !names.includes(name))).toEqual([])
    })

    everyMount(() => {
      test('refuses a token that is missing, too long or in the address, other methods and other bodies (RFC 7662 §2.1)', async () => {
        const path = `/introspect?${new URLSearchParams({ token: unknown, ...web })}`
        const refusals: [number, () => Promise<Answer>][] = [
          [400, () => ask('/introspect', web)],
          [400, () => introspect('')],
          [400, () => introspect('a'.repeat(8193))],
          [400, () => introspect(`${unknown}\0`)],
          [400, () => ask(`/introspect?token=${unknown}`, web)],
          [400, () => ask(path, {})],
          [405, () => target().get(target().base + path)],
          [
            415,
            () =>
              ask('/introspect', JSON.stringify({ token: unknown, ...web }), {
                'Content-Type': 'application/json',
              }),
          ],
        ]
        for (const [status, send] of refusals)
          expectRefusal(await changesNothing(target(), send), status, 'invalid_request')
      })
    })

    test('is for servers: no script of another origin may read it (CVE-2024-41657)', async () => {
      const { access_token } = await tokensFor()
      for (const Origin of ['https://evil.example', 'null', new URL(target().issuer).origin]) {
        const asked = {
          'Access-Control-Request-Method': 'POST',
          'Access-Control-Request-Headers': 'authorization',
        }
        const preflight = await target()
          .browser()
          .send('OPTIONS', `${target().base}/introspect`, { headers: { Origin, ...asked } })
        expect(preflight.status).toBe(405)
        const told = await ask('/introspect', { token: access_token, ...web }, { Origin })
        expect(jsonOf(told)).toMatchObject({ active: true })
        for (const { headers } of [preflight, told]) {
          expect(Object.keys(headers).filter((name) => name.startsWith('access-control-'))).toEqual([])
        }
      }
    })

    test('is stored by no cache (RFC 7662 §4)', async () => {
      const { access_token } = await tokensFor()
      for (const value of [access_token, unknown]) {
        const { headers } = await introspect(value)
        expect(headers['cache-control']).toBe('no-store')
        expect(headers).not.toHaveProperty('etag')
      }
    })
  },
  () => ({ clients: rivals }),
)
