import { hashSecret } from '../../lib/keys/secrets.ts'
import {
  type Asked,
  alive,
  apiSide,
  changesNothing,
  dead,
  expectRefusal,
  jsonOf,
  native,
  other,
  otherSecret,
  rivals,
  s256,
  tokensOf,
  verifier,
} from '../support/api-side.ts'
import { stopClock } from '../support/clock.ts'
import { callback, pkce } from '../support/host.ts'
import { underAttack } from '../support/target.ts'
import { ada, bob, web } from '../support/tokens.ts'

afterEach(() => jest.restoreAllMocks())

/** A code that its owner could redeem, and somebody who has got hold of it. */
interface Theft {
  readonly what: string
  /** Parameters of the authorization request. */
  readonly asked?: Asked
  /** What the owner sends, beside what `web` always sends. */
  readonly right?: Asked
  /** What is sent instead of it. */
  readonly wrong: Asked
  readonly refusal?: readonly [number, string]
}

const plain = { code_challenge: s256.code_challenge, code_challenge_method: 'plain' }
const ofNative = { client_id: 'native', ...s256 }
const byNative = { ...native, code_verifier: verifier }
const loopback = 'http://127.0.0.1:49152/callback'
const isMissing = [400, 'invalid_request'] as const
const isUnproven = [401, 'invalid_client'] as const

const thefts: Theft[] = [
  { what: 'another confidential client (RFC 6749 §4.1.3, RFC 9700 §4.5, CVE-2026-55672)', wrong: other },
  {
    what: 'a stranger in the name of its owner, without the secret (RFC 6749 §3.2.1, ASVS 10.4.10)',
    ...{ wrong: { client_secret: undefined }, refusal: isUnproven },
  },
  {
    what: 'an app on the same device that listens on another port (RFC 8252 §8.3, RFC 6819 §4.4.1.1)',
    ...{ asked: { ...ofNative, redirect_uri: loopback }, right: { ...byNative, redirect_uri: loopback } },
    wrong: { redirect_uri: 'http://127.0.0.1:49153/callback' },
  },
  {
    what: 'a client that names another redirect URI (RFC 6749 §4.1.3, ASVS 10.4.1)',
    wrong: { redirect_uri: `${callback}/` },
  },
  {
    what: 'a client that names no redirect URI (RFC 6749 §4.1.3, RFC 9700 §4.1)',
    ...{ wrong: { redirect_uri: undefined }, refusal: isMissing },
  },
  {
    what: 'a client that proves PKCE although the challenge was cut out (RFC 9700 §4.8, CVE-2024-23647, CVE-2024-22258)',
    wrong: { code_verifier: verifier },
  },
  ...(
    [
      ['no verifier (RFC 7636 §4.6, CVE-2023-48228, CVE-2025-4144)', undefined],
      ['the challenge, as if the method were plain', s256.code_challenge],
    ] as const
  ).map(([what, code_verifier]) => ({
    what: `its own client with ${what}`,
    ...{ asked: s256, right: { code_verifier: verifier }, wrong: { code_verifier } },
  })),
  {
    what: 'its own client with a verifier whose hash is the plain challenge (RFC 7636 §4.6)',
    ...{ asked: plain, right: { code_verifier: plain.code_challenge }, wrong: { code_verifier: verifier } },
  },
]

