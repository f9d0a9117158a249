import type { Authorization } from '../../lib/protocol/authorization.ts'
import { assertRedeemable, type PresentedCode } from '../../lib/protocol/authorization-code.ts'
import type { AuthorizationRequest, Prompt } from '../../lib/protocol/authorization-request.ts'
import type { Client } from '../../lib/protocol/client.ts'
import { parseClientMetadata } from '../../lib/protocol/client-metadata.ts'
import { type AuthorizationContext, type NextStep, nextStep } from '../../lib/protocol/next-step.ts'
import { codeChallengeOf } from '../../lib/protocol/pkce.ts'
import { assertRefreshable, type RefreshToken, refreshTokenExpiry } from '../../lib/protocol/refresh-token.ts'
import { isWithinScopes } from '../../lib/protocol/scope.ts'
import { fc } from '../support/property.ts'

const now = 1_800_000_000
const invalidGrant = (description = ''): Error =>
  expect.objectContaining({ code: 'invalid_grant', message: expect.stringContaining(description) })

const redirectUri = 'https://app.example.com/cb'
const verifier = 'v'.repeat(43)
const request: AuthorizationRequest = {
  clientId: 'journal',
  redirectUri,
  responseType: 'code',
  responseMode: 'query',
  scopes: ['openid', 'email'],
  prompt: [],
}
const authorization: Authorization = {
  id: 'a-1',
  clientId: 'journal',
  subject: '1',
  sid: 's-1',
  scopes: ['openid'],
  offline: false,
  codeExpiresAt: now + 60,
  consumedAt: null,
  expiresAt: now + 3600,
  revokedAt: null,
  loginStands: true,
  details: {
    ...request,
    codeChallenge: { method: 'S256', value: codeChallengeOf(verifier, 'S256') },
    authTime: now,
    amr: ['pwd'],
  },
}

