import {
  type AuthorizationState,
  assertRedeemable,
  type PresentedCode,
  refreshTokenExpiry,
} from '../../lib/protocol/requests/authorization.ts'
import type { AuthorizationRequest } from '../../lib/protocol/requests/authorization-request.ts'
import { codeChallengeOf } from '../../lib/protocol/requests/pkce.ts'
import {
  assertRefreshable,
  type RefreshRules,
  type RefreshToken,
} from '../../lib/protocol/tokens/refresh-token.ts'
import { bearer, type KeyBinding } from '../../lib/protocol/tokens/token-binding.ts'
import { fc } from '../support/property.ts'

const now = 1_800_000_000
const invalidGrant = (description = ''): Error =>
  expect.objectContaining({ code: 'invalid_grant', message: expect.stringContaining(description) })

const redirectUri = 'https://app.example.com/cb'
const verifier = 'v'.repeat(43)
const key: KeyBinding = { type: 'dpop', thumbprint: 'k'.repeat(43) }
const request: AuthorizationRequest = {
  clientId: 'journal',
  redirectUri,
  responseType: 'code',
  responseMode: 'query',
  scopes: ['openid', 'email'],
  prompt: [],
}
const authorization: AuthorizationState = {
  id: 'a-1',
  clientId: 'journal',
  subject: '1',
  sid: 's-1',
  scopes: ['openid'],
  offline: false,
  createdAt: now,
  loginEnd: now + 3600,
  codeExpiresAt: now + 60,
  consumedAt: null,
  expiresAt: now + 3600,
  revokedAt: null,
  loginStands: true,
  narrowed: 0,
  details: {
    ...request,
    codeChallenge: { method: 'S256', value: codeChallengeOf(verifier, 'S256') },
    authTime: now,
    amr: ['pwd'],
  },
}

