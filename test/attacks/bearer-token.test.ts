import { randomUUID } from 'node:crypto'
import { base64url } from 'jose'
import { hashSecret } from '../../lib/keys/secrets.ts'
import { stopClock } from '../support/clock.ts'
import { secret } from '../support/host.ts'
import { claimsOf } from '../support/outcomes.ts'
import { type Answer, RawBrowser } from '../support/raw-browser.ts'
import { bob } from '../support/tokens.ts'
import {
  apiSide,
  comparable,
  expectRefusal,
  jsonOf,
  other,
  rivals,
  signedByServer,
  tokensOf,
  web,
} from './api-side.ts'
import { type Fields, type Mount, mounts, plainMount, targetIn, writesNothing } from './target.ts'

afterEach(() => jest.restoreAllMocks())

// At our API a challenge names the scope of the route, too.
const bare = /^Bearer realm="api"(, scope="notes:read")?$/
const challenge = (error: string): RegExp =>
  new RegExp(
    `^Bearer realm="api", error="${error}", error_description="[ !#-\\[\\]-~]+"(, scope="notes:read")?$`,
  )
const bearer = (token: string, scheme = 'Bearer'): Fields => ({ Authorization: `${scheme} ${token}` })

/** What the attacks have at a target in that mount. */
const attackerIn = (mount: Mount) => {
  const target = targetIn(mount, () => ({ clients: rivals }))
  const side = apiSide(target)
  const { tokensFor } = side

  const atUserinfo = (headers: Fields, query = ''): Promise<Answer> =>
    target().get(`${target().base}/userinfo${query}`, headers)
  const atApi = (headers: Fields, query = ''): Promise<Answer> =>
    new RawBrowser(target().host.app).get(`/api/notes${query}`, headers)
  const everywhere = [atUserinfo, atApi]
  const fresh = () => tokensFor({ scope: 'openid email notes:read' })

  const expectBare = (answer: Answer): void => {
    expectRefusal(answer, 'invalid_token')
    expect(answer.headers['www-authenticate']).toMatch(bare)
  }
  const expectChallenge = (answer: Answer, error: string): void => {
    expectRefusal(answer, error)
    expect(answer.headers['www-authenticate']).toMatch(challenge(error))
  }
  /** At UserInfo and at the API of the host, which write nothing. */
  const expectInvalid = async (value: string, scheme?: string): Promise<void> => {
    for (const at of everywhere)
      expectChallenge(await writesNothing(target(), () => at(bearer(value, scheme))), 'invalid_token')
  }
  const expectWorking = async (token: string, scheme?: string): Promise<void> => {
    for (const at of everywhere) expect((await at(bearer(token, scheme))).status).toBe(200)
  }
  return {
    ...side,
    target,
    atUserinfo,
    atApi,
    everywhere,
    fresh,
    expectBare,
    expectChallenge,
    expectInvalid,
    expectWorking,
  }
}

