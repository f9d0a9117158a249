import type { PageModels } from '../../web/pages/page-models.ts'
import {
  client,
  hidden,
  logo,
  long,
  type Sample,
  sampleScope,
  sampleScopes,
  statesOf,
  unverified,
} from './sample.ts'

const consent: PageModels['consent'] = {
  action: '/consent',
  hidden,
  client: {
    ...client,
    policyUri: 'https://desk.example.com/privacy',
    tosUri: 'https://desk.example.com/terms',
  },
  username: 'alice@example.com',
  scopes: sampleScopes,
  redirectTo: 'desk.example.com',
  accountUrl: '/account',
}
const initech = { id: 'ws-1', name: 'Initech', detail: '12 members · initech.example' }
const workspaces = [
  initech,
  { id: 'ws-2', name: 'Globex', detail: 'ws-2' },
  { id: 'ws-3', name: 'Globex', detail: 'ws-3' },
]
const choose: PageModels['organization'] = {
  action: '/organization',
  hidden,
  client,
  username: 'alice@example.com',
  organizations: workspaces,
  current: workspaces[1]?.id,
  range: { first: 1, last: 3, total: 3 },
}
const rows = ['Hiring plan', 'Office move', 'Newsletter'].map((name, number) => ({
  id: `p${number}`,
  name,
  ...(number === 1 && { detail: 'Oslo', group: 'Facilities' }),
  checked: number > 0,
}))
const durations = [
  { duration: 'lasting', seconds: 31_536_000, checked: true },
  { duration: 'month', seconds: 2_592_000, checked: false },
  { duration: 'day', seconds: 86_400, checked: false },
] as const
const some = {
  kind: 'project',
  name: 'projects',
  mayAll: true,
  total: 3,
  mode: 'these',
  items: rows,
} as const
const pick: PageModels['things'] = {
  action: '/things',
  hidden,
  client,
  username: 'alice@example.com',
  name: 'projects',
  things: rows,
  query: '',
  count: 2,
  total: 2000,
  hasPrevious: false,
  hasNext: true,
  mayAll: true,
}
const select: PageModels['select-account'] = {
  action: '/select-account',
  hidden,
  client,
  username: 'alice@example.com',
}

