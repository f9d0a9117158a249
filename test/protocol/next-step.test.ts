import type { Client } from '../../lib/protocol/clients/client.ts'
import { parseClientMetadata } from '../../lib/protocol/clients/client-metadata.ts'
import { wordsOf } from '../../lib/protocol/refusal.ts'
import type { AuthorizationRequest, Prompt } from '../../lib/protocol/requests/authorization-request.ts'
import { type AuthorizationContext, type NextStep, nextStep } from '../../lib/protocol/requests/next-step.ts'
import type { OrganizationChoice } from '../../lib/protocol/requests/organization.ts'
import { isWithinScopes } from '../../lib/protocol/scope.ts'
import { fc } from '../support/property.ts'

const now = 1_800_000_000
const redirectUri = 'https://app.example.com/cb'
const request: AuthorizationRequest = {
  clientId: 'journal',
  redirectUri,
  responseType: 'code',
  responseMode: 'query',
  scopes: ['openid', 'email'],
  prompt: [],
}
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
const lessConsent = { scopes: ['openid'] }
const allowed = { allowed: true, sid: 's-1', scopes: ['openid', 'email'] }
const allowedLess = { ...allowed, scopes: ['openid'] }
const denied = { ...allowed, allowed: false }
const plain: AuthorizationContext = {
  request,
  client: confidential,
  login,
  consent,
  hasAllowed: true,
  decision: undefined,
  sidAtStart: 's-1',
  requestedAt: now,
  now,
}
const asking = (change: Partial<AuthorizationRequest>): Pick<AuthorizationContext, 'request'> => ({
  request: { ...request, ...change },
})
const summary = (step: NextStep): string =>
  step.step === 'issue'
    ? `issue ${step.scopes.join(' ')}`
    : step.step === 'error'
      ? wordsOf(step.reason)[0]
      : step.step
const prompting = (...prompt: Prompt[]) => asking({ prompt })
const to = (uri: string, ...prompt: Prompt[]) => asking({ redirectUri: uri, prompt })
const loggedOut = { login: undefined, sidAtStart: undefined }
const renewed = { login: { ...login, authTime: now }, sidAtStart: 's-0' }
const signedIn = { ...renewed, sidAtStart: undefined }
const untimed = { login: { ...login, authTime: now, fromHost: true, lacksTime: true }, sidAtStart: undefined }
const issued = 'issue openid email'
const loopback = 'http://127.0.0.1:5000/cb'
const [localhost, loopback6, ownScheme] = [
  'http://localhost:1/cb',
  'http://[::1]:1/cb',
  'com.example.app:/cb',
]

