import { hashSecret } from '../../lib/keys/secrets.ts'
import {
  type Asked,
  alive,
  apiSide,
  changesNothing,
  comparable,
  dead,
  expectRefusal,
  mobile,
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

const unknown = `lk_rt_${'A'.repeat(43)}`

underAttack(
  'revocation',
  (target, { describe, test, everyMount }) => {
    const side = apiSide(target)
    const { ask, browserOf, codeFor, nativeTokens, own, redeem, refresh, revoke } = side
    const { standing, tokensFor, userinfo } = side

    const expectDone = async (answer: Answer): Promise<void> => {
      expect({ status: answer.status, html: answer.html }).toEqual({ status: 200, html: '{}' })
      expect(answer.headers).toMatchObject({
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
      })
    }
    /** RFC 7009 §2.2: the same bytes as for a token that never was, and nothing is written. */
    const expectNothing = async (value: string, thief: Asked = {}): Promise<void> => {
      const answer = await changesNothing(target(), () => revoke(value, thief))
      await expectDone(answer)
      expect(comparable(answer)).toEqual(comparable(await revoke(unknown, thief)))
    }

    describe('of what belongs to another leaves it alive, and does not tell that it is (RFC 7009 §2.1, RFC 6819 §5.2.2.2)', () => {
      test.each<[string, Asked]>([
        ['a confidential client', other],
        ['a public client', native],
      ])('asked by %s', async (_, thief) => {
        const tokens = await tokensFor()
        for (const value of [tokens.access_token, tokens.refresh_token])
          for (const token_type_hint of [undefined, 'access_token', 'refresh_token', 'x'])
            await expectNothing(value, { ...thief, token_type_hint })
        expect(await standing(tokens)).toEqual(alive)
      })

      test('of a public client, asked by others', async () => {
        const tokens = await nativeTokens()
        for (const value of [tokens.access_token, tokens.refresh_token])
          for (const thief of [web, mobile]) await expectNothing(value, thief)
        expect(await standing(tokens, native)).toEqual(alive)
      })

      test('of a client for itself, asked by another', async () => {
        const { access_token } = tokensOf(await own())
        await expectNothing(access_token, other)
        expect((await userinfo(access_token)).status).toBe(403)
      })
    })

    describe('by a client that is not authenticated changes nothing (RFC 7009 §2.1, ASVS 10.4.10)', () => {
      test('its owner without the secret, and no client', async () => {
        const tokens = await tokensFor()
        for (const value of [tokens.access_token, tokens.refresh_token]) {
          for (const client_secret of [undefined, '', otherSecret])
            expectRefusal(
              await changesNothing(target(), () => revoke(value, { client_secret })),
              401,
              'invalid_client',
            )
          const nobody = { client_id: undefined, client_secret: undefined }
          expectRefusal(await changesNothing(target(), () => revoke(value, nobody)), 400, 'invalid_request')
        }
        expect(await standing(tokens)).toEqual(alive)
      })

      test('a bearer of the token, and a signed-in user whom another site sends here (RFC 6819 §4.4.1.8)', async () => {
        const tokens = await tokensFor()
        const headers = { Authorization: `Bearer ${tokens.access_token}` }
        expectRefusal(await ask('/revoke', { token: tokens.refresh_token }, headers), 401, 'invalid_client')
        const cross = { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' }
        const form = { token: tokens.refresh_token }
        expectRefusal(await browserOf().post(`${target().base}/revoke`, form, cross), 400, 'invalid_request')
        expect(await standing(tokens)).toEqual(alive)
      })
    })

    test('of a code, an ID token, a hash, a pattern or a changed token ends nothing (RFC 7009 §2.2, CVE-2026-27840)', async () => {
      const [tokens, code] = [await tokensFor(), await codeFor()]
      const own = [tokens.access_token, tokens.refresh_token]
      const hashes = own.map(hashSecret)
      const prefixed = hashes.flatMap((hash) => [`lk_at_${hash}`, `lk_rt_${hash}`])
      const changed = own.flatMap((value) => [
        ...[value.slice(0, -1), `${value}A`, value.toUpperCase(), `${value} `],
        value.replace(/lk_(.)t_/, (_, kind) => `lk_${kind === 'a' ? 'r' : 'a'}t_`),
      ])
      const patterns = ['%', 'lk_rt_%', "' OR '1'='1", '__proto__', 'lk_rt_', ' ']
      for (const value of [code, tokens.id_token, secret, ...hashes, ...prefixed, ...changed, ...patterns])
        await expectNothing(value)
      expect(await standing(tokens)).toEqual(alive)
      expect((await redeem(code)).status).toBe(200)
    })

    describe('holds', () => {
      test('of the refresh token: everything of the family, nothing beside it (RFC 7009 §2.1)', async () => {
        const [first, bystander] = [await tokensFor(), await tokensFor()]
        const second = tokensOf(await refresh(first.refresh_token))
        await expectDone(await revoke(second.refresh_token))
        expect(await standing(second)).toEqual(dead)
        expect((await userinfo(first.access_token)).status).toBe(401)
        expect(await standing(bystander)).toEqual(alive)
      })

      test('by a refresh token that a thief has used up (RFC 9700 §4.14.2)', async () => {
        const clock = stopClock()
        const first = await tokensFor()
        const stolen = tokensOf(await refresh(first.refresh_token))
        clock.travel(60)
        await expectDone(await revoke(first.refresh_token))
        expect(await standing(stolen)).toEqual(dead)
      })

      test('with the wrong hint, and of a public client that says no more than its name (RFC 7009 §2.1)', async () => {
        const [tokens, public_] = [await tokensFor(), await nativeTokens()]
        await expectDone(await revoke(tokens.refresh_token, { token_type_hint: 'access_token' }))
        expect(await standing(tokens)).toEqual(dead)
        await expectDone(await revoke(public_.refresh_token, native))
        expect(await standing(public_, native)).toEqual(dead)
      })

      test('against the window in which a lost answer is repeated (RFC 9700 §4.14.2)', async () => {
        stopClock()
        const first = await tokensFor()
        const second = tokensOf(await refresh(first.refresh_token))
        await expectDone(await revoke(second.refresh_token))
        for (const value of [first.refresh_token, second.refresh_token])
          expectRefusal(await refresh(value), 400, 'invalid_grant')
      })

      test('against refreshes at the same moment, in any order (CVE-2026-53517)', async () => {
        const tokens = await tokensFor()
        const [done, ...answers] = await Promise.all([
          revoke(tokens.refresh_token),
          ...Array.from({ length: 6 }, () => refresh(tokens.refresh_token)),
        ])
        await expectDone(done)
        for (const answer of answers.filter(({ status }) => status === 200)) {
          expect(await standing(tokensOf(answer))).toEqual(dead)
        }
        expect(await standing(tokens)).toEqual(dead)
      })

      test('of an access token: that one alone', async () => {
        const tokens = await tokensFor()
        await expectDone(await revoke(tokens.access_token))
        expect(await standing(tokens)).toEqual({ access: 401, refresh: 200 })
      })
    })

    test('is never said to be done while the database fails (RFC 7009 §2.2.1, CVE-2020-15223)', async () => {
      const { knex, tablePrefix } = target().host.database
      for (const [name, kind] of [
        ['access_tokens', 'access_token'],
        ['refresh_tokens', 'refresh_token'],
      ] as const) {
        const tokens = await tokensFor()
        await knex.schema.renameTable(`${tablePrefix}${name}`, `${tablePrefix}away`)
        const answer = await revoke(tokens[kind])
        await knex.schema.renameTable(`${tablePrefix}away`, `${tablePrefix}${name}`)
        expectRefusal(answer, 503, 'temporarily_unavailable')
        expect(answer.headers['retry-after']).toBe('1')
        expect(await standing(tokens)).toEqual(alive)
      }
    })

    everyMount(() => {
      test('refuses other methods and bodies, a token in the address, and one that is too long, and the token lives (RFC 7009 §2)', async () => {
        const tokens = await tokensFor()
        const token = tokens.refresh_token
        const path = `/revoke?${new URLSearchParams({ token, ...web })}`
        const refusals: [number, () => Promise<Answer>][] = [
          [405, () => target().get(target().base + path)],
          [405, () => target().get(`${target().base}/revoke?callback=x&token=${token}`)],
          [400, () => ask(path, {})],
          [400, () => ask(`/revoke?token=${token}`, web)],
          [
            415,
            () => ask('/revoke', JSON.stringify({ token, ...web }), { 'Content-Type': 'application/json' }),
          ],
          [400, () => revoke(`${token}\0`)],
          [400, () => revoke(token.padEnd(8193, 'A'))],
        ]
        for (const [status, send] of refusals)
          expectRefusal(await changesNothing(target(), send), status, 'invalid_request')
        expect(await standing(tokens)).toEqual(alive)
      })
    })
  },
  () => ({ clients: rivals }),
)