describe('an access token', () => {
  const side = attackerIn(plainMount)
  const { target, ask, browserOf, codeFor, guarded, own, redeem } = side
  const { refresh, revoke, table, tokensFor, userinfo, atUserinfo, atApi } = side
  const { everywhere, fresh, expectBare, expectChallenge, expectInvalid, expectWorking } = side

  test('in a malformed header is refused (RFC 6750 §3.1)', async () => {
    const values = ['', ' a b', ' a,b', ' a, Bearer b', ' "a"', ' =', ' a=b', ' a%20b', ' ü', '\ta']
    for (const value of [...values, ' realm="a"']) {
      const Authorization = Buffer.from(`Bearer${value}`).toString('latin1')
      for (const at of everywhere) expectChallenge(await at({ Authorization }), 'invalid_request')
    }
  })

  test('counts only with the scheme Bearer, in any letter case (RFC 9110 §11.1, CVE-2020-14359)', async () => {
    const { access_token } = await fresh()
    for (const at of everywhere)
      for (const scheme of ['Basic', 'Token', 'JWT', 'DPoP', 'Bear', 'Bearers'])
        expectBare(await at(bearer(access_token, scheme)))
    const schemes = ['bearer', 'BEARER', 'bEaReR']
    for (const scheme of schemes) await expectWorking(access_token, scheme)
    await revoke(access_token)
    for (const scheme of schemes) await expectInvalid(access_token, scheme)
  })

  describe('is not accepted if it was issued for another purpose (RFC 8725 §3.12, ASVS 9.2.2)', () => {
    test('a refresh token, an ID token, a code, a secret, a cookie', async () => {
      const [tokens, code] = [await fresh(), await codeFor()]
      const cookies = browserOf().cookies.values()
      const sent = cookies.map((value) => value.replace(/[^A-Za-z0-9._~+/-]/g, ''))
      for (const value of [tokens.refresh_token, tokens.id_token, code, secret, ...sent])
        await expectInvalid(value)
      tokensOf(await redeem(code))
      tokensOf(await refresh(tokens.refresh_token))
    })

    test('what the database holds of an access token, and a token that was changed', async () => {
      const { access_token: value } = await fresh()
      const hash = hashSecret(value)
      const row = await table('access_tokens').where({ hash }).first()
      expect(JSON.stringify(row)).not.toContain(value.slice(6))
      const stored = [hash, `lk_at_${hash}`, row.authorization_id, `lk_at_${row.authorization_id}`]
      const others = [value.slice(0, -1), `${value}A`, value.toUpperCase(), value.padEnd(4000, 'A')]
      for (const wrong of [...stored, ...others, value.replace('lk_at_', 'lk_rt_')])
        await expectInvalid(wrong)
      await expectWorking(value)
    })

    test('a JWT without our signature (CVE-2026-28802, CVE-2026-27962, CVE-2023-0657)', async () => {
      const { id_token } = await fresh()
      const { issuer } = target()
      const { sub } = claimsOf(id_token)
      const claims = { iss: issuer, sub, aud: issuer, scope: 'openid notes:read', client_id: 'web' }
      const headers = [
        { alg: 'none', typ: 'at+jwt' },
        { alg: 'ES256', typ: 'at+jwt', jwk: { kty: 'EC' } },
        { alg: 'RS256', typ: 'logout+jwt' },
      ]
      for (const header of headers) {
        const parts = [header, { ...claims, jti: randomUUID(), exp: 9_999_999_999 }]
        const input = parts.map((part) => base64url.encode(JSON.stringify(part))).join('.')
        for (const signature of ['', 'AAAA', id_token.split('.')[2]])
          await expectInvalid(`${input}.${signature}`)
      }
    })

    test('a JWT by our own key that was not made as an access token (RFC 9068 §4)', async () => {
      const { issuer } = target()
      const claims = { iss: issuer, sub: '1', aud: issuer, client_id: 'web', scope: 'openid notes:read' }
      const times = { iat: 1_700_000_000, exp: 9_999_999_999, jti: randomUUID() }
      const signed = (typ: string) => signedByServer(target(), { typ }, { ...claims, ...times })
      for (const typ of ['JWT', 'logout+jwt']) await expectInvalid(await signed(typ))
      // One of the right type is for a resource that does not exist, where no scope counts.
      const jwt = await signed('at+jwt')
      for (const at of everywhere) expect([401, 403]).toContain((await at(bearer(jwt))).status)
    })
  })

  describe('reaches no further than it was granted', () => {
    test('with another scope, or none, it does not open the API (RFC 9700 §2.3, ASVS 10.3.2)', async () => {
      for (const scope of ['openid notes:write', 'email']) {
        const refused = await guarded((await tokensFor({ scope })).access_token)
        expectChallenge(refused, 'insufficient_scope')
        expect(refused.html).not.toContain('subject')
      }
    })

    test('without openid it shows nothing about the user (OIDC Core §5.3, ASVS 10.3.2)', async () => {
      const { access_token } = await tokensFor({ scope: 'email profile notes:read' })
      const refused = await userinfo(access_token)
      expectRefusal(refused, 'insufficient_scope')
      expect(refused.html).not.toMatch(/ada|Lovelace|"sub"/i)
      expect((await guarded(access_token)).status).toBe(200)
    })

    test('narrowed, it has lost the rest; scopes in the request give none back (RFC 6749 §6)', async () => {
      const { refresh_token } = await fresh()
      const { access_token } = tokensOf(await refresh(refresh_token, { scope: 'openid' }))
      expect(jsonOf(await userinfo(access_token))).toEqual({ sub: '1' })
      for (const query of ['', '?scope=notes:read'])
        expectRefusal(await atApi(bearer(access_token), query), 'insufficient_scope')
      const more = await ask('/userinfo', { access_token, scope: 'openid email', claims: '{}' })
      expect(jsonOf(more)).toEqual({ sub: '1' })
    })

    test('of a client for itself has no user (RFC 9700 §4.15, ASVS 10.3.3)', async () => {
      const { access_token } = tokensOf(await own())
      expectRefusal(await userinfo(access_token), 'insufficient_scope')
      expect(jsonOf(await guarded(access_token))).toEqual({ subject: null })
    })

    test('of one user shows no other user, whatever the request names (CWE-639)', async () => {
      const { access_token } = await tokensFor({ scope: 'openid email' }, {}, bob)
      const query = '?sub=1&user=1&username=ada@example.com&id=1'
      const told = await atUserinfo({ ...bearer(access_token), 'X-User': '1' }, query)
      expect(jsonOf(told)).toMatchObject({ sub: '2', email: 'bob@example.com' })
    })
  })

  describe('is dead', () => {
    /** In the same words as one that never was (RFC 6750 §3.1). */
    const expectDead = async (token: string): Promise<void> => {
      await expectInvalid(token)
      for (const at of everywhere) {
        const ofUnknown = await at(bearer(`lk_at_${'A'.repeat(43)}`))
        expect(comparable(await at(bearer(token)))).toEqual(comparable(ofUnknown))
      }
    }

    test('from the second on at which it ends (ASVS 9.2.1)', async () => {
      const clock = stopClock()
      const { access_token } = await fresh()
      clock.travel(3599)
      await expectWorking(access_token)
      clock.travel(1)
      await expectDead(access_token)
    })

    test('once it or its refresh token was revoked, or its code was used twice', async () => {
      const [one, two] = [await fresh(), await fresh()]
      await revoke(one.access_token)
      await revoke(two.refresh_token)
      const code = await codeFor({ scope: 'openid notes:read' })
      const three = tokensOf(await redeem(code))
      await redeem(code)
      for (const { access_token } of [one, two, three]) await expectDead(access_token)
    })
  })

  test('is never repeated in a refusal, nor anything else that was sent (RFC 6750 §5.3)', async () => {
    const marked = 'ATTACKMARK'.repeat(2)
    for (const value of [marked, `lk_at_${marked}`, `${marked}, error="x"`, `a.${marked}.c`]) {
      for (const at of everywhere) {
        const answer = await at({ ...bearer(value), Origin: `https://${marked}.example` })
        expect(`${answer.html}${JSON.stringify(answer.headers)}`).not.toMatch(/ATTACKMARK/i)
      }
    }
  })
})

