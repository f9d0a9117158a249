import { long, type Sample, statesOf } from '../../tools/samples/sample.ts'
import type { OrganizationPageModel } from '../../web/pages/account-page-model.ts'
import type { PageModels } from '../../web/pages/page-models.ts'
import type { AccountFormError } from './declarations.ts'

const read = { name: 'orders:read', description: 'See your orders', group: 'read' } as const
const write = {
  name: 'orders:write',
  description: 'Place and cancel orders for you',
  group: 'change',
} as const
const secret = `lk_cs_${'sample'.repeat(7)}s`
const clientId = '6b1f0c1e-8a53-4a1e-9d5c-0c7f3a3f2b11'
const key = '{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}'

const header: OrganizationPageModel = {
  organization: { name: 'Nordlys AS', detail: '12 members' },
  username: 'alice@example.com',
  tabs: [{ section: 'accounts', url: '/organization/accounts?organization=nordlys', isCurrent: true }],
  accountUrl: '/account',
}
const longHeader: OrganizationPageModel = {
  ...header,
  organization: { name: long, detail: long },
  username: long,
}

const account = {
  name: 'Nightly export',
  url: '/organization/account?organization=nordlys&account=one',
  until: '2027-03-02T08:00:00.000Z',
  isExpired: false,
  isDisabled: false,
  lastUsed: '2026-11-21T09:41:00.000Z',
}
const list: PageModels['service-accounts'] = {
  ...header,
  accounts: [
    account,
    { ...account, name: 'Invoices', lastUsed: undefined, isDisabled: true },
    { ...account, name: 'Old import', isExpired: true, until: '2026-03-02T08:00:00.000Z' },
  ],
  newUrl: '/organization/accounts/new?organization=nordlys',
}

const form: PageModels['service-account-form'] = {
  action: '/organization/accounts/new',
  hidden: { organization: 'nordlys', account: clientId, csrf_token: 'sample' },
  name: '',
  scopes: [
    { ...read, isHighRisk: false, checked: false },
    { ...write, isHighRisk: true, riskReason: 'It can order in your name', checked: true },
  ],
  days: [
    { days: 30, until: '2026-12-22T08:00:00.000Z', isChosen: true },
    { days: 90, until: '2027-02-20T08:00:00.000Z', isChosen: false },
    { days: 365, until: '2027-11-22T08:00:00.000Z', isChosen: false },
  ],
  method: 'secret',
  key: '',
  cancelUrl: '/organization/accounts?organization=nordlys',
}
const things: PageModels['service-account-form']['things'] = [
  {
    kind: 'project',
    name: 'projects',
    mayAll: true,
    mode: 'these',
    total: 2,
    items: [
      { id: 'p1', name: 'Hiring plan', checked: true },
      { id: 'p2', name: long, detail: long, checked: false },
    ],
  },
]
const mistakes: readonly AccountFormError[] = ['name', 'scopes', 'days', 'key']
const mistakesInThings: readonly AccountFormError[] = ['things', 'lost']

const one: PageModels['service-account'] = {
  ...header,
  name: account.name,
  clientId,
  issuer: 'https://app.example.com/oauth',
  scopes: [read, write],
  things: [{ name: 'projects', isAll: false, names: ['Hiring plan', 'Office move'] }],
  since: '2026-03-02T08:00:00.000Z',
  creator: 'alice@example.com',
  isOrphaned: false,
  until: account.until,
  isExpired: false,
  isDisabled: false,
  lastUsed: account.lastUsed,
  secrets: [
    {
      isCurrent: true,
      since: '2026-11-20T08:00:00.000Z',
      revokeUrl: '/organization/account/confirm?act=revoke',
    },
    {
      isCurrent: false,
      since: '2026-03-02T08:00:00.000Z',
      lastUsed: account.lastUsed,
      until: '2026-11-21T08:00:00.000Z',
      revokeUrl: '/organization/account/confirm?act=revoke-previous',
    },
  ],
  replaceUrl: '/organization/account/confirm?act=replace',
  editUrl: '/organization/account/edit',
  removeUrl: '/organization/account/confirm?act=remove',
}
const question: PageModels['service-account-confirm'] = {
  action: '/organization/account/confirm',
  hidden: {
    organization: 'nordlys',
    account: clientId,
    act: 'replace',
    decision: 'confirm',
    csrf_token: 'sample',
  },
  act: 'replace',
  name: account.name,
  cancelUrl: '/organization/account',
}

/** Every state of the pages of service accounts. */
export const samples: readonly Sample[] = [
  ...statesOf('service-accounts', {
    'service-accounts': { ...list, nextUrl: '/organization/accounts?page=2' },
    'service-accounts-empty': { ...list, accounts: [] },
    'service-accounts-full': {
      ...list,
      newUrl: undefined,
      max: 50,
      notice: 'removed',
      previousUrl: '/organization',
    },
    'service-accounts-long': { ...list, ...longHeader, accounts: [{ ...account, name: long }] },
  }),
  ...statesOf('service-account-form', {
    'service-account-form': form,
    'service-account-form-change': {
      ...form,
      name: account.name,
      account: { name: account.name, until: account.until },
      days: form.days.map((each) => ({ ...each, isChosen: false })),
      method: undefined,
      key: undefined,
    },
    'service-account-form-things': { ...form, things },
    'service-account-form-key': { ...form, method: 'key', key },
    ...Object.fromEntries(
      mistakes.map((error) => [
        `service-account-form-${error === 'key' ? 'bad-key' : error}`,
        { ...form, error, name: long, method: error === 'key' ? 'key' : 'secret' },
      ]),
    ),
    ...Object.fromEntries(
      mistakesInThings.map((error) => [`service-account-form-things-${error}`, { ...form, things, error }]),
    ),
  }),
  ...statesOf('service-account', {
    'service-account': one,
    'service-account-created': { ...one, secrets: one.secrets?.slice(0, 1), secret, notice: 'created' },
    'service-account-revoked': { ...one, secrets: [], notice: 'revoked' },
    'service-account-key': { ...one, secrets: undefined, replaceUrl: undefined, notice: 'saved' },
    'service-account-ended': {
      ...one,
      creator: undefined,
      isOrphaned: true,
      isExpired: true,
      isDisabled: true,
      lastUsed: undefined,
      things: [{ name: 'projects', isAll: true, names: [] }],
    },
    'service-account-long': {
      ...one,
      ...longHeader,
      name: long,
      creator: long,
      secret,
      notice: 'replaced',
      scopes: [{ description: long, language: 'de', group: 'change' }],
      things: [{ name: long, isAll: false, names: [long] }],
    },
  }),
  ...statesOf('service-account-confirm', {
    'service-account-confirm': question,
    'service-account-confirm-revoke': { ...question, act: 'revoke' },
    'service-account-confirm-previous': { ...question, act: 'revoke-previous' },
    'service-account-confirm-remove': { ...question, act: 'remove', name: long },
  }),
]
