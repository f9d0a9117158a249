import type { Client } from '../../lib/protocol/clients/client.ts'
import { parseClientMetadata } from '../../lib/protocol/clients/client-metadata.ts'
import type { AuthorizationRequest } from '../../lib/protocol/requests/authorization-request.ts'
import {
  decide,
  decideUnissued,
  decideWith,
  type HostAnswer,
  mayGoOn,
  type RequestFacts,
} from '../../lib/protocol/requests/decide.ts'

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
const client: Client = {
  clientId: 'journal',
  secretHashes: [],
  metadata: parseClientMetadata({ redirect_uris: [redirectUri] }),
  disabledAt: null,
}
const login = { sid: 's-1', subject: '1', authTime: now - 100, amr: ['pwd'] }
/** A request of a user who is signed in and has consented. */
const facts: RequestFacts = {
  request,
  client,
  login,
  consent: { scopes: ['openid', 'email'] },
  hasAllowed: true,
  decision: undefined,
  sidAtStart: 's-1',
  requestedAt: now,
  now,
  returned: false,
}
const supported = ['pwd', 'mfa', 'hardware']
const asking = (change: Partial<AuthorizationRequest>) => ({ request: { ...request, ...change } })
const silent = asking({ prompt: ['none'] })
const signedOut = { login: undefined, sidAtStart: undefined }
const renewed = { login: { ...login, authTime: now }, sidAtStart: 's-0' }
const unconsented = { consent: undefined, hasAllowed: false }
const settled = { organization: { outcome: 'settled', organization: 'acme' } } as const
const open = { organization: { outcome: 'open', suggested: 'acme' } } as const
const noOrganization = {
  organization: { outcome: 'denied', lack: 'none' },
} as const

const allowed: HostAnswer<string> = { outcome: 'allowed', user: 'Alice', scopes: request.scopes }
const denied: HostAnswer<string> = { outcome: 'denied', reason: 'only staff' }
const stepUp = (...acrValues: string[]): HostAnswer<string> => ({ outcome: 'step-up', acrValues })

/** The step of a request; where it depends on the host, what the host is asked, or the step after the answer. */
const stepOf = (change: Partial<RequestFacts>, answer?: HostAnswer<string>) => {
  const changed = { ...facts, ...change }
  const step = decide(changed)
  return step.step === 'ask-host' && answer ? decideWith(changed, step, answer, supported) : step
}

test.each<[string, Partial<RequestFacts>, HostAnswer<string> | undefined, object]>([
  ['no login', signedOut, undefined, { step: 'login' }],
  ['no login, prompt=none', { ...signedOut, ...silent }, undefined, { reason: 'login_missing' }],
  [
    'no login, back from the host’s page',
    { ...signedOut, returned: true },
    undefined,
    { reason: 'login_not_made' },
  ],
  [
    'an earlier login, back from the host’s page',
    { ...asking({ prompt: ['login'] }), returned: true },
    undefined,
    { reason: 'login_not_renewed' },
  ],
  [
    'too low a level, back from the host’s page',
    { ...asking({ acrValues: ['mfa'] }), returned: true },
    undefined,
    { reason: 'level_not_reached' },
  ],
  ['a new login, back from the host’s page', { ...renewed, returned: true }, allowed, { step: 'issue' }],
  ['another account', asking({ prompt: ['select_account'] }), undefined, { step: 'select-account' }],
  ['a device', asking({ needsConfirmation: true }), undefined, { step: 'confirm' }],

  [
    'to be issued, unasked',
    {},
    undefined,
    { step: 'ask-host', ifAllowed: { step: 'issue', scopes: request.scopes } },
  ],
  ['in an organization, unasked', settled, undefined, { step: 'ask-host', organization: 'acme' }],
  ['to be consented, unasked', unconsented, undefined, { step: 'ask-host', ifAllowed: { step: 'consent' } }],
  [
    'a suggested organization: asked after the choice',
    { ...unconsented, ...open },
    undefined,
    { step: 'consent' },
  ],
  ['no organization: never asked', noOrganization, undefined, { step: 'no-organization', lack: 'none' }],

  ['to be issued, allowed', {}, allowed, { step: 'issue', user: 'Alice', scopes: request.scopes }],
  ['to be consented, allowed', unconsented, allowed, { step: 'consent', login }],
  ['to be issued, denied', {}, denied, { step: 'denied', login, reason: 'only staff' }],
  ['to be consented, denied', unconsented, denied, { step: 'denied', login, reason: 'only staff' }],
  ['denied, prompt=none', silent, denied, { reason: 'user_not_allowed', hostRefusal: denied }],
  [
    'a higher level',
    {},
    stepUp('mfa', 'unknown'),
    { step: 'step-up', request: { acrValues: ['mfa'], acrIsRaised: true } },
  ],
  ['a higher level, prompt=none', silent, stepUp('mfa'), { reason: 'login_not_made' }],
  [
    'a level that no login reaches',
    {},
    stepUp('unknown'),
    { reason: 'level_not_reached', hostRefusal: stepUp('unknown') },
  ],
  [
    'a level that the host asked for, and the new login lacks',
    { ...renewed, ...asking({ acrValues: ['mfa'], acrIsRaised: true }) },
    undefined,
    { reason: 'level_not_reached', hostRefusal: stepUp('mfa') },
  ],
  [
    'a level that the host asked for, unchanged on the way back',
    { ...asking({ acrValues: ['mfa'], acrIsRaised: true }), returned: true },
    undefined,
    { reason: 'level_not_reached', hostRefusal: stepUp('mfa') },
  ],
])('%s', (_, change, answer, expected) => expect(stepOf(change, answer)).toMatchObject(expected))

test('a level that the client asked for is no refusal of the host', () =>
  expect(stepOf({ ...renewed, ...asking({ acrValues: ['mfa'] }) })).not.toHaveProperty('hostRefusal'))

test('a user whom the host allows it is the only one for whom something is issued', () => {
  expect([undefined, denied, stepUp('mfa')].map((answer) => stepOf({}, answer).step)).toEqual([
    'ask-host',
    'denied',
    'step-up',
  ])
})

test.each([
  ['signed-out', request, { step: 'signed-out' }],
  ['signed-out', silent.request, { reason: 'login_not_made' }],
  ['withdrawn', request, { reason: 'user_removed_client' }],
  ['withdrawn', silent.request, { reason: 'user_removed_client' }],
] as const)('nothing could be issued: %s', (obstacle, about, expected) =>
  expect(decideUnissued({ request: about }, obstacle)).toMatchObject(expected),
)

test.each<[Partial<RequestFacts>, boolean]>([
  [{}, true],
  [unconsented, true],
  [open, true],
  [asking({ needsConfirmation: true }), true],
  [signedOut, false],
  [asking({ prompt: ['login'] }), false],
  [asking({ prompt: ['select_account'] }), false],
  [noOrganization, false],
  [{ ...renewed, ...asking({ acrValues: ['mfa'] }) }, false],
])('the login page goes on with the login that there is (%#)', (change, expected) =>
  expect(mayGoOn(decide({ ...facts, ...change }))).toBe(expected),
)