/** The consent page, and the one that asks for the account. */
export const consentSamples: readonly Sample[] = [
  ...statesOf('consent', {
    consent,
    'consent-logo': { ...consent, client: { ...consent.client, logoUrl: logo } },
    'consent-simple': {
      ...consent,
      scopes: [
        sampleScope('openid', 'See who you are', 'identity', {
          data: ['Alice Liddell', 'alice@example.com'],
        }),
      ],
    },
    'consent-preview': {
      ...consent,
      scopes: [
        sampleScope('notes:read', 'Read your notes', 'read', {
          preview: { items: ['Sourdough, third try', 'Books to give back', 'Allotment'], more: 41 },
        }),
        sampleScope('notes:write', 'Write new notes for you', 'change', {
          optional: true,
          preview: { items: ['دفتر السفر', long], more: 0 },
        }),
      ],
    },
    'consent-first': { ...consent, scopes: consent.scopes.map((each) => ({ ...each, isNew: false })) },
    'consent-app': { ...consent, client: { ...client, host: '' }, redirectTo: undefined },
    'consent-small': {
      ...consent,
      client: unverified,
      scopes: consent.scopes.slice(0, 1),
      accountUrl: undefined,
    },
    'consent-details': {
      ...consent,
      scopes: consent.scopes.slice(0, 1),
      details: [
        {
          detail: { type: 'payment' },
          description: 'Make a payment from your account',
          fields: [
            { label: 'Amount', value: '€123.50' },
            { label: 'To', value: 'Merchant A, DE02 1001 0010 9307 1186 03' },
            { label: 'Reference', value: 'Ref Number Merchant '.repeat(6) },
          ],
        },
        {
          detail: { type: 'account_information' },
          description: 'See your account',
          language: 'en',
          fields: [{ label: 'actions', value: 'list_accounts, read_balances, read_transactions' }],
        },
      ],
    },
    'consent-payment': {
      ...consent,
      scopes: [sampleScope('openid', 'Sign you in with your Acme account', 'identity')],
      details: [
        {
          detail: { type: 'payment' },
          description: 'Pay €123.50 to Merchant A',
          isNamed: true,
          fields: [{ label: 'Account', value: 'DE02 1001 0010 9307 1186 03' }],
          button: 'Pay €123.50 to Merchant A',
        },
      ],
    },
    'consent-resources': {
      ...consent,
      client: unverified,
      scopes: [
        sampleScope('notes:read', 'Read your notes', 'read', {
          resources: ['Notes MCP server', 'app.example.com/v1'],
        }),
        sampleScope('notes:write', 'Change your notes', 'change', {
          resources: ['Notes MCP server'],
          optional: true,
        }),
        sampleScope('resource', 'Use Calendar', 'other'),
      ],
    },
    'consent-long-name': {
      ...consent,
      client: {
        ...client,
        name: 'The Extraordinarily Comprehensive Order and Invoice Management Companion for Teams',
      },
      scopes: consent.scopes.slice(0, 3),
    },
    'consent-long': {
      ...consent,
      client: { ...client, name: long, host: `${long}.example` },
      username: `${long}@example.com`,
      scopes: [
        sampleScope('x', long, 'read', {
          optional: true,
          isNew: true,
          isHighRisk: true,
          details: long,
          data: [long],
          resources: [long],
        }),
        sampleScope('y', long, 'change', { isNew: true, isHighRisk: true, language: 'de', details: long }),
      ],
      redirectTo: `${long}.example`,
    },
    'consent-account': { ...consent, notice: 'account' },
    'consent-changed': { ...consent, notice: 'changed' },
    'consent-organization': { ...consent, organization: { ...initech, hasOthers: false } },
    'consent-organization-gone': {
      ...consent,
      organization: { ...initech, hasOthers: false },
      notice: 'gone',
    },
    'consent-organizations': { ...consent, organization: { ...initech, hasOthers: true } },
    'consent-organizations-long': {
      ...consent,
      client: { ...client, name: long },
      organization: { id: long, name: long, detail: long, hasOthers: true },
    },
    'consent-organizations-only': {
      ...consent,
      scopes: [],
      organization: { ...initech, hasOthers: true, only: true },
    },
    'consent-left-out': {
      ...consent,
      organization: { ...initech, hasOthers: true },
      scopes: sampleScopes.slice(0, 2),
      leftOut: [...sampleScopes.slice(3, 5), sampleScope('x', long, 'other')],
    },
    'consent-things': { ...consent, things: [some], durations },
    'consent-things-many': {
      ...consent,
      client: unverified,
      things: [
        { kind: 'project', name: 'projects', mayAll: true, total: 2000, chosen: { names: [], more: 0 } },
        {
          kind: 'account',
          name: 'accounts',
          mayAll: false,
          mode: 'these',
          chosen: { names: ['Savings', long, 'Joint account'], more: 4 },
        },
      ],
    },
    'consent-things-none': {
      ...consent,
      things: [{ ...some, mode: 'these', total: 0, items: [], mayAll: false }],
      notice: 'things',
    },
    'consent-things-presets': {
      ...consent,
      scopes: sampleScopes.map((each) => ({
        ...each,
        isNew: false,
        ...(each.group === 'change' && { optional: true, isLeftOut: true }),
      })),
      presets: ['all', 'read', 'choose'],
      preset: 'read',
      things: [some],
      durations,
    },
    'consent-things-lost': { ...consent, things: [some], notice: 'lost' },
    'consent-device': { ...consent, redirectTo: undefined, device: true },
  }),
  ...statesOf('organization', {
    organization: choose,
    'organization-gone': { ...choose, client: unverified, notice: 'gone' },
    'organization-search': {
      ...choose,
      organizations: [...workspaces, { id: 'ws-4', name: long, detail: long }],
      query: 'e',
      range: { first: 51, last: 54, total: 1203 },
      previousUrl: '/organization?page=1',
      nextUrl: '/organization?page=3',
    },
    'organization-none': {
      ...choose,
      organizations: [],
      query: long,
      range: { first: 1, last: 0, total: 0 },
    },
  }),
  ...statesOf('things', {
    things: pick,
    'things-search': {
      ...pick,
      client: unverified,
      things: [...rows, { id: long, name: long, detail: long, checked: true }],
      query: 'e',
      hasPrevious: true,
    },
    'things-none': { ...pick, things: [], query: long, hasNext: false },
    'things-limit': { ...pick, count: 200, limit: 200 },
  }),
  ...statesOf('access-denied', {
    'access-denied': { ...select, action: '/access-denied' },
    'access-denied-reason': {
      ...select,
      action: '/access-denied',
      reason: 'Desk is for the support team. Ask Bo to add you.',
    },
    'access-denied-no-organization': { ...select, action: '/access-denied', lack: 'none', homeUrl: '/' },
    'access-denied-other-organization': { ...select, action: '/access-denied', lack: 'other' },
    'access-denied-device': { ...select, action: '/access-denied', reason: long, device: true },
  }),
  ...statesOf('select-account', {
    'select-account': select,
    'select-account-long': { ...select, client: unverified, username: `${long}@example.com` },
  }),
]
