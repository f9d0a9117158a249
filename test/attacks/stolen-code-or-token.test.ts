import { hashSecret } from '../../lib/keys/secrets.ts'
import { stopClock } from '../support/clock.ts'
import { callback, pkce, secret } from '../support/host.ts'
import { ada, bob } from '../support/tokens.ts'
import {
  type Asked,
  alive,
  apiSide,
  dead,
  expectRefusal,
  jsonOf,
  mobile,
  native,
  other,
  otherSecret,
  rivals,
  s256,
  tokensOf,
  verifier,
  web,
} from './api-side.ts'
import { type Mount, mounts, plainMount, targetIn } from './target.ts'

afterEach(() => jest.restoreAllMocks())

const confidential = { client_secret: secret, redirect_uris: [callback] }
const named = (client_id: string): Asked => ({ client_id, client_secret: secret })

/** An authorization code that its client could redeem, and how an attacker tries to redeem it. */
interface Theft {
  readonly what: string
  /** Parameters of the authorization request. */
  readonly asked?: Asked
  /** What the owner sends, beside what `web` always sends. */
  readonly right?: Asked
  /** What is sent instead of it. */
  readonly wrong: Asked
  readonly error?: string
}

const plain = { code_challenge: s256.code_challenge, code_challenge_method: 'plain' }
const loopback = { redirect_uri: 'http://127.0.0.1:49152/callback' }

const thefts: Theft[] = [
  { what: 'another confidential client (RFC 6749 §4.1.3, RFC 9700 §4.5, CVE-2026-55672)', wrong: other },
  {
    what: 'a stranger in the name of its owner, without the secret (RFC 6749 §3.2.1, ASVS 10.4.10)',
    wrong: { client_secret: undefined },
    error: 'invalid_client',
  },
  {
    what: 'an app on the same device that listens on another port (RFC 8252 §8.3, RFC 6819 §4.4.1.1)',
    asked: { client_id: 'native', ...s256, ...loopback },
    right: { ...native, code_verifier: verifier, ...loopback },
    wrong: { redirect_uri: 'http://127.0.0.1:49153/callback' },
  },
  {
    what: 'a client that names another redirect URI (RFC 6749 §4.1.3, ASVS 10.4.1)',
    wrong: { redirect_uri: `${callback}/` },
  },
  {
    what: 'a client that names no redirect URI (RFC 6749 §4.1.3, RFC 9700 §4.1)',
    wrong: { redirect_uri: undefined },
    error: 'invalid_request',
  },
  {
    what: 'a client that proves PKCE although the challenge was cut out (RFC 9700 §4.8, CVE-2024-23647, CVE-2024-22258)',
    wrong: { code_verifier: verifier },
  },
  {
    what: 'its own client with no verifier (RFC 7636 §4.6, CVE-2023-48228, CVE-2025-4144)',
    asked: s256,
    right: { code_verifier: verifier },
    wrong: { code_verifier: undefined },
  },
  {
    what: 'its own client with the challenge, as if the method were plain',
    asked: s256,
    right: { code_verifier: verifier },
    wrong: { code_verifier: s256.code_challenge },
  },
  {
    what: 'its own client with a verifier whose hash is the plain challenge (RFC 7636 §4.6)',
    asked: plain,
    right: { code_verifier: plain.code_challenge },
    wrong: { code_verifier: verifier },
  },
]

/** What the attacks have at a target in that mount. */
const attackerIn = (mount: Mount) => {
  const target = targetIn(mount, () => ({
    options: { codeChallengeMethods: ['S256', 'plain'] as const },
    clients: [
      ...rivals,
      { ...confidential, client_id: 'idle', refresh_token_idle_lifetime: 100 },
      {
        ...confidential,
        client_id: 'absolute',
        refresh_token_idle_lifetime: 50,
        refresh_token_absolute_lifetime: 100,
      },
      { ...confidential, client_id: 'retired', grant_types: ['authorization_code'] },
    ],
  }))
  const side = apiSide(target)
  return { ...side, target }
}

