import type { PageModels } from '../../web/pages/page-models.ts'
import { accountPages, client, hidden, logo, long, type Sample, scope, scopes, statesOf } from './sample.ts'

const account: PageModels['account'] = {
  username: 'alice@example.com',
  clients: [
    {
      name: 'Order Desk',
      logoUrl: logo,
      host: 'desk.example.com',
      scopes: scopes.slice(0, 4),
      since: '2026-03-02T08:00:00.000Z',
      lastUsed: '2026-11-21T09:41:00.000Z',
      sessions: 2,
      removeUrl: '/account?client_id=desk',
    },
    {
      name: 'Field Notes',
      host: '',
      scopes: [{ ...scope('notes:read', 'Read your notes', 'read'), resources: ['Notes MCP server'] }],
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

/** The list of connected clients. */
export const accountSamples: readonly Sample[] = [
  ...statesOf('account', {
    account,
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
  ...statesOf('remove-client', {
    'remove-client': removal,
    'remove-client-organization': { ...removal, organization: 'Initech' },
    'remove-client-long': { ...removal, client: { name: long, host: `${long}.example` }, firstParty: true },
  }),
]