underAttack(
  'a stolen code',
  (target, { test, everyMount }) => {
    const { ask, codeFor, guarded, redeem, refresh, standing, table, tokensFor, userinfo } = apiSide(target)

    test.each(thefts)(
      'redeemed by $what is refused and writes nothing, before its owner and after',
      async ({ asked, right = {}, wrong, refusal: [status, error] = [400, 'invalid_grant'] }) => {
        const code = await codeFor(asked)
        const steal = () => changesNothing(target(), () => redeem(code, { ...right, ...wrong }))
        expectRefusal(await steal(), status, error)
        const tokens = tokensOf(await redeem(code, right))
        expectRefusal(await steal(), status, error)
        expect(await standing(tokens, right)).toEqual(alive)
      },
    )

    test('put into another session of the same client, it meets the wrong verifier (RFC 9700 §4.5.1)', async () => {
      const [victim, thief] = [pkce(), pkce()]
      const challengeOf = ({ challenge }: typeof victim) => ({
        code_challenge: challenge,
        code_challenge_method: 'S256',
      })
      const stolen = await codeFor(challengeOf(victim))
      const own = await codeFor(challengeOf(thief), bob)
      expectRefusal(await redeem(stolen, { code_verifier: thief.verifier }), 400, 'invalid_grant')
      expectRefusal(await redeem(own, { code_verifier: victim.verifier }), 400, 'invalid_grant')
      expect((await redeem(own, { code_verifier: thief.verifier })).status).toBe(200)
      expect((await redeem(stolen, { code_verifier: victim.verifier })).status).toBe(200)
    })

    test('changed on the way is unknown, and the code itself stays good', async () => {
      const code = await codeFor()
      // MariaDB may take some of them for the same, and PostgreSQL throws at a NUL.
      const changes: [string, string?][] = [
        ...[code.slice(0, -1), `${code}A`, code.toUpperCase(), `${code} `].map((value): [string] => [value]),
        ...[code.replace('lk_ac_', 'lk_at_'), code.replace('lk_ac_', '')].map((value): [string] => [value]),
        [`${code}\0`, 'invalid_request'],
        [code.padEnd(129, 'A'), 'invalid_request'],
      ]
      for (const [value, error = 'invalid_grant'] of changes)
        expectRefusal(await changesNothing(target(), () => redeem(value)), 400, error)
      expect((await redeem(code)).status).toBe(200)
    })

    test('read from the database is worth nothing: only its hash is there (RFC 6819 §4.4.1.2)', async () => {
      const code = await codeFor()
      const hash = hashSecret(code)
      const row = await table('authorizations').where({ code_hash: hash }).first()
      expect(JSON.stringify(row)).not.toContain(code.slice(6))
      for (const value of [hash, `lk_ac_${hash}`, row.id, `lk_ac_${row.id}`, row.sid]) {
        expectRefusal(await changesNothing(target(), () => redeem(value)), 400, 'invalid_grant')
      }
      expect((await redeem(code)).status).toBe(200)
    })

    test('is not accepted if it was issued for another purpose (RFC 8725 §3.12, ASVS 9.2.2)', async () => {
      const tokens = await tokensFor()
      const values = [tokens.access_token, tokens.refresh_token, otherSecret, `lk_ar_${'A'.repeat(43)}`]
      for (const value of values) {
        expectRefusal(await changesNothing(target(), () => redeem(value)), 400, 'invalid_grant')
      }
      expectRefusal(await redeem(tokens.id_token), 400, 'invalid_request')
      expect(await standing(tokens)).toEqual(alive)
    })

    test('used a second time, right in every respect, ends every token of it (RFC 6749 §4.1.2, ASVS 10.4.2)', async () => {
      const bystander = await tokensFor({ scope: 'openid notes:read' })
      const code = await codeFor({ scope: 'openid notes:read' })
      const first = tokensOf(await redeem(code))
      const second = tokensOf(await refresh(first.refresh_token))
      expect((await guarded(second.access_token)).status).toBe(200)
      expectRefusal(await redeem(code), 400, 'invalid_grant')
      expect((await userinfo(first.access_token)).status).toBe(401)
      expect((await guarded(second.access_token)).status).toBe(401)
      expect(await standing(second)).toEqual(dead)
      expect(await standing(bystander)).toEqual(alive)
      expectRefusal(await redeem(code), 400, 'invalid_grant')
    })

    test('used a second time long after it expired ends every token too (RFC 6819 §5.2.1.1)', async () => {
      const clock = stopClock()
      const code = await codeFor()
      const tokens = tokensOf(await redeem(code))
      clock.travel(1200)
      expectRefusal(await redeem(code), 400, 'invalid_grant')
      expect(await standing(tokens)).toEqual(dead)
    })

    test('expires after a minute, to the second (RFC 6819 §5.1.5.3, ASVS 10.4.3)', async () => {
      const clock = stopClock()
      const [early, late] = [await codeFor(), await codeFor()]
      clock.travel(59)
      expect((await redeem(early)).status).toBe(200)
      clock.travel(1)
      expectRefusal(await changesNothing(target(), () => redeem(late)), 400, 'invalid_grant')
    })

    test('gets no further than the user allowed, whatever scope is asked for with it (RFC 6749 §4.1.3)', async () => {
      const code = await codeFor({ scope: 'openid' })
      const answer = await redeem(code, { scope: 'openid email notes:read notes:write' })
      expect(jsonOf(answer)).toMatchObject({ scope: 'openid' })
      const { access_token } = tokensOf(answer)
      expect(jsonOf(await userinfo(access_token))).toEqual({ sub: String(ada.id) })
      expectRefusal(await guarded(access_token), 403, 'insufficient_scope')
    })

    everyMount(() => {
      test('in the address instead of the body is not looked at (RFC 9700 §4.3.1)', async () => {
        const code = await codeFor()
        const form = { grant_type: 'authorization_code', code, redirect_uri: callback, ...web }
        const query = new URLSearchParams(form)
        expectRefusal(
          await changesNothing(target(), () => ask(`/token?${query}`, {})),
          400,
          'invalid_request',
        )
        expectRefusal(await ask(`/token?${query}`, web), 400, 'invalid_request')
        expect((await redeem(code)).status).toBe(200)
      })
    })
  },
  () => ({ clients: rivals }),
)
