import { client, hidden, long, type Sample, statesOf, unverified } from '../../tools/samples/sample.ts'
import type { OrganizationPageModel } from '../../web/pages/account-page-model.ts'
import type { PageModels } from '../../web/pages/page-models.ts'

const since = '2026-11-02T09:41:00.000Z'
const form = { action: '/organization/app', hidden }

const above = (current: string): OrganizationPageModel => ({
  organization: { name: 'Initech', detail: '12 members · initech.example' },
  username: 'alice@example.com',
  tabs: ['apps', 'requests', 'activity'].map((section) => ({
    section,
    url: `/organization/${section}`,
    isCurrent: section === current,
    ...(section === 'requests' && { count: 3 }),
  })),
  accountUrl: '/account',
})
const apps: PageModels['organization-apps'] = {
  ...above('apps'),
  policy: { apps: 'ask', unverified: 'blocked', url: '/organization/policy' },
  total: 14,
  unused: 3,
  query: '',
  show: 'all',
  action: '/organization/apps',
  hidden: { organization: 'ws-1' },
  filters: ['all', 'ask', 'blocked', 'unused'].map((show) => ({
    show,
    url: `/organization/apps?show=${show}`,
    isCurrent: show === 'all',
  })),
  apps: (['allowed', 'ask', 'blocked'] as const).map((outcome, place) => ({
    name: place === 2 ? long : 'Order Desk',
    host: 'desk.example.com',
    unverified: place === 1,
    users: 41 - place,
    ...(place < 2 && { lastUsed: since }),
    outcome,
    isLimited: place === 0,
    url: '/organization/app?app=client%3Adesk',
  })),
}
const app: PageModels['organization-app'] = {
  ...above('apps'),
  name: 'Order Desk',
  host: 'desk.example.com',
  unverified: false,
  clients: [],
  users: 2,
  outcome: 'allowed',
  isByPolicy: true,
  words: '',
  most: 'asked',
  mayRead: true,
  permissions: [
    { name: 'orders:read', description: 'See your orders', users: 2, checked: true },
    { name: 'orders:write', description: 'Place and cancel orders for you', users: 1, checked: true },
  ],
  decide: form,
  members: ['alice@example.com', `${long}@example.com`].map((name) => ({
    name,
    since,
    lastUsed: since,
    remove: form,
  })),
  removeUrl: '/organization/app/remove',
  listUrl: '/organization/apps',
}
const removal: PageModels['organization-remove'] = {
  ...above('apps'),
  ...form,
  name: 'Order Desk',
  users: 41,
  isBlocked: false,
  cancelUrl: '/organization/app',
}
const row = {
  name: 'Order Desk',
  host: 'desk.example.com',
  member: 'bob@example.com',
  since,
  reason: 'For the quarterly report',
  others: 2,
  url: '/organization/request',
}
const requests: PageModels['organization-requests'] = {
  ...above('requests'),
  requests: [row, { ...row, name: long, member: `${long}@example.com`, reason: long, others: 0 }],
}
const request: PageModels['organization-request'] = {
  ...above('requests'),
  ...row,
  client,
  permissions: app.permissions,
  answer: form,
  listUrl: '/organization/requests',
}
const activity: PageModels['organization-activity'] = {
  ...above('activity'),
  isOn: true,
  events: [
    { event: 'consent.allowed', time: since, user: 'bob@example.com', app: 'Order Desk' },
    { event: 'organization.policy_changed', time: since },
    { event: 'organization.access_requested', time: since, user: `${long}@example.com`, app: long },
    { event: 'consent.denied', time: since },
  ],
  csvUrl: '/organization/activity.csv',
}
const ask: PageModels['organization-ask'] = {
  action: '/organization/ask',
  hidden,
  client,
  username: 'alice@example.com',
  organization: 'Initech',
  state: 'ask',
  hasOthers: true,
}

/** The pages about apps in an organization, in every state. */
export const samples: readonly Sample[] = [
  ...statesOf('organization-apps', {
    'organization-apps': { ...apps, nextUrl: '/organization/apps?page=2' },
    'organization-apps-policy': { ...apps, notice: 'policy', policy: { ...apps.policy, unverified: 'same' } },
    'organization-apps-removed': { ...apps, notice: 'removed' },
    'organization-apps-none': { ...apps, apps: [], query: long },
    'organization-apps-empty': { ...apps, apps: [], total: 0, unused: 0 },
  }),
  ...statesOf('organization-policy', {
    'organization-policy': {
      ...above('apps'),
      ...form,
      policy: { apps: 'allowed', unverified: 'same' },
      cancelUrl: '/organization/apps',
    },
  }),
  ...statesOf('organization-app', {
    'organization-app': { ...app, nextUrl: '/organization/app?after=1' },
    'organization-app-limited': {
      ...app,
      ...unverified,
      clients: ['Inbox Helper 3000', long],
      isByPolicy: false,
      outcome: 'ask',
      words: 'Ask Bo.',
      most: 'these',
      notice: 'saved',
    },
    'organization-app-blocked': {
      ...app,
      name: long,
      outcome: 'blocked',
      isByPolicy: false,
      users: 0,
      members: [],
      permissions: [],
      removeUrl: undefined,
      notice: 'removed',
    },
  }),
  ...statesOf('organization-remove', {
    'organization-remove': removal,
    'organization-remove-blocked': { ...removal, name: long, isBlocked: true },
  }),
  ...statesOf('organization-requests', {
    'organization-requests': requests,
    'organization-requests-none': { ...requests, requests: [] },
    'organization-requests-everybody': { ...requests, notice: 'everybody' },
    'organization-requests-person': { ...requests, notice: 'person' },
    'organization-requests-refused': { ...requests, notice: 'refused' },
    'organization-requests-stale': { ...requests, notice: 'stale' },
  }),
  ...statesOf('organization-request', {
    'organization-request': request,
    'organization-request-unverified': {
      ...request,
      client: unverified,
      name: long,
      reason: long,
      others: 0,
    },
  }),
  ...statesOf('organization-activity', {
    'organization-activity': { ...activity, nextUrl: '/organization/activity?before=1' },
    'organization-activity-empty': { ...activity, events: [] },
    'organization-activity-off': { ...activity, isOn: false, events: [] },
  }),
  ...statesOf('organization-ask', {
    'organization-ask': ask,
    'organization-ask-words': {
      ...ask,
      client: unverified,
      words: 'Only for sales. Ask Bo.',
      hasOthers: false,
    },
    'organization-ask-sent': { ...ask, state: 'sent' },
    'organization-ask-refused': { ...ask, state: 'refused', organization: long },
    'organization-ask-blocked': { ...ask, state: 'blocked', words: long, client: { ...client, name: long } },
    'organization-ask-full': { ...ask, state: 'full', device: true },
  }),
]
