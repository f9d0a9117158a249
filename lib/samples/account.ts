import type { PageModels } from '../pages/page-models.ts'
import { accountPages, client, hidden, logo, long, type Sample, scope, scopes } from './sample.ts'

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
  signOutUrl: '/logout',
  otherPages: [],
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
  { name: 'account', page: 'account', model: account },
  {
    name: 'account-other-pages',
    page: 'account',
    model: { ...account, otherPages: accountPages.slice(1) },
  },
  {
    name: 'account-organizations',
    page: 'account',
    model: {
      ...account,
      removed: 'Order Desk',
      removedOrganization: 'Globex',
      clients: account.clients.map((connected) => ({ ...connected, organization: 'Initech' })),
    },
  },
  { name: 'account-empty', page: 'account', model: { ...account, clients: [] } },
  {
    name: 'account-removed',
    page: 'account',
    model: { ...account, clients: account.clients.slice(1), removed: 'Order Desk' },
  },
  {
    name: 'account-long',
    page: 'account',
    model: {
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
  },
  {
    name: 'account-pages',
    page: 'account',
    model: { ...account, previousUrl: '/account?before=desk', nextUrl: '/account?after=notes' },
  },
  { name: 'account-sign-in', page: 'account-sign-in', model: { url: '/login?return_to=/oauth/account' } },
  { name: 'remove-client', page: 'remove-client', model: removal },
  {
    name: 'remove-client-organization',
    page: 'remove-client',
    model: { ...removal, organization: 'Initech' },
  },
  {
    name: 'remove-client-long',
    page: 'remove-client',
    model: { ...removal, client: { name: long, host: `${long}.example` }, firstParty: true },
  },
]