test.each<[string, Partial<AuthorizationContext>, string]>([
  ['no login', { ...loggedOut }, 'login'],
  ['no login, prompt=none', { ...loggedOut, ...prompting('none') }, 'login_required'],
  ['logged in and consented', {}, issued],
  ['logged in and consented, prompt=none', prompting('none'), issued],
  ['logged in, no consent', { consent: undefined }, 'consent'],
  ['logged in, no consent, prompt=none', { consent: undefined, ...prompting('none') }, 'consent_required'],
  ['consent to fewer scopes', { consent: lessConsent }, 'consent'],
  ['fewer scopes, prompt=none', { consent: lessConsent, ...prompting('none') }, 'consent_required'],
  ['consent to more scopes than asked for', { consent: { scopes: ['openid', 'email', 'phone'] } }, issued],
  ['no scopes asked for, consent to none', { consent: { scopes: [] }, ...asking({ scopes: [] }) }, 'issue '],
  ['no scopes asked for, never consented', { consent: undefined, ...asking({ scopes: [] }) }, 'consent'],

  [
    'a level that the login has',
    { ...asking({ acrValues: ['a', 'b'] }), login: { ...login, acr: 'b' } },
    issued,
  ],
  ['a level that the login lacks', asking({ acrValues: ['mfa'] }), 'login'],
  ['the same, prompt=none', asking({ acrValues: ['mfa'], prompt: ['none'] }), 'login_required'],
  [
    'a level that the renewed login lacks, too',
    { ...renewed, ...asking({ acrValues: ['mfa'] }) },
    'unmet_authentication_requirements',
  ],
  [
    'a voluntary level that the renewed login lacks, too',
    { ...renewed, ...asking({ acrValues: ['mfa'], acrIsVoluntary: true }) },
    issued,
  ],

  ['the user allowed', { consent: undefined, decision: allowed }, issued],
  ['the user allowed a part', { consent: undefined, decision: allowedLess }, 'issue openid'],
  ['the user allowed less than an older consent', { decision: allowedLess }, 'issue openid'],
  ['allowed beyond the request', { decision: { ...allowed, scopes: ['openid', 'admin'] } }, 'issue openid'],
  ['the user denied', { decision: denied }, 'access_denied'],
  ['the user denied a client of the host’s own', { client: firstParty, decision: denied }, 'access_denied'],
  ['allowed under another login', { consent: undefined, decision: { ...allowed, sid: 's-2' } }, 'consent'],
  ['allowed before', { login: { ...login, sid: 's-2' }, consent: undefined, decision: allowed }, 'consent'],

  ['prompt=login, still the same login', prompting('login'), 'login'],
  ['prompt=login, the same login, and a decision', { decision: allowed, ...prompting('login') }, 'login'],
  ['prompt=login, a new login', { ...renewed, ...prompting('login') }, issued],
  ['prompt=login, no login at the start', { ...signedIn, ...prompting('login') }, issued],
  [
    'prompt=login, an older login that was not sent at the start (M1)',
    { sidAtStart: undefined, ...prompting('login') },
    'login',
  ],
  ['prompt=login, another older login (M1)', { sidAtStart: 's-0', ...prompting('login') }, 'login'],
  ['prompt=login, a login of unknown time (M1)', { ...untimed, ...prompting('login') }, 'login'],
  ['max_age, a login of unknown time (M1)', { ...untimed, ...asking({ maxAge: 1000 }) }, 'login'],
  [
    'a level, an older login that lacks it (M1)',
    { sidAtStart: 's-0', ...asking({ acrValues: ['mfa'] }) },
    'login',
  ],
  ['prompt=select_account, still the same login', prompting('select_account'), 'select-account'],
  ['select_account, this login selected', { selectedSid: login.sid, ...prompting('select_account') }, issued],
  ['another account selected', { selectedSid: 's-0', ...prompting('select_account') }, 'select-account'],
  ['select_account, no login', { ...loggedOut, ...prompting('select_account') }, 'login'],
  ['select_account, a hint of another', asking({ prompt: ['select_account'], hintedSubject: '2' }), 'login'],
  ['select_account, a new login', { ...renewed, ...prompting('select_account') }, issued],
  [
    'select_account, an older login (M1)',
    { sidAtStart: undefined, ...prompting('select_account') },
    'select-account',
  ],
  [
    'select_account, a login of unknown time (M1)',
    { ...untimed, ...prompting('select_account') },
    'select-account',
  ],
  ['prompt=consent', prompting('consent'), 'consent'],
  ['prompt=consent, and the user allowed', { decision: allowed, ...prompting('consent') }, issued],
  ['prompt=login consent, the same login', prompting('login', 'consent'), 'login'],
  ['login consent, a new login', { ...signedIn, ...prompting('login', 'consent') }, 'consent'],

  ['a login just young enough', asking({ maxAge: 100 }), issued],
  ['a login a second too old', asking({ maxAge: 99 }), 'login'],
  ['a login too old, prompt=none', asking({ maxAge: 99, prompt: ['none'] }), 'login_required'],
  [
    'a login too old, but newer than the request',
    { sidAtStart: 's-0', requestedAt: now - 100, ...asking({ maxAge: 99 }) },
    issued,
  ],
  ['max_age=0 (OIDC §3.1.2.1)', { login: { ...login, authTime: now }, ...asking({ maxAge: 0 }) }, 'login'],
  ['max_age=0, a new login', { ...signedIn, ...asking({ maxAge: 0 }) }, issued],
  ['a clock that is ahead', { login: { ...login, authTime: now + 5 }, ...asking({ maxAge: 1 }) }, issued],

  ['id_token_hint of this user', asking({ hintedSubject: '1' }), issued],
  ['id_token_hint of another user', asking({ hintedSubject: '2' }), 'login'],
  ['another hint, prompt=none', asking({ hintedSubject: '2', prompt: ['none'] }), 'login_required'],
  ['a stranger, prompt=none', { hasAllowed: false, ...prompting('none') }, 'consent_required'],
  [
    'a stranger, a login too old, another hint, a level and prompt=none',
    {
      hasAllowed: false,
      ...asking({ maxAge: 99, hintedSubject: '2', acrValues: ['mfa'], prompt: ['none'] }),
    },
    'consent_required',
  ],
  [
    'a stranger, no login, prompt=none',
    { ...loggedOut, hasAllowed: false, ...prompting('none') },
    'login_required',
  ],
  [
    'first-party on its own scheme as a public client, prompt=none, another hint',
    {
      client: clientOf({ token_endpoint_auth_method: 'none', first_party: true }),
      ...asking({ redirectUri: ownScheme, hintedSubject: '2', prompt: ['none'] }),
    },
    'consent_required',
  ],
  ['another hint, a new login', { ...renewed, ...asking({ hintedSubject: '2' }) }, 'login_required'],
  [
    'another hint, an older login (M1)',
    { sidAtStart: undefined, ...asking({ hintedSubject: '2' }) },
    'login',
  ],

  ['the host’s own client, no consent', { client: firstParty, consent: undefined }, issued],
  ['first-party, prompt=none', { client: firstParty, consent: undefined, ...prompting('none') }, issued],
  ['the host’s own client, prompt=consent', { client: firstParty, ...prompting('consent') }, 'consent'],
  ['details that are asked for each time', asking({ alwaysAsks: true }), 'consent'],
  ['the host’s own client, no login', { client: firstParty, login: undefined }, 'login'],

  ['a public client on https, consented', { client: publicClient }, issued],
  ['a public client on loopback (RFC 8252 §8.6)', { client: publicClient, ...to(loopback) }, 'consent'],
  ['the same, prompt=none', { client: publicClient, ...to(loopback, 'none') }, 'consent_required'],
  ['the same, allowed just now', { client: publicClient, decision: allowed, ...to(loopback) }, issued],
  ['a public client on localhost, consented', { client: publicClient, ...to(localhost) }, 'consent'],
  ['a public client on [::1], consented', { client: publicClient, ...to(loopback6) }, 'consent'],
  ['a public client on its own scheme, consented', { client: publicClient, ...to(ownScheme) }, 'consent'],
  ['a confidential client on loopback, consented', to(loopback), issued],
])('%s', (_case, change, expected) => {
  expect(summary(nextStep({ ...plain, ...change }))).toBe(expected)
})

