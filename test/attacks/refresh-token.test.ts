import { hashSecret } from '../../lib/keys/secrets.ts'
import {
  type Asked,
  alive,
  apiSide,
  changesNothing,
  dead,
  expectRefusal,
  jsonOf,
  mobile,
  native,
  other,
  otherSecret,
  rivals,
  tokensOf,
  web,
} from '../support/api-side.ts'
import { stopClock } from '../support/clock.ts'
import { callback, secret } from '../support/host.ts'
import { underAttack } from '../support/target.ts'

afterEach(() => jest.restoreAllMocks())

const confidential = { client_secret: secret, redirect_uris: [callback] }
const named = (client_id: string): Asked => ({ client_id, client_secret: secret })

underAttack(
  'a stolen refresh token',
  (target, { describe, test, everyMount }) => {
    const side = apiSide(target)
    const { browserOf, codeFor, guarded, introspect, nativeTokens, redeem, refresh } = side
    const { standing, table, token, tokensFor, userinfo } = side

    describe('presented by another client is refused and writes nothing, and its owner can still use it', () => {
      test.each<[string, Asked, (readonly [number, string])?]>([
        ['another confidential client (RFC 6749 §6 and §10.4, CVE-2026-55672)', other],
        ['a public client that gives its own name (RFC 6819 §5.2.2.2)', native],
        [
          'without the secret (CVE-2026-53512, ASVS 10.4.10)',
          { client_secret: undefined },
          [401, 'invalid_client'],
        ],
        ['an empty secret (CVE-2026-53512, CVE-2026-44476)', { client_secret: '' }, [401, 'invalid_client']],
        [
          'the secret of another client (RFC 6819 §4.1.2)',
          { client_secret: otherSecret },
          [401, 'invalid_client'],
        ],
        ['nobody', { client_id: undefined, client_secret: undefined }, [400, 'invalid_request']],
        ['a client that may not refresh (ASVS 10.4.4)', named('retired'), [400, 'unauthorized_client']],
      ])('%s', async (_, thief, [status, error] = [400, 'invalid_grant']) => {
        const { refresh_token } = await tokensFor()
        const refused = await changesNothing(target(), () => refresh(refresh_token, thief))
        expectRefusal(refused, status, error)
        expect((await refresh(refresh_token)).status).toBe(200)
      })

      test('of a public client: by others, and with a secret (RFC 6819 §5.2.2.2, RFC 6749 §2.3)', async () => {
        const { refresh_token } = await nativeTokens()
        for (const thief of [mobile, web])
          expectRefusal(
            await changesNothing(target(), () => refresh(refresh_token, thief)),
            400,
            'invalid_grant',
          )
        const withSecret = { ...native, client_secret: secret }
        expectRefusal(
          await changesNothing(target(), () => refresh(refresh_token, withSecret)),
          401,
          'invalid_client',
        )
        expect((await refresh(refresh_token, native)).status).toBe(200)
      })

      test('with the owner in the body and the thief in the header (RFC 6749 §2.3)', async () => {
        const { refresh_token } = await tokensFor()
        const basic = `Basic ${Buffer.from(`other:${otherSecret}`).toString('base64')}`
        const form = { grant_type: 'refresh_token', refresh_token, client_id: 'web' }
        const refused = await changesNothing(target(), () => token(form, { Authorization: basic }))
        expectRefusal(refused, 400, 'invalid_request')
        expect((await refresh(refresh_token)).status).toBe(200)
      })
    })

    describe('is not accepted if it was issued for another purpose (RFC 8725 §3.12, ASVS 9.2.2)', () => {
      test('an access token, a code, a secret, the value of a cookie', async () => {
        const [tokens, code] = [await tokensFor(), await codeFor()]
        const cookies = [...browserOf().cookies.values()]
        expect(cookies.length).toBeGreaterThan(0)
        for (const value of [tokens.access_token, code, secret, ...cookies]) {
          const refused = await changesNothing(target(), () => refresh(value.slice(0, 128)))
          expectRefusal(refused, 400, 'invalid_grant')
        }
        expectRefusal(await refresh(tokens.id_token), 400, 'invalid_request')
        expect(await standing(tokens)).toEqual(alive)
        expect((await redeem(code)).status).toBe(200)
      })

      test('nor does any other grant take it', async () => {
        const { refresh_token } = await tokensFor()
        expectRefusal(await redeem(refresh_token), 400, 'invalid_grant')
        for (const grant_type of ['urn:ietf:params:oauth:grant-type:jwt-bearer', 'password']) {
          const form = { grant_type, assertion: refresh_token, refresh_token, ...web }
          expectRefusal(await token(form), 400, 'unsupported_grant_type')
        }
        expect((await refresh(refresh_token)).status).toBe(200)
      })

      test('what the database holds of it (RFC 6819 §4.5.2)', async () => {
        const { refresh_token } = await tokensFor()
        const { refresh_token: successor } = tokensOf(await refresh(refresh_token))
        const row = await table('refresh_tokens')
          .where({ hash: hashSecret(refresh_token) })
          .first()
        expect(JSON.stringify(row)).not.toContain(successor.slice(6))
        for (const value of [row.hash, `lk_rt_${row.hash}`, row.successor, row.authorization_id]) {
          const refused = await changesNothing(target(), () => refresh(String(value).slice(0, 128)))
          expectRefusal(refused, 400, 'invalid_grant')
        }
        expect((await refresh(successor)).status).toBe(200)
      })

      test('nor itself when it is changed (CVE-2026-27840)', async () => {
        const { refresh_token: value } = await tokensFor()
        const changed = [
          value.slice(0, -1),
          `${value}A`,
          value.toUpperCase(),
          `${value} `,
          value.replace('lk_rt_', ''),
        ]
        for (const other of changed)
          expectRefusal(await changesNothing(target(), () => refresh(other)), 400, 'invalid_grant')
        expectRefusal(await changesNothing(target(), () => refresh(`${value}\0`)), 400, 'invalid_request')
        expect((await refresh(value)).status).toBe(200)
      })
    })

    describe('cannot grow (RFC 6749 §6, RFC 9700 §2.3)', () => {
      const granted = 'openid email'

      test('beyond what the user allowed and the client is registered for: refused, and not used up', async () => {
        const { refresh_token } = await tokensFor({ scope: granted })
        for (const scope of ['openid email notes:read', 'openid address', 'openid root', 'openid "email'])
          expectRefusal(
            await changesNothing(target(), () => refresh(refresh_token, { scope })),
            400,
            'invalid_scope',
          )
        expect(jsonOf(await refresh(refresh_token))).toMatchObject({ scope: granted })
      })

      test('to an ID token, where the user never signed in to the client', async () => {
        const tokens = await tokensFor({ scope: 'notes:read' })
        expect(tokens).not.toHaveProperty('id_token')
        expectRefusal(await refresh(tokens.refresh_token, { scope: 'openid' }), 400, 'invalid_scope')
        const next = tokensOf(await refresh(tokens.refresh_token))
        expect(next).not.toHaveProperty('id_token')
        expectRefusal(await userinfo(next.access_token), 403, 'insufficient_scope')
      })

      test('after it was narrowed: all of the grant is there again, and no more', async () => {
        const first = await tokensFor({ scope: 'openid email notes:read' })
        const second = tokensOf(await refresh(first.refresh_token, { scope: 'email' }))
        expect(second.scope).toBe('email')
        expectRefusal(await guarded(second.access_token), 403, 'insufficient_scope')
        const wider = { scope: 'openid notes:write' }
        expectRefusal(
          await changesNothing(target(), () => refresh(second.refresh_token, wider)),
          400,
          'invalid_scope',
        )
        const third = tokensOf(await refresh(second.refresh_token))
        expect(third.scope).toBe('openid email notes:read')
        expect((await guarded(third.access_token)).status).toBe(200)
      })

      test('by a scope of two thousand words, which is answered like any other (CVE-2026-4634)', async () => {
        const { refresh_token } = await tokensFor({ scope: granted })
        const words = (count: number): string => Array.from({ length: count }, () => 'a').join(' ')
        const refused = await changesNothing(target(), () => refresh(refresh_token, { scope: words(1024) }))
        expectRefusal(refused, 400, 'invalid_scope')
        expectRefusal(await refresh(refresh_token, { scope: words(2000) }), 400, 'invalid_request')
        const repeated = Array.from({ length: 340 }, () => 'email').join(' ')
        expect(jsonOf(await refresh(refresh_token, { scope: repeated }))).toMatchObject({ scope: 'email' })
      })
    })

    describe('used again', () => {
      test('after the window ends the family (RFC 9700 §4.14.2, ASVS 10.4.5)', async () => {
        const clock = stopClock()
        const [first, bystander] = [await tokensFor(), await tokensFor()]
        const second = tokensOf(await refresh(first.refresh_token))
        clock.travel(10)
        expectRefusal(await refresh(first.refresh_token), 400, 'invalid_grant')
        expect(await standing(second)).toEqual(dead)
        expect((await userinfo(first.access_token)).status).toBe(401)
        expect(await standing(bystander)).toEqual(alive)
      })

      test('within the window gives the very same successor, so a thief gains no branch (RFC 9700 §4.14.2)', async () => {
        stopClock()
        const first = await tokensFor()
        const stolen = tokensOf(await refresh(first.refresh_token))
        const owned = tokensOf(await refresh(first.refresh_token))
        expect(owned.refresh_token).toBe(stolen.refresh_token)
      })

      test('when a later one is in use ends the family, within the window too (RFC 6819 §5.2.2.3)', async () => {
        stopClock()
        const first = await tokensFor()
        const second = tokensOf(await refresh(first.refresh_token))
        const third = tokensOf(await refresh(second.refresh_token))
        const fourth = tokensOf(await refresh(third.refresh_token))
        expectRefusal(await refresh(first.refresh_token), 400, 'invalid_grant')
        expect(await standing(fourth)).toEqual(dead)
      })

      test('by another client, or without the secret, ends nothing (RFC 9700 §4.14.2)', async () => {
        const clock = stopClock()
        const first = await tokensFor()
        const second = tokensOf(await refresh(first.refresh_token))
        clock.travel(60)
        for (const thief of [other, native, mobile]) {
          const refused = await changesNothing(target(), () => refresh(first.refresh_token, thief))
          expectRefusal(refused, 400, 'invalid_grant')
        }
        expectRefusal(await refresh(first.refresh_token, { client_secret: 'x' }), 401, 'invalid_client')
        expect(await standing(second)).toEqual(alive)
      })
    })

    describe('is refused', () => {
      test('after its idle time, and a late try does not wake it (RFC 9700 §4.14.2)', async () => {
        const clock = stopClock()
        const { refresh_token } = await tokensFor(
          { client_id: 'idle', scope: 'openid offline_access' },
          named('idle'),
        )
        clock.travel(100)
        expectRefusal(await refresh(refresh_token, named('idle')), 400, 'invalid_grant')
        expect(jsonOf(await introspect(refresh_token, named('idle')))).toEqual({ active: false })
        clock.travel(-1)
        expect((await refresh(refresh_token, named('idle'))).status).toBe(200)
      })

      test('at the end of its family, however often it was renewed (ASVS 10.4.8)', async () => {
        const clock = stopClock()
        let tokens = await tokensFor(
          { client_id: 'absolute', scope: 'openid offline_access' },
          named('absolute'),
        )
        for (let use = 0; use < 9; use += 1) {
          clock.travel(11)
          tokens = tokensOf(await refresh(tokens.refresh_token, named('absolute')))
        }
        expect(tokens.expires_in).toBe(1)
        clock.travel(1)
        expect(await standing(tokens, named('absolute'))).toEqual(dead)
      })
    })

    everyMount(() => {
      test('in the address instead of the body is not looked at (RFC 6819 §4.6.7)', async () => {
        const { refresh_token } = await tokensFor()
        const query = new URLSearchParams({ grant_type: 'refresh_token', refresh_token, ...web })
        const path = `${target().base}/token?${query}`
        expectRefusal(await changesNothing(target(), () => target().post(path, {})), 400, 'invalid_request')
        expect((await refresh(refresh_token)).status).toBe(200)
      })
    })
  },
  () => ({
    clients: [
      ...rivals,
      { ...confidential, client_id: 'idle', refresh_token_idle_lifetime: 100 },
      {
        ...{ ...confidential, client_id: 'absolute' },
        ...{ refresh_token_idle_lifetime: 50, refresh_token_absolute_lifetime: 100 },
      },
      { ...confidential, client_id: 'retired', grant_types: ['authorization_code'] },
    ],
  }),
)