describe('redeeming a code', () => {
  const right: PresentedCode = { clientId: 'journal', redirectUri, codeVerifier: verifier, binding: bearer }
  const check = (
    change: Partial<AuthorizationState> = {},
    presented: Partial<PresentedCode> = {},
    at = now,
  ): string => {
    const found = { ...authorization, ...change }
    const { outcome, authorization: proven } = assertRedeemable(found, { ...right, ...presented }, at)
    expect(proven).toBe(found)
    return outcome
  }

  const bound = { details: { ...authorization.details, binding: key } }
  const withoutChallenge = { details: { ...authorization.details, codeChallenge: undefined } }
  const faults: [string, Partial<AuthorizationState>, Partial<PresentedCode>, string][] = [
    ['another client', {}, { clientId: 'other' }, 'another client'],
    ['another redirect_uri', {}, { redirectUri: `${redirectUri}/` }, 'redirect_uri'],
    [
      'another port of a loopback redirect_uri',
      { details: { ...authorization.details, redirectUri: 'http://127.0.0.1:5000/cb' } },
      { redirectUri: 'http://127.0.0.1:5001/cb' },
      'redirect_uri',
    ],
    ['no verifier', {}, { codeVerifier: undefined }, 'code_verifier'],
    [
      'neither redirect_uri nor verifier',
      {},
      { redirectUri: undefined, codeVerifier: undefined },
      'code_ver',
    ],
    ['another verifier', {}, { codeVerifier: 'w'.repeat(43) }, 'code_verifier'],
    ['a verifier without a challenge', withoutChallenge, {}, 'no code_challenge'],
    ['no proof of its key', bound, {}, 'bound to a key'],
    ['a proof of another key', bound, { binding: { ...key, thumbprint: 'o'.repeat(43) } }, 'bound to a key'],
    [
      'a certificate of that thumbprint',
      bound,
      { binding: { ...key, type: 'certificate' } },
      'bound to a key',
    ],
  ]

  test('right in every respect', () => {
    expect(check()).toBe('redeem')
    expect(check(withoutChallenge, { codeVerifier: undefined })).toBe('redeem')
    expect(check({}, { redirectUri: undefined })).toBe('redeem')
    expect(check(bound, { binding: key })).toBe('redeem')
    expect(check({}, { binding: key })).toBe('redeem')
  })

  test.each(faults)('is refused with %s', (_case, change, presented, description) => {
    expect(() => check(change, presented)).toThrow(invalidGrant(description))
  })

  test.each(faults)(
    'a replay with %s is refused, and is no replay: it must not end the family (RFC 9700 §4.5)',
    (_case, change, presented) => {
      for (const extra of [{}, { codeExpiresAt: 0 }, { revokedAt: now }]) {
        expect(() => check({ consumedAt: now - 1, ...extra, ...change }, presented)).toThrow(invalidGrant())
      }
    },
  )

  test('is refused for an unknown code', () => {
    // As for another client’s code.
    const description = 'unknown, or was issued to another client'
    expect(() => assertRedeemable(undefined, right, now)).toThrow(invalidGrant(description))
    expect(() => check({}, { clientId: 'other' })).toThrow(invalidGrant(description))
  })

  test('is a replay the second time, however late', () => {
    expect(check({ consumedAt: now })).toBe('replay')
    expect(check({ consumedAt: now - 86_400, codeExpiresAt: now - 86_000 })).toBe('replay')
  })

  test.each([
    ['in its last second', now + 59, 'redeem'],
    ['at its end', now + 60, undefined],
    ['after its end', now + 61, undefined],
  ])('%s', (_case, at, result) => {
    if (result) expect(check({}, {}, at)).toBe(result)
    else expect(() => check({}, {}, at)).toThrow(invalidGrant('expired'))
  })

  test.each<[string, Partial<AuthorizationState>]>([
    ['was revoked', { revokedAt: now }],
    ['has reached its absolute end', { expiresAt: now }],
    ['belongs to a login that was ended', { loginStands: false }],
  ])('is refused when its grant %s', (_case, change) => {
    expect(() => check(change)).toThrow(invalidGrant('revoked'))
  })

  test('outlives its login with offline_access', () => {
    expect(check({ loginStands: false, offline: true })).toBe('redeem')
  })

  test('only a code with all its bindings is redeemed or a replay', () => {
    fc.assert(
      fc.property(
        fc.record({
          clientId: fc.constantFrom('journal', 'other'),
          redirectUri: fc.constantFrom(redirectUri, 'https://evil.example'),
          codeVerifier: fc.constantFrom(verifier, undefined, 'w'.repeat(43)),
          binding: fc.constant(bearer),
        }),
        fc.constantFrom(null, now - 5),
        fc.constantFrom(null, now - 3),
        fc.constantFrom(now, now + 60),
        (presented, consumedAt, revokedAt, at) => {
          const bound = JSON.stringify(presented) === JSON.stringify(right)
          try {
            const answer = check({ consumedAt, revokedAt }, presented, at)
            expect(bound).toBe(true)
            expect(answer).toBe(consumedAt === null ? 'redeem' : 'replay')
            if (answer === 'redeem') expect([revokedAt, at]).toEqual([null, now])
          } catch (error) {
            expect(error).toEqual(invalidGrant())
            expect(bound && consumedAt !== null).toBe(false)
          }
        },
      ),
    )
  })
})