describe.each(mounts)('an access token, mounted $name', (mount) => {
  const side = attackerIn(mount)
  const { target, ask, browserOf, expectRefused, userinfo, atUserinfo } = side
  const { everywhere, fresh, expectBare, expectChallenge, expectWorking } = side

  test('is not read from places where it would leak', async () => {
    const { access_token } = await fresh()
    const prefixes = ['X-Access-Token', 'X-Authorization', 'Proxy-Authorization']
    for (const at of everywhere) {
      expectBare(await at({}, `?access_token=${access_token}`))
      expectBare(await at({ Cookie: `access_token=${access_token}` }))
      for (const name of [...prefixes, 'X-Forwarded-Authorization'])
        expectBare(await at({ [name]: `Bearer ${access_token}` }))
    }
    expectBare(await ask(`/userinfo?access_token=${access_token}`, {}))
    const json = { 'Content-Type': 'application/json' }
    const posted = await ask('/userinfo', JSON.stringify({ access_token }), json)
    expectRefusal(posted, 'invalid_request', 415)
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded' }
    const sent = { body: `access_token=${access_token}`, headers }
    expectBare(await target().browser().send('GET', `${target().base}/userinfo`, sent))
    await expectWorking(access_token)
  })

  test('in header and body at once is refused, even where it is the same (RFC 6750 §3.1)', async () => {
    const [one, two] = [await fresh(), await fresh()]
    for (const { access_token } of [one, two]) {
      const send = () => ask('/userinfo', { access_token }, bearer(one.access_token))
      await expectRefused(send, 'invalid_request')
    }
  })

  test('beside a session or a client’s secret counts alone (RFC 6750 §2)', async () => {
    const { access_token } = await fresh()
    const path = `${target().base}/userinfo`
    expectChallenge(await browserOf().get(path, bearer('x')), 'invalid_token')
    expectBare(await browserOf().get(path))
    expectBare(await ask('/userinfo', web))
    expect(jsonOf(await ask('/userinfo', { access_token, ...other }))).toMatchObject({ sub: '1' })
  })

  test('gets UserInfo by no other method, and no cache may store the answer', async () => {
    const { access_token } = await fresh()
    const first = await userinfo(access_token)
    expect(first.headers).toMatchObject({
      'cache-control': 'no-store',
      'content-type': 'application/json',
    })
    expect(first.headers).not.toHaveProperty('etag')
    const again = await atUserinfo({ ...bearer(access_token), 'If-None-Match': '*' })
    expect({ status: again.status, html: again.html }).toEqual({ status: 200, html: first.html })
    const headers = { ...bearer(access_token), 'X-HTTP-Method-Override': 'GET' }
    for (const method of ['PUT', 'PATCH', 'DELETE']) {
      const answer = await target().browser().send(method, `${target().base}/userinfo`, { headers })
      expect(answer).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD, POST' } })
      expect(answer.html).not.toContain('ada@example.com')
    }
  })
})