describe('redeeming a code', () => {
  const right: PresentedCode = { clientId: 'journal', redirectUri, codeVerifier: verifier }
  const check = (
    change: Partial<Authorization> = {},
    presented: Partial<PresentedCode> = {},
    at = now,
  ): string => {
    const found = { ...authorization, ...change }
    const { outcome, authorization: proven } = assertRedeemable(found, { ...right, ...presented }, at)
    expect(proven).toBe(found)
    return outcome
  }

  const faults: [string, Partial<Authorization>, Partial<PresentedCode>, string][] = [
    ['another client', {}, { clientId: 'other' }, 'another client'],
    ['another case of the client', {}, { clientId: 'Journal' }, 'another client'],
    ['another redirect_uri', {}, { redirectUri: `${redirectUri}/` }, 'redirect_uri'],
    [
      'another port of a loopback redirect_uri',
      { details: { ...authorization.details, redirectUri: 'http://127.0.0.1:5000/cb' } },
      { redirectUri: 'http://127.0.0.1:5001/cb' },
      'redirect_uri',
    ],
    ['no verifier', {}, { codeVerifier: undefined }, 'code_verifier'],
    ['another verifier', {}, { codeVerifier: 'w'.repeat(43) }, 'code_verifier'],
    [
      'a verifier without a challenge',
      { details: { ...authorization.details, codeChallenge: undefined } },
      {},
      'no code_challenge',
    ],
  ]

  test('right in every respect', () => {
    expect(check()).toBe('redeem')
    expect(
      check({ details: { ...authorization.details, codeChallenge: undefined } }, { codeVerifier: undefined }),
    ).toBe('redeem')
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
    expect(() => assertRedeemable(undefined, right, now)).toThrow(invalidGrant('unknown'))
  })

  test('says the same of an unknown code and of another client’s', () => {
    const words = (rule: () => unknown): string => {
      try {
        return String(rule())
      } catch (error) {
        return String(error)
      }
    }
    expect(words(() => assertRedeemable(undefined, right, now))).toBe(
      words(() => check({}, { clientId: 'other' })),
    )
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

  test.each<[string, Partial<Authorization>]>([
    ['was revoked', { revokedAt: now }],
    ['has reached its absolute end', { expiresAt: now }],
    ['belongs to a login that was ended', { loginStands: false }],
  ])('is refused when its grant %s', (_case, change) => {
    expect(() => check(change)).toThrow(invalidGrant('revoked'))
  })

  test('outlives its login with offline_access', () => {
    expect(check({ loginStands: false, offline: true })).toBe('redeem')
  })

  test('whatever is wrong, only what is right in every binding is redeemed or a replay', () => {
    fc.assert(
      fc.property(
        fc.record({
          clientId: fc.constantFrom('journal', 'other'),
          redirectUri: fc.constantFrom(redirectUri, 'https://evil.example'),
          codeVerifier: fc.constantFrom(verifier, undefined, 'w'.repeat(43)),
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
  const token: RefreshToken = {
    hash: 'h',
    authorization,
    expiresAt: now + 100,
    consumedAt: null,
    successor: null,
  }
  const used: RefreshToken = { ...token, consumedAt: now - 5, successor: 'sealed' }
  const rules = { clientId: 'journal', rotation: true, refreshTokenGracePeriod: 10 }
  const head = (change: Partial<Authorization>): Pick<RefreshToken, 'authorization'> => ({
    authorization: { ...authorization, ...change },
  })

  test.each<[string, Partial<RefreshToken>, Partial<typeof rules>, string]>([
    ['an unused token: rotate', {}, {}, 'rotate'],
    ['an unused token of a client without rotation: keep', {}, { rotation: false }, 'keep'],
    ['an unused token in its last second: rotate', { expiresAt: now + 1 }, {}, 'rotate'],
    ['a used token within the window: the same answer again', used, {}, 'repeat'],
    ['a used token at once: the same answer again', { ...used, consumedAt: now }, {}, 'repeat'],
    ['a used token in the last second of the window', { ...used, consumedAt: now - 9 }, {}, 'repeat'],
    ['a used token at the end of the window: reuse', { ...used, consumedAt: now - 10 }, {}, 'reuse'],
    [
      'a used token long after: reuse',
      { ...used, consumedAt: now - 86_400, expiresAt: now - 1 },
      {},
      'reuse',
    ],
    ['a used token whose successor was used too: reuse', { ...used, successor: null }, {}, 'reuse'],
    [
      'a used token with the window off: reuse',
      { ...used, consumedAt: now },
      { refreshTokenGracePeriod: 0 },
      'reuse',
    ],
    [
      'an unused token after its login, with offline_access',
      head({ loginStands: false, offline: true }),
      {},
      'rotate',
    ],
  ])('%s', (_case, change, rule, answer) => {
    const found = { ...token, ...change }
    expect(assertRefreshable(found, { ...rules, ...rule }, now)).toEqual({
      outcome: answer,
      token: found,
      ...(answer === 'repeat' && { successor: found.successor }),
    })
  })

  test.each<[string, Partial<RefreshToken>, string]>([
    ['an expired token', { expiresAt: now }, 'expired'],
    ['a revoked family', head({ revokedAt: now - 1 }), 'revoked'],
    ['a family at its absolute end', head({ expiresAt: now }), 'ended'],
    ['a family whose login was ended', head({ loginStands: false }), 'ended'],
    ['another client’s token', head({ clientId: 'other' }), 'another client'],
    [
      'a used token of a revoked family, window or not',
      { ...used, ...head({ revokedAt: now - 1 }) },
      'revoked',
    ],
    ['a used token of a login that was ended', { ...used, ...head({ loginStands: false }) }, 'ended'],
    [
      'another client’s used token, whose family must live on',
      { ...used, consumedAt: 1, ...head({ clientId: 'other' }) },
      'another client',
    ],
    ['a revoked family even with offline_access', head({ revokedAt: now, offline: true }), 'revoked'],
    [
      'a family at its absolute end even with offline_access',
      head({ expiresAt: now, offline: true }),
      'ended',
    ],
  ])('refuses %s', (_case, change, description) => {
    expect(() => assertRefreshable({ ...token, ...change }, rules, now)).toThrow(invalidGrant(description))
  })

  test('refuses an unknown token with the same description as another client’s', () => {
    expect(() => assertRefreshable(undefined, rules, now)).toThrow(
      invalidGrant('unknown, or was issued to another'),
    )
  })

  test('gives a token its idle lifetime, never beyond the end of the family', () => {
    expect(refreshTokenExpiry(now, 100, now + 1000)).toBe(now + 100)
    expect(refreshTokenExpiry(now, 100, now + 50)).toBe(now + 50)
    expect(refreshTokenExpiry(now, 100, now - 1)).toBe(now - 1)
  })
})

describe('the next step', () => {
  const clientOf = (metadata: Record<string, unknown> = {}): Client => ({
    clientId: 'journal',
    secretHashes: [],
    metadata: parseClientMetadata({ redirect_uris: [redirectUri], ...metadata }),
    disabledAt: null,
  })
  const confidential = clientOf()
  const publicClient = clientOf({ token_endpoint_auth_method: 'none' })
  const firstParty = clientOf({ first_party: true })
  const login = { sid: 's-1', subject: '1', authTime: now - 100, amr: ['pwd'] }
  const consent = { scopes: ['openid', 'email'] }
  const allowed = { allowed: true, sid: 's-1', scopes: ['openid', 'email'] }
  const plain: AuthorizationContext = {
    request,
    client: confidential,
    login,
    consent,
    decision: undefined,
    sidAtStart: 's-1',
    now,
  }
  const asking = (change: Partial<AuthorizationRequest>): Pick<AuthorizationContext, 'request'> => ({
    request: { ...request, ...change },
  })
  const summary = (step: NextStep): string =>
    step.step === 'issue' ? `issue ${step.scopes.join(' ')}` : step.step === 'error' ? step.code : step.step
  const loopback = 'http://127.0.0.1:5000/cb'

  test.each<[string, Partial<AuthorizationContext>, string]>([
    ['no login', { login: undefined, sidAtStart: undefined }, 'login'],
    [
      'no login, prompt=none',
      { login: undefined, sidAtStart: undefined, ...asking({ prompt: ['none'] }) },
      'login_required',
    ],
    ['no login, although consent and decision exist', { login: undefined, decision: allowed }, 'login'],
    ['logged in and consented', {}, 'issue openid email'],
    ['logged in and consented, prompt=none', asking({ prompt: ['none'] }), 'issue openid email'],
    ['logged in, no consent', { consent: undefined }, 'consent'],
    [
      'logged in, no consent, prompt=none',
      { consent: undefined, ...asking({ prompt: ['none'] }) },
      'consent_required',
    ],
    ['consent to fewer scopes', { consent: { scopes: ['openid'] } }, 'consent'],
    [
      'consent to fewer scopes, prompt=none',
      { consent: { scopes: ['openid'] }, ...asking({ prompt: ['none'] }) },
      'consent_required',
    ],
    [
      'consent to more scopes than asked for',
      { consent: { scopes: ['openid', 'email', 'phone'] } },
      'issue openid email',
    ],
    [
      'no scopes asked for, consent to none',
      { consent: { scopes: [] }, ...asking({ scopes: [] }) },
      'issue ',
    ],
    ['no scopes asked for, never consented', { consent: undefined, ...asking({ scopes: [] }) }, 'consent'],

    ['the user allowed', { consent: undefined, decision: allowed }, 'issue openid email'],
    [
      'the user allowed a part',
      { consent: undefined, decision: { ...allowed, scopes: ['openid'] } },
      'issue openid',
    ],
    [
      'the user allowed less than an older consent',
      { decision: { ...allowed, scopes: ['openid'] } },
      'issue openid',
    ],
    [
      'a decision with scopes beyond the request',
      { decision: { ...allowed, scopes: ['openid', 'admin'] } },
      'issue openid',
    ],
    ['the user denied', { decision: { ...allowed, allowed: false } }, 'access_denied'],
    [
      'the user denied a client of the host’s own',
      { client: firstParty, decision: { ...allowed, allowed: false } },
      'access_denied',
    ],
    [
      'another user allowed, under another login',
      { consent: undefined, decision: { ...allowed, sid: 's-2' } },
      'consent',
    ],
    [
      'another user denied, under another login',
      { decision: { ...allowed, allowed: false, sid: 's-2' } },
      'issue openid email',
    ],
    [
      'allowed under the login before the last',
      { login: { ...login, sid: 's-2' }, consent: undefined, decision: allowed },
      'consent',
    ],

    ['prompt=login, still the same login', asking({ prompt: ['login'] }), 'login'],
    [
      'prompt=login, the same login, and a decision',
      { decision: allowed, ...asking({ prompt: ['login'] }) },
      'login',
    ],
    [
      'prompt=login, a new login',
      { sidAtStart: 's-0', ...asking({ prompt: ['login'] }) },
      'issue openid email',
    ],
    [
      'prompt=login, no login at the start',
      { sidAtStart: undefined, ...asking({ prompt: ['login'] }) },
      'issue openid email',
    ],
    ['prompt=select_account, still the same login', asking({ prompt: ['select_account'] }), 'select-account'],
    [
      'prompt=select_account, the same login, which the user chose to go on with',
      { selectedSid: login.sid, ...asking({ prompt: ['select_account'] }) },
      'issue openid email',
    ],
    [
      'prompt=select_account, the same login, and another was chosen before',
      { selectedSid: 's-0', ...asking({ prompt: ['select_account'] }) },
      'select-account',
    ],
    [
      'prompt=login select_account, an account was chosen, and still the same login',
      { selectedSid: login.sid, ...asking({ prompt: ['login', 'select_account'] }) },
      'login',
    ],
    [
      'prompt=select_account, no login',
      { login: undefined, sidAtStart: undefined, ...asking({ prompt: ['select_account'] }) },
      'login',
    ],
    [
      'prompt=select_account, the hint names another user',
      asking({ prompt: ['select_account'], hintedSubject: 'another user' }),
      'login',
    ],
    [
      'prompt=select_account, a new login',
      { sidAtStart: 's-0', ...asking({ prompt: ['select_account'] }) },
      'issue openid email',
    ],
    ['prompt=consent', asking({ prompt: ['consent'] }), 'consent'],
    [
      'prompt=consent, and the user allowed',
      { decision: allowed, ...asking({ prompt: ['consent'] }) },
      'issue openid email',
    ],
    ['prompt=login consent, the same login', asking({ prompt: ['login', 'consent'] }), 'login'],
    [
      'prompt=login consent, a new login',
      { sidAtStart: undefined, ...asking({ prompt: ['login', 'consent'] }) },
      'consent',
    ],

    ['a login just young enough', asking({ maxAge: 100 }), 'issue openid email'],
    ['a login a second too old', asking({ maxAge: 99 }), 'login'],
    ['a login too old, prompt=none', asking({ maxAge: 99, prompt: ['none'] }), 'login_required'],
    [
      'a login too old, but newer than the request’s start',
      { sidAtStart: 's-0', ...asking({ maxAge: 99 }) },
      'issue openid email',
    ],
    [
      'max_age=0 is prompt=login (OIDC Core §3.1.2.1)',
      { login: { ...login, authTime: now }, ...asking({ maxAge: 0 }) },
      'login',
    ],
    ['max_age=0, a new login', { sidAtStart: undefined, ...asking({ maxAge: 0 }) }, 'issue openid email'],
    [
      'a login of the future, by a clock that is ahead',
      { login: { ...login, authTime: now + 5 }, ...asking({ maxAge: 1 }) },
      'issue openid email',
    ],

    ['id_token_hint of this user', asking({ hintedSubject: '1' }), 'issue openid email'],
    ['id_token_hint of another user', asking({ hintedSubject: '2' }), 'login'],
    [
      'id_token_hint of another user, prompt=none',
      asking({ hintedSubject: '2', prompt: ['none'] }),
      'login_required',
    ],
    [
      'id_token_hint of another user, after a new login',
      { sidAtStart: 's-0', ...asking({ hintedSubject: '2' }) },
      'login_required',
    ],

    ['the host’s own client, no consent', { client: firstParty, consent: undefined }, 'issue openid email'],
    [
      'the host’s own client, prompt=none',
      { client: firstParty, consent: undefined, ...asking({ prompt: ['none'] }) },
      'issue openid email',
    ],
    [
      'the host’s own client, prompt=consent',
      { client: firstParty, ...asking({ prompt: ['consent'] }) },
      'consent',
    ],
    ['the host’s own client, no login', { client: firstParty, login: undefined }, 'login'],

    ['a public client on https, consented', { client: publicClient }, 'issue openid email'],
    [
      'a public client on loopback, consented (RFC 8252 §8.6)',
      { client: publicClient, ...asking({ redirectUri: loopback }) },
      'consent',
    ],
    [
      'a public client on loopback, prompt=none',
      { client: publicClient, ...asking({ redirectUri: loopback, prompt: ['none'] }) },
      'consent_required',
    ],
    [
      'a public client on loopback, allowed just now',
      { client: publicClient, decision: allowed, ...asking({ redirectUri: loopback }) },
      'issue openid email',
    ],
    [
      'a public client on localhost, consented',
      { client: publicClient, ...asking({ redirectUri: 'http://localhost:1/cb' }) },
      'consent',
    ],
    [
      'a public client on [::1], consented',
      { client: publicClient, ...asking({ redirectUri: 'http://[::1]:1/cb' }) },
      'consent',
    ],
    [
      'a public client on a private-use scheme, consented',
      { client: publicClient, ...asking({ redirectUri: 'com.example.app:/cb' }) },
      'consent',
    ],
    [
      'a confidential client on loopback, consented: its secret says who it is',
      asking({ redirectUri: loopback }),
      'issue openid email',
    ],
  ])('%s', (_case, change, expected) => {
    expect(summary(nextStep({ ...plain, ...change }))).toBe(expected)
  })

  const scopes = fc.subarray(['openid', 'email', 'orders:read', 'admin'])
  const sid = fc.constantFrom('s-1', 's-2')
  const situations: fc.Arbitrary<AuthorizationContext> = fc.record({
    request: fc.record({
      clientId: fc.constant('journal'),
      redirectUri: fc.constantFrom(redirectUri, loopback, 'com.example.app:/cb'),
      responseType: fc.constant('code'),
      responseMode: fc.constant('query' as const),
      scopes,
      prompt: fc.oneof(
        fc.constant<Prompt[]>(['none']),
        fc.subarray<Prompt>(['login', 'consent', 'select_account']),
      ),
      maxAge: fc.constantFrom(undefined, 0, 60, 3600),
      hintedSubject: fc.constantFrom(undefined, undefined, '1', '2'),
    }),
    client: fc.constantFrom(
      confidential,
      publicClient,
      firstParty,
      clientOf({ token_endpoint_auth_method: 'none', first_party: true }),
    ),
    login: fc.option(
      fc.record({
        sid,
        subject: fc.constantFrom('1', '2'),
        authTime: fc.constantFrom(now, now - 61, now - 9999),
        amr: fc.constant([]),
      }),
      { nil: undefined },
    ),
    consent: fc.option(fc.record({ scopes }), { nil: undefined }),
    decision: fc.option(fc.record({ allowed: fc.boolean(), sid, scopes }), { nil: undefined }),
    sidAtStart: fc.option(sid, { nil: undefined }),
    selectedSid: fc.option(sid, { nil: undefined }),
    now: fc.constant(now),
  })
  const always = (name: string, rule: (context: AuthorizationContext, step: NextStep) => void): void => {
    test(`always: ${name}`, () => {
      fc.assert(
        fc.property(situations, (context) => rule(context, nextStep(context))),
        { numRuns: 1000 },
      )
    })
  }

  always('a code is issued only for the login that stands', ({ login: standing }, step) => {
    if (step.step === 'issue') expect(step.login).toBe(standing)
    if (standing === undefined) expect(['login', 'login_required']).toContain(summary(step))
  })
  always('no scope is issued beyond the request', (context, step) => {
    if (step.step === 'issue') expect(isWithinScopes(step.scopes, context.request.scopes)).toBe(true)
  })
  always('a decision of another login changes nothing', (context, step) => {
    if (context.decision?.sid !== context.login?.sid)
      expect(step).toEqual(nextStep({ ...context, decision: undefined }))
  })
  always('prompt=none never shows a page', (context, step) => {
    if (context.request.prompt.includes('none')) expect(['issue', 'error']).toContain(step.step)
  })
  always(
    'without prompt=none a user is asked and not refused, unless they denied or the hint names another',
    (context, step) => {
      if (step.step === 'error' && !context.request.prompt.includes('none')) {
        const denied = context.decision?.allowed === false
        expect(denied || context.request.hintedSubject !== context.login?.subject).toBe(true)
      }
    },
  )
  always('who denied gets no code under that login', ({ decision, login: standing }, step) => {
    if (decision?.allowed === false && decision.sid === standing?.sid) expect(step.step).not.toBe('issue')
  })
  always(
    'without a decision only a consent to every scope, or a client of the host’s own, gives a code',
    (context, step) => {
      if (step.step !== 'issue' || context.decision?.sid === context.login?.sid) return
      const { client, consent: remembered, request: asked } = context
      expect(asked.prompt).not.toContain('consent')
      const covered = remembered !== undefined && isWithinScopes(asked.scopes, remembered.scopes)
      expect(client.metadata.first_party || covered).toBe(true)
    },
  )
  always('a new login is required until the login has changed', (context, step) => {
    const { request: asked, login: standing, sidAtStart } = context
    const wanted = asked.prompt.includes('login') || asked.maxAge === 0
    if (wanted && standing?.sid === sidAtStart) expect(['login', 'login_required']).toContain(summary(step))
  })
  always('no code is issued before the user has selected an account', (context, step) => {
    const { request: asked, login: standing, sidAtStart, selectedSid } = context
    if (!asked.prompt.includes('select_account') || standing?.sid !== sidAtStart) return
    if (standing?.sid !== selectedSid) expect(['login', 'select-account']).toContain(summary(step))
  })
  always('an account is selected once, and only if the request asks for it', (context, step) => {
    if (step.step !== 'select-account') return
    expect(context.request.prompt).toContain('select_account')
    expect(summary(nextStep({ ...context, selectedSid: context.login?.sid }))).not.toBe('select-account')
  })
  always('id_token_hint lets no other user in', (context, step) => {
    const hinted = context.request.hintedSubject
    if (step.step === 'issue' && hinted !== undefined) expect(step.login.subject).toBe(hinted)
  })
})