describe('refreshing', () => {
  const unused = { consumedAt: null, successor: null }
  const token: RefreshToken = { hash: 'h', authorization, binding: bearer, expiresAt: now + 100, ...unused }
  const used: RefreshToken = { ...token, consumedAt: now - 5, successor: 'sealed' }
  const rules: RefreshRules = {
    clientId: 'journal',
    rotation: true,
    refreshGracePeriod: 10,
    binding: bearer,
  }
  const head = (change: Partial<AuthorizationState>): Pick<RefreshToken, 'authorization'> => ({
    authorization: { ...authorization, ...change },
  })
  const bound = { binding: key }
  const successor: RefreshToken = { ...token, hash: 's' }

  test.each<[string, Partial<RefreshToken>, Partial<RefreshRules>, string]>([
    ['an unused token: rotate', {}, {}, 'rotate'],
    ['an unused token of a client without rotation: keep', {}, { rotation: false }, 'keep'],
    ['an unused token in its last second: rotate', { expiresAt: now + 1 }, {}, 'rotate'],
    ['a used token within the window: the same answer again', used, {}, 'repeat'],
    ['a used token at once: the same answer again', { ...used, consumedAt: now }, {}, 'repeat'],
    ['a used token in the last second of the window', { ...used, consumedAt: now - 9 }, {}, 'repeat'],
    ['a used token at the end of the window: reuse', { ...used, consumedAt: now - 10 }, {}, 'reuse'],
    ['a used token later: reuse', { ...used, consumedAt: now - 86_400, expiresAt: now - 1 }, {}, 'reuse'],
    [
      'a used token of a login that was ended: reuse, because the grant may go on',
      { ...used, consumedAt: now - 10, ...head({ loginStands: false }) },
      {},
      'reuse',
    ],
    ['a used token without a window', { ...used, consumedAt: now }, { refreshGracePeriod: 0 }, 'reuse'],
    ['a bound token, with a proof of its key', bound, { binding: key }, 'rotate'],
    ['a bound token of a confidential client', bound, { binding: undefined }, 'rotate'],
    ['an unused token after its login, offline', head({ loginStands: false, offline: true }), {}, 'rotate'],
  ])('%s', (_case, change, rule, answer) => {
    const found = { ...token, ...change }
    expect(assertRefreshable(found, successor, { ...rules, ...rule }, now)).toEqual({
      outcome: answer,
      token: found,
      ...(answer === 'repeat' && { successor }),
    })
  })

  test.each<[string, Partial<RefreshToken> | undefined, Partial<RefreshRules>, string]>([
    ['is used too', { consumedAt: now }, {}, 'reuse'],
    ['is expired', { expiresAt: now }, {}, 'reuse'],
    ['is gone', undefined, {}, 'reuse'],
    ['needs a key that the request lacks', bound, {}, 'reuse'],
    ['needs no key, and the request proves one', {}, { binding: key }, 'reuse'],
    ['needs the key that the request proves', bound, { binding: key }, 'repeat'],
    ['needs a key, and its client none any more', bound, { binding: undefined }, 'repeat'],
  ])('a used token whose successor %s', (_case, change, rule, answer) => {
    const next = change && { ...successor, ...change }
    expect(assertRefreshable(used, next, { ...rules, ...rule }, now).outcome).toBe(answer)
  })

  test.each<[string, Partial<RefreshToken>, string]>([
    ['an expired token', { expiresAt: now }, 'expired'],
    ['a revoked family', head({ revokedAt: now - 1 }), 'revoked'],
    ['a family at its absolute end', head({ expiresAt: now }), 'ended'],
    ['a family whose login was ended', head({ loginStands: false }), 'ended'],
    ['another client’s token', head({ clientId: 'other' }), 'another client'],
    ['a used token of a revoked family', { ...used, ...head({ revokedAt: now - 1 }) }, 'revoked'],
    ['a repeat under a login that was ended', { ...used, ...head({ loginStands: false }) }, 'ended'],
    ['another’s used token', { ...used, consumedAt: 1, ...head({ clientId: 'other' }) }, 'another client'],
    ['a revoked family even with offline_access', head({ revokedAt: now, offline: true }), 'revoked'],
    ['a bound token without a proof', bound, 'bound to a key'],
    ['a used bound token without a proof', { ...used, ...bound }, 'bound to a key'],
    ['an ended family even with offline_access', head({ expiresAt: now, offline: true }), 'ended'],
  ])('refuses %s', (_case, change, description) => {
    const refreshing = () => assertRefreshable({ ...token, ...change }, successor, rules, now)
    expect(refreshing).toThrow(invalidGrant(description))
  })

  test('refuses an unknown token with the same description as another client’s', () => {
    const refreshing = () => assertRefreshable(undefined, undefined, rules, now)
    expect(refreshing).toThrow(invalidGrant('unknown, or was issued to another'))
  })

  test('gives a token its idle lifetime, never beyond the end of the family', () => {
    expect(refreshTokenExpiry(now, 100, now + 1000)).toBe(now + 100)
    expect(refreshTokenExpiry(now, 100, now + 50)).toBe(now + 50)
    expect(refreshTokenExpiry(now, 100, now - 1)).toBe(now - 1)
  })
})
