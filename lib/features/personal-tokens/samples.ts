import { accountPages, long, type Sample, statesOf } from '../../tools/samples/sample.ts'
import type { PageModels } from '../../web/pages/page-models.ts'
import type { PersonalTokenCard } from './declarations.ts'

const read = { name: 'orders:read', description: 'See your orders', group: 'read' } as const
const write = {
  name: 'orders:write',
  description: 'Place and cancel orders for you',
  group: 'change',
} as const
const value = `lk_pat_${'sample'.repeat(8)}s`

const token: PersonalTokenCard = {
  name: 'Backup script',
  scopes: [read, write],
  since: '2026-03-02T08:00:00.000Z',
  lastUsed: '2026-11-21T09:41:00.000Z',
  expires: '2027-03-02T08:00:00.000Z',
  isExpired: false,
  removeUrl: '/account/tokens?id=one',
}
const list: PageModels['personal-tokens'] = {
  username: 'alice@example.com',
  tokens: [
    token,
    {
      ...token,
      name: 'Spreadsheet',
      lastUsed: undefined,
      isExpired: true,
      removeUrl: '/account/tokens?id=two',
    },
  ],
  newUrl: '/account/tokens/new',
  pages: accountPages('personal-tokens'),
  homeUrl: '/',
  signOutUrl: '/logout',
}
const form: PageModels['personal-token-form'] = {
  action: '/account/tokens/new',
  hidden: { decision: 'create', csrf_token: 'sample' },
  name: '',
  choices: [
    { days: 7, until: '2026-11-29T08:00:00.000Z', isChosen: false },
    { days: 30, until: '2026-12-22T08:00:00.000Z', isChosen: true },
    { days: 90, until: '2027-02-20T08:00:00.000Z', isChosen: false },
  ],
  other: { isChosen: false, date: '2026-12-22', earliest: '2026-11-23', latest: '2027-11-22' },
  scopes: [
    { ...read, checked: false },
    { ...write, checked: true, isHighRisk: true, riskReason: 'It can order in your name' },
  ],
  cancelUrl: '/account/tokens',
}
const things = {
  kind: 'project',
  name: 'projects',
  mayAll: true,
  mode: 'these',
  total: 2000,
  chosen: { names: ['Hiring plan', long], more: 4 },
} as const
const revoking: PageModels['revoke-token'] = {
  action: '/account/tokens',
  hidden: { id: 'one', csrf_token: 'sample' },
  name: 'Backup script',
  cancelUrl: '/account/tokens',
}

/** Every state of the pages of personal access tokens. */
export const samples: readonly Sample[] = [
  ...statesOf('personal-tokens', {
    'personal-tokens': list,
    'personal-tokens-empty': { ...list, tokens: [] },
    'personal-tokens-created': { ...list, tokens: [token], created: { name: token.name, value } },
    'personal-tokens-full': { ...list, newUrl: undefined, max: 20, notice: 'revoked' },
    'personal-tokens-things': { ...list, tokens: [{ ...token, things: [{ name: 'projects', count: 3 }] }] },
    'personal-tokens-long': {
      ...list,
      username: `${long}@example.com`,
      created: { name: long, value },
      tokens: [
        {
          ...token,
          name: long,
          organization: long,
          scopes: [{ description: long, language: 'de', group: 'change' }],
        },
      ],
    },
  }),
  ...statesOf('personal-token-form', {
    'personal-token-form': form,
    'personal-token-form-things': {
      ...form,
      hidden: { csrf_token: 'sample', listed: 'account', chosen: 'sample' },
      things: [
        things,
        {
          kind: 'account',
          name: 'accounts',
          mayAll: false,
          mode: 'these',
          items: [{ id: 'a1', name: 'Savings', detail: 'NO93 8601', checked: false }],
        },
      ],
      error: 'lost',
    },
    ...Object.fromEntries(
      (['name', 'scopes', 'days', 'organization'] as const).map((error) => [
        `personal-token-form-${error}`,
        {
          ...form,
          error,
          ...(error === 'days' && {
            choices: form.choices.map((choice) => ({ ...choice, isChosen: false })),
            other: { ...form.other, isChosen: true, date: '2030-01-01' },
          }),
          name: 'Backup script',
          organizations: [
            { id: 'ws-1', name: 'Initech', isChosen: false },
            { id: 'ws-2', name: long, isChosen: true },
          ],
        },
      ]),
    ),
  }),
  ...statesOf('revoke-token', {
    'revoke-token': revoking,
    'revoke-token-long': { ...revoking, name: long },
  }),
]
