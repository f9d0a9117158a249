import type { PageModels } from '../../web/pages/page-models.ts'
import {
  accountPages,
  client,
  hidden,
  logo,
  long,
  type Sample,
  sampleScope,
  sampleScopes,
  statesOf,
} from './sample.ts'

const account: PageModels['account'] = {
  username: 'alice@example.com',
  clients: [
    {
      name: 'Order Desk',
      logoUrl: logo,
      host: 'desk.example.com',
      scopes: sampleScopes.slice(0, 4),
      since: '2026-03-02T08:00:00.000Z',
      lastUsed: '2026-11-21T09:41:00.000Z',
      sessions: 2,
      removeUrl: '/account?client_id=desk',
    },
    {
      name: 'Field Notes',
      host: '',
      scopes: [{ ...sampleScope('notes:read', 'Read your notes', 'read'), resources: ['Notes MCP server'] }],
      since: '2026-11-01T08:00:00.000Z',
      lastUsed: '2026-11-02T09:41:00.000Z',
      sessions: 0,
      removeUrl: '/account?client_id=notes',
    },
  ],
  homeUrl: '/',
  signOutUrl: '/logout',
  pages: [],
}
const removal: PageModels['remove-client'] = {
  action: '/account',
  hidden,
  client,
  firstParty: false,
  username: 'alice@example.com',
  cancelUrl: '/account',
}

const managed: PageModels['organizations'] = {
  username: 'alice@example.com',
  pages: [
    ...accountPages('organizations').slice(0, 2),
    { page: 'organizations', url: '/account/organizations', isCurrent: true },
  ],
  signOutUrl: '/logout',
  organizations: [
    { name: 'Initech', detail: '12 members · initech.example', url: '/organization/apps?organization=ws-1' },
    { name: long, url: '/organization/apps?organization=ws-2' },
  ],
}

const narrowing: PageModels['narrow-client'] = {
  action: '/account/access',
  hidden,
  client,
  username: 'alice@example.com',
  scopes: sampleScopes.slice(1, 4),
  things: [
    {
      kind: 'project',
      name: 'projects',
      mayAll: false,
      mode: 'these',
      items: [
        { id: 'p1', name: 'Hiring plan', checked: true },
        { id: 'p2', name: long, detail: 'Oslo', checked: true },
      ],
    },
    { kind: 'team', name: 'teams', mayAll: true, mode: 'all', items: [], total: 120 },
  ],
  durations: [
    { duration: 'month', seconds: 2_592_000 },
    { duration: 'day', seconds: 86_400 },
  ],
  ends: '2027-11-21T09:41:00.000Z',
  cancelUrl: '/account',
}

/** The list of connected clients. */
export const accountSamples: readonly Sample[] = [
  ...statesOf('account', {
    account,
    'account-things': {
      ...account,
      clients: account.clients.slice(0, 1).map((connected) => ({
        ...connected,
        things: [
          { name: 'projects', count: 3 },
          { name: 'teams', count: 'all' as const },
        ],
        ends: '2027-11-21T09:41:00.000Z',
        changeUrl: '/account/access?client_id=desk',
      })),
    },
    'account-other-pages': { ...account, pages: accountPages('account') },
    'account-organizations': {
      ...account,
      removed: 'Order Desk',
      removedOrganization: 'Globex',
      clients: account.clients.map((connected) => ({ ...connected, organization: 'Initech' })),
    },
    'account-twins': {
      ...account,
      clients: account.clients.map((connected, index) => ({
        ...connected,
        name: 'Journal',
        host: `${'ab'[index]}.example`,
      })),
    },
    'account-empty': { ...account, clients: [] },
    'account-removed': { ...account, clients: account.clients.slice(1), removed: 'Order Desk' },
    'account-long': {
      ...account,
      username: `${long}@example.com`,
      removed: long,
      clients: account.clients.map((connected) => ({
        ...connected,
        name: long,
        host: `${long}.example`,
        organization: long,
        scopes: [{ description: long, language: 'de', group: 'change' as const }],
      })),
    },
    'account-pages': { ...account, previousUrl: '/account?before=desk', nextUrl: '/account?after=notes' },
  }),
  ...statesOf('account-sign-in', {
    'account-sign-in': { url: '/login?return_to=/oauth/account' },
  }),
  ...statesOf('narrow-client', {
    'narrow-client': narrowing,
    'narrow-client-saved': { ...narrowing, organization: 'Initech', durations: [], notice: 'saved' },
    'narrow-client-pages': {
      ...narrowing,
      previousUrl: '/account/access?client_id=desk&page=1',
      nextUrl: '/account/access?client_id=desk&page=3',
    },
    'narrow-client-long': { ...narrowing, client: { name: long, host: `${long}.example` }, scopes: [] },
  }),
  ...statesOf('organizations', {
    organizations: managed,
    'organizations-forbidden': { ...managed, organizations: [], isForbidden: true },
  }),
  ...statesOf('remove-client', {
    'remove-client': removal,
    'remove-client-organization': { ...removal, organization: 'Initech' },
    'remove-client-long': { ...removal, client: { name: long, host: `${long}.example` }, firstParty: true },
  }),
]