const scopes = fc.subarray(['openid', 'email', 'orders:read', 'admin'])
const sid = fc.constantFrom('s-1', 's-2')
const situations: fc.Arbitrary<AuthorizationContext> = fc.record({
  request: fc.record({
    clientId: fc.constant('journal'),
    redirectUri: fc.constantFrom(redirectUri, loopback, ownScheme),
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
      fromHost: fc.boolean(),
      lacksTime: fc.boolean(),
    }),
    { nil: undefined },
  ),
  consent: fc.option(fc.record({ scopes }), { nil: undefined }),
  hasAllowed: fc.boolean(),
  decision: fc.option(fc.record({ allowed: fc.boolean(), sid, scopes }), { nil: undefined }),
  sidAtStart: fc.option(sid, { nil: undefined }),
  selectedSid: fc.option(sid, { nil: undefined }),
  requestedAt: fc.constant(now),
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

/** What a request gets for which the user must sign in again. */
const mustSignIn = ({ request: { prompt } }: AuthorizationContext): string[] =>
  prompt.includes('none') ? ['login_required', 'consent_required'] : ['login']

always('a client that the user allowed nothing learns nothing without a page (M10)', (context, step) => {
  const { request: asked, client, login: standing, hasAllowed } = context
  if (!asked.prompt.includes('none') || hasAllowed || client.metadata.first_party) return
  expect(summary(step)).toBe(standing ? 'consent_required' : 'login_required')
})
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
  'without prompt=none a user is asked, unless they denied or the hint names another',
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
  'without a decision only a consent to every scope or a first-party client gives a code',
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
  if (wanted && standing?.sid === sidAtStart) expect(mustSignIn(context)).toContain(summary(step))
})
always('a login that is older than the request, or may be, renews nothing (M1)', (context, step) => {
  const { request: asked, login: standing, requestedAt } = context
  const tooOld = asked.maxAge !== undefined && now - (standing?.authTime ?? 0) > asked.maxAge
  const wanted = asked.prompt.includes('login') || asked.maxAge === 0 || tooOld
  if (wanted && standing && (standing.lacksTime || standing.authTime < requestedAt - 10))
    expect(mustSignIn(context)).toContain(summary(step))
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

describe('with organizations', () => {
  const open: OrganizationChoice = { outcome: 'open' }
  const undecided = { organization: open }
  const inNone = { organization: { outcome: 'denied', lack: 'none', description: '' } } as const
  const inAcme = { organization: { outcome: 'settled', organization: 'acme' } } as const
  const allowedFor = (organization: string) => ({ ...allowed, organization })
  const issuedForAcme = 'issue for acme'
  const summaryWithOrganization = (step: NextStep): string =>
    step.step === 'issue' ? `issue for ${step.organization}` : summary(step)

  test.each<[string, Partial<AuthorizationContext>, string]>([
    ['open', undecided, 'organization'],
    ['open, and consented somewhere', { ...undecided, consent }, 'organization'],
    ['open, a client of the host’s own', { ...undecided, client: firstParty }, 'organization'],
    ['open, used before', { organization: { outcome: 'open', suggested: 'acme' } }, 'consent'],
    ['open, prompt=none', { ...undecided, ...prompting('none') }, 'interaction_required'],
    [
      'open, prompt=none, a client of the host’s own',
      { ...undecided, ...prompting('none'), client: firstParty },
      'interaction_required',
    ],
    ['open, no login', { organization: undefined, login: undefined }, 'login'],
    ['open, prompt=login', { ...undecided, ...prompting('login') }, 'login'],
    ['open, an answer without an organization', { ...undecided, decision: allowed }, 'organization'],
    ['open, the user denied', { ...undecided, decision: denied }, 'access_denied'],
    ['in none', inNone, 'no-organization'],
    ['in none, a client of the host’s own', { ...inNone, client: firstParty }, 'no-organization'],
    [
      'in none, a client of the host’s own, prompt=none',
      { ...inNone, ...prompting('none'), client: firstParty },
      'access_denied',
    ],
    ['no login', { organization: undefined, login: undefined, ...prompting('none') }, 'login_required'],
    ['settled, not consented', inAcme, 'consent'],
    ['settled, not consented, prompt=none', { ...inAcme, ...prompting('none') }, 'consent_required'],
    ['settled and consented', { ...inAcme, consent }, issuedForAcme],
    ['settled and consented, prompt=none', { ...inAcme, consent, ...prompting('none') }, issuedForAcme],
    ['settled, a client of the host’s own', { ...inAcme, client: firstParty }, issuedForAcme],
    ['settled and allowed', { ...inAcme, decision: allowedFor('acme') }, issuedForAcme],
    ['settled, and another one was allowed', { ...inAcme, decision: allowedFor('globex') }, 'consent'],
    ['consented, another was allowed', { ...inAcme, consent, decision: allowedFor('globex') }, issuedForAcme],
    ['settled, allowed without one', { ...inAcme, decision: allowed }, 'consent'],
    [
      'allowed under another login',
      { ...inAcme, decision: { ...allowedFor('acme'), sid: 's-0' } },
      'consent',
    ],
    ...(
      [
        ['not consented', {}, 'consent'],
        ['consented', { consent }, issuedForAcme],
        ['a client of the host’s own', { client: firstParty }, issuedForAcme],
        ['prompt=consent', { consent, ...prompting('consent') }, 'consent'],
        ['denied', { decision: { ...allowed, allowed: false, organizationOnly: true } }, 'access_denied'],
      ] as [string, Partial<AuthorizationContext>, string][]
    ).map(([name, change, step]): [string, Partial<AuthorizationContext>, string] => [
      `settled by a choice alone, ${name}`,
      {
        ...inAcme,
        decision: { ...allowed, scopes: [], organization: 'acme', organizationOnly: true },
        ...change,
      },
      step,
    ]),
    ['the host knows none, one was allowed', { decision: allowedFor('acme') }, 'consent'],
    ['the host knows none, allowed', { decision: allowed }, 'issue for undefined'],
  ])('%s', (_, change, step) => {
    expect(summaryWithOrganization(nextStep({ ...plain, consent: undefined, ...change }))).toBe(step)
  })
})