describe('a stolen', () => {
  const side = attackerIn(plainMount)
  const { browserOf, codeFor, expectRefused, guarded, introspect, nativeTokens, redeem } = side
  const { refresh, standing, table, token, tokensFor, userinfo } = side

  describe('code', () => {
    test.each(thefts)(
      'redeemed by $what is refused and writes nothing, before its owner and after',
      async ({ asked, right = {}, wrong, error = 'invalid_grant' }) => {
        const code = await codeFor(asked)
        const steal = () => redeem(code, { ...right, ...wrong })
        await expectRefused(steal, error)
        const tokens = tokensOf(await redeem(code, right))
        await expectRefused(steal, error)
        expect(await standing(tokens, right)).toEqual(alive)
      },
    )

    // OAuth 2.1 §10.2: its clients send no redirect URI, because the verifier protects the code.
    test('with a challenge needs no redirect URI, but never accepts another one', async () => {
      for (const [asked, right] of [
        [s256, {}],
        [{ client_id: 'native', ...s256, ...loopback }, native],
      ]) {
        const code = await codeFor(asked)
        const redemption = { ...right, code_verifier: verifier, redirect_uri: undefined }
        for (const redirect_uri of [`${callback}/`, 'http://127.0.0.1:49153/callback'])
          await expectRefused(() => redeem(code, { ...redemption, redirect_uri }), 'invalid_grant')
        await expectRefused(() => redeem(code, { ...redemption, code_verifier: undefined }), 'invalid_grant')
        const tokens = tokensOf(await redeem(code, redemption))
        expectRefusal(await redeem(code, redemption), 'invalid_grant')
        expect(await standing(tokens, right)).toEqual(dead)
      }
    })

    test('that is put into another session of its client meets the wrong verifier (RFC 9700 §4.5.1)', async () => {
      const [victim, thief] = [pkce(), pkce()]
      const asked = ({ challenge }: typeof victim) => ({ ...s256, code_challenge: challenge })
      const stolen = await codeFor(asked(victim))
      const own = await codeFor(asked(thief), bob)
      expectRefusal(await redeem(stolen, { code_verifier: thief.verifier }), 'invalid_grant')
      expectRefusal(await redeem(own, { code_verifier: victim.verifier }), 'invalid_grant')
      tokensOf(await redeem(own, { code_verifier: thief.verifier }))
      tokensOf(await redeem(stolen, { code_verifier: victim.verifier }))
    })

    test('that was used before ends every token of it (RFC 6749 §4.1.2, ASVS 10.4.2)', async () => {
      const bystander = await tokensFor({ scope: 'openid notes:read' })
      const code = await codeFor({ scope: 'openid notes:read' })
      const first = tokensOf(await redeem(code))
      const second = tokensOf(await refresh(first.refresh_token))
      expect((await guarded(second.access_token)).status).toBe(200)
      expectRefusal(await redeem(code), 'invalid_grant')
      expect((await userinfo(first.access_token)).status).toBe(401)
      expect((await guarded(second.access_token)).status).toBe(401)
      expect(await standing(second)).toEqual(dead)
      expect(await standing(bystander)).toEqual(alive)
      expectRefusal(await redeem(code), 'invalid_grant')
    })

    test('that was used before it expired ends every token too (RFC 6819 §5.2.1.1)', async () => {
      const clock = stopClock()
      const code = await codeFor()
      const tokens = tokensOf(await redeem(code))
      clock.travel(1200)
      expectRefusal(await redeem(code), 'invalid_grant')
      expect(await standing(tokens)).toEqual(dead)
    })

    test('expires after a minute, to the second (RFC 6819 §5.1.5.3, ASVS 10.4.3)', async () => {
      const clock = stopClock()
      const [early, late] = [await codeFor(), await codeFor()]
      clock.travel(59)
      tokensOf(await redeem(early))
      clock.travel(1)
      await expectRefused(() => redeem(late), 'invalid_grant')
    })

    test('gives no more than the user allowed, whatever scope comes with it (RFC 6749 §4.1.3)', async () => {
      const code = await codeFor({ scope: 'openid' })
      const tokens = tokensOf(await redeem(code, { scope: 'openid email notes:read notes:write' }))
      expect(tokens.scope).toBe('openid')
      expect(jsonOf(await userinfo(tokens.access_token))).toEqual({ sub: String(ada.id) })
      expectRefusal(await guarded(tokens.access_token), 'insufficient_scope')
    })
  })

  // MariaDB may take some of them for the same, and PostgreSQL throws at a NUL.
  test('code or refresh token that was changed is unknown, and the real one works (CVE-2026-27840)', async () => {
    const [code, { refresh_token }] = [await codeFor(), await tokensFor()]
    for (const [value, use] of [
      [code, redeem],
      [refresh_token, refresh],
    ] as const) {
      const otherKind = value.replace(/^lk_.._/, 'lk_at_')
      const changed = [value.slice(0, -1), `${value}A`, value.toUpperCase(), `${value} `, otherKind]
      for (const wrong of [...changed, value.replace(/^lk_.._/, '')])
        await expectRefused(() => use(wrong), 'invalid_grant')
      for (const wrong of [`${value}\0`, value.padEnd(16_385, 'A')])
        await expectRefused(() => use(wrong), 'invalid_request')
      tokensOf(await use(value))
    }
  })

  test('code or refresh token from the database is worthless, because only its hash is there', async () => {
    const [code, { refresh_token }] = [await codeFor(), await tokensFor()]
    const { refresh_token: successor } = tokensOf(await refresh(refresh_token))
    const ofCode = await table('authorizations')
      .where({ code_hash: hashSecret(code) })
      .first()
    const ofToken = await table('refresh_tokens')
      .where({ hash: hashSecret(refresh_token) })
      .first()
    expect(JSON.stringify([ofCode, ofToken])).not.toContain(code.slice(6))
    expect(JSON.stringify(ofToken)).not.toContain(successor.slice(6))
    const { code_hash, id, sid } = ofCode
    for (const value of [code_hash, `lk_ac_${code_hash}`, id, `lk_ac_${id}`, sid])
      await expectRefused(() => redeem(value), 'invalid_grant')
    const { hash, successor: sealed, authorization_id } = ofToken
    for (const value of [hash, `lk_rt_${hash}`, sealed, authorization_id])
      await expectRefused(() => refresh(String(value).slice(0, 128)), 'invalid_grant')
    tokensOf(await redeem(code))
    tokensOf(await refresh(successor))
  })

  test('value that was issued for another purpose is neither a code nor a refresh token', async () => {
    const [tokens, code] = [await tokensFor(), await codeFor()]
    const cookies = browserOf().cookies.values()
    expect(cookies.length).toBeGreaterThan(0)
    for (const value of [tokens.access_token, code, secret, otherSecret, ...cookies])
      await expectRefused(() => refresh(value.slice(0, 128)), 'invalid_grant')
    for (const value of [tokens.access_token, tokens.refresh_token, otherSecret, `lk_ar_${'A'.repeat(43)}`])
      await expectRefused(() => redeem(value), 'invalid_grant')
    expectRefusal(await redeem(tokens.id_token), 'invalid_request')
    expectRefusal(await refresh(tokens.id_token), 'invalid_grant')
    expect(await standing(tokens)).toEqual(alive)
    tokensOf(await redeem(code))
  })

  describe('refresh token', () => {
    test.each<[string, Asked, string?]>([
      ['another confidential client (RFC 6749 §6 and §10.4, CVE-2026-55672)', other],
      ['a public client that gives its own name (RFC 6819 §5.2.2.2)', native],
      ['its client without the secret (CVE-2026-53512)', { client_secret: undefined }, 'invalid_client'],
      ['its client with an empty secret (CVE-2026-44476)', { client_secret: '' }, 'invalid_client'],
      [
        'its client with the secret of another client (RFC 6819 §4.1.2)',
        ...([{ client_secret: otherSecret }, 'invalid_client'] as const),
      ],
      ['no client', { client_id: undefined, client_secret: undefined }, 'invalid_request'],
      ['a client that may not refresh (ASVS 10.4.4)', named('retired'), 'unauthorized_client'],
    ])(
      'presented by %s is refused and writes nothing, and its owner can still use it',
      async (_, thief, error = 'invalid_grant') => {
        const { refresh_token } = await tokensFor()
        await expectRefused(() => refresh(refresh_token, thief), error)
        tokensOf(await refresh(refresh_token))
      },
    )

    test('of a public client is refused from another client, and with a secret', async () => {
      const { refresh_token } = await nativeTokens()
      for (const thief of [mobile, web])
        await expectRefused(() => refresh(refresh_token, thief), 'invalid_grant')
      const withSecret = { ...native, client_secret: secret }
      await expectRefused(() => refresh(refresh_token, withSecret), 'invalid_client')
      tokensOf(await refresh(refresh_token, native))
    })

    test('with the owner in the body and the thief in the header is refused (RFC 6749 §2.3)', async () => {
      const { refresh_token } = await tokensFor()
      const basic = `Basic ${Buffer.from(`other:${otherSecret}`).toString('base64')}`
      const form = { grant_type: 'refresh_token', refresh_token, client_id: 'web' }
      await expectRefused(() => token(form, { Authorization: basic }), 'invalid_request')
      tokensOf(await refresh(refresh_token))
    })
  })

  describe('refresh token cannot grow', () => {
    const granted = 'openid email'

    test('beyond the user’s consent or the client’s scopes, and the attempt does not use it up', async () => {
      let { refresh_token } = await tokensFor({ scope: granted })
      for (const scope of ['notes:read', 'address root', 'openid "email'])
        await expectRefused(() => refresh(refresh_token, { scope }), 'invalid_scope')
      for (const [scope, left] of [
        ['openid email notes:read', granted],
        ['address openid root', 'openid'],
        [undefined, granted],
      ]) {
        const next = tokensOf(await refresh(refresh_token, { scope }))
        expect(next.scope).toBe(left)
        expectRefusal(await guarded(next.access_token), 'insufficient_scope')
        refresh_token = next.refresh_token
      }
    })

    test('to an ID token, where the user never signed in to the client', async () => {
      const tokens = await tokensFor({ scope: 'notes:read' })
      expect(tokens).not.toHaveProperty('id_token')
      expectRefusal(await refresh(tokens.refresh_token, { scope: 'openid' }), 'invalid_scope')
      const next = tokensOf(await refresh(tokens.refresh_token))
      expect(next).not.toHaveProperty('id_token')
      expectRefusal(await userinfo(next.access_token), 'insufficient_scope')
    })

    test('after it was narrowed: all of the authorization is there again, and no more', async () => {
      const first = await tokensFor({ scope: 'openid email notes:read' })
      const second = tokensOf(await refresh(first.refresh_token, { scope: 'email' }))
      expect(second.scope).toBe('email')
      expectRefusal(await guarded(second.access_token), 'insufficient_scope')
      const wider = { scope: 'notes:write' }
      await expectRefused(() => refresh(second.refresh_token, wider), 'invalid_scope')
      const third = tokensOf(
        await refresh(second.refresh_token, { scope: 'openid email notes:read notes:write' }),
      )
      expect(third.scope).toBe('openid email notes:read')
      expect((await guarded(third.access_token)).status).toBe(200)
    })

    test('by a scope of eight thousand words, which is answered like any other (CVE-2026-4634)', async () => {
      const { refresh_token } = await tokensFor({ scope: granted })
      const words = (count: number, word = 'a') => ({ scope: Array(count).fill(word).join(' ') })
      await expectRefused(() => refresh(refresh_token, words(1024)), 'invalid_scope')
      await expectRefused(() => refresh(refresh_token, words(8192)), 'invalid_scope')
      await expectRefused(() => refresh(refresh_token, words(8193)), 'invalid_request')
      expect(tokensOf(await refresh(refresh_token, words(340, 'email'))).scope).toBe('email')
    })
  })

  describe('refresh token that is used again', () => {
    test('after the grace period ends the family (RFC 9700 §4.14.2, ASVS 10.4.5)', async () => {
      const clock = stopClock()
      const [first, bystander] = [await tokensFor(), await tokensFor()]
      const second = tokensOf(await refresh(first.refresh_token))
      clock.travel(60)
      expectRefusal(await refresh(first.refresh_token), 'invalid_grant')
      expect(await standing(second)).toEqual(dead)
      expect((await userinfo(first.access_token)).status).toBe(401)
      expect(await standing(bystander)).toEqual(alive)
    })

    test('in the grace period gives the same successor, so a thief gains nothing (RFC 9700 §4.14.2)', async () => {
      stopClock()
      const first = await tokensFor()
      const stolen = tokensOf(await refresh(first.refresh_token))
      const owned = tokensOf(await refresh(first.refresh_token))
      expect(owned.refresh_token).toBe(stolen.refresh_token)
    })

    test('once a later one is in use ends the family, even in the grace period (RFC 6819 §5.2.2.3)', async () => {
      stopClock()
      const first = await tokensFor()
      let last = first
      for (let use = 0; use < 3; use += 1) last = tokensOf(await refresh(last.refresh_token))
      expectRefusal(await refresh(first.refresh_token), 'invalid_grant')
      expect(await standing(last)).toEqual(dead)
    })

    test('by another client, or without the secret, ends nothing (RFC 9700 §4.14.2)', async () => {
      const clock = stopClock()
      const first = await tokensFor()
      const second = tokensOf(await refresh(first.refresh_token))
      clock.travel(60)
      for (const thief of [other, native, mobile])
        await expectRefused(() => refresh(first.refresh_token, thief), 'invalid_grant')
      expectRefusal(await refresh(first.refresh_token, { client_secret: 'x' }), 'invalid_client')
      expect(await standing(second)).toEqual(alive)
    })

    test('after its idle lifetime is refused, and the attempt renews nothing (RFC 9700 §4.14.2)', async () => {
      const clock = stopClock()
      const asked = { client_id: 'idle', scope: 'openid offline_access' }
      const { refresh_token } = await tokensFor(asked, named('idle'))
      clock.travel(100)
      expectRefusal(await refresh(refresh_token, named('idle')), 'invalid_grant')
      expect(jsonOf(await introspect(refresh_token, named('idle')))).toEqual({ active: false })
      clock.travel(-1)
      tokensOf(await refresh(refresh_token, named('idle')))
    })

    test('at the end of its family is refused, however often it was renewed (ASVS 10.4.8)', async () => {
      const clock = stopClock()
      const asked = { client_id: 'absolute', scope: 'openid offline_access' }
      let tokens = await tokensFor(asked, named('absolute'))
      for (let use = 0; use < 3; use += 1) {
        clock.travel(33)
        tokens = tokensOf(await refresh(tokens.refresh_token, named('absolute')))
      }
      expect(tokens.expires_in).toBe(1)
      clock.travel(1)
      expect(await standing(tokens, named('absolute'))).toEqual(dead)
    })
  })
})

describe.each(mounts)('a stolen, mounted $name', (mount) => {
  const { target, codeFor, expectRefused, redeem, refresh, tokensFor } = attackerIn(mount)

  test('code or refresh token in the address instead of the body is ignored', async () => {
    const [code, { refresh_token }] = [await codeFor(), await tokensFor()]
    const redemption = { grant_type: 'authorization_code', code, redirect_uri: callback }
    for (const grant of [redemption, { grant_type: 'refresh_token', refresh_token }]) {
      const path = `${target().base}/token?${new URLSearchParams({ ...grant, ...web })}`
      for (const form of [{}, web]) await expectRefused(() => target().post(path, form), 'invalid_request')
    }
    tokensOf(await redeem(code))
    tokensOf(await refresh(refresh_token))
  })
})
