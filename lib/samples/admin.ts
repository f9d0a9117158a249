import type { AdminForm, AdminPageModels, AdminSection } from '../pages/admin-page-models.ts'
import type { ClientForm } from '../pages/client-form-models.ts'
import { long, type Sample } from './sample.ts'

const sections = (present: AdminSection['kind']): AdminSection[] =>
  (['clients', 'requests', 'users', 'keys', 'events'] as const).map((kind) => ({
    kind,
    url: kind === 'clients' ? '/admin' : `/admin/${kind}`,
    isCurrent: kind === present,
  }))

const form = (act: string): AdminForm => ({ action: '/admin', hidden: { act, csrf_token: 'sample' } })
const time = '2026-11-21T09:41:00.000Z'
const earlier = '2026-03-02T08:00:00.000Z'

const inputs: ClientForm['inputs'] = [
  { name: 'client_name', kind: 'text', value: 'Order Desk' },
  { name: 'redirect_uris', kind: 'lines', value: 'https://desk.example.com/callback' },
  {
    name: 'token_endpoint_auth_method',
    kind: 'choice',
    value: '',
    choices: ['', 'private_key_jwt', 'none'].map((value) => ({ value, isChosen: value === '' })),
  },
  {
    name: 'grant_types',
    kind: 'choices',
    value: 'authorization_code',
    choices: ['authorization_code', 'refresh_token', 'client_credentials'].map((value, index) => ({
      value,
      isChosen: index === 0,
    })),
  },
  { name: 'first_party', kind: 'flag', value: 'on' },
  { name: 'client_uri', kind: 'uri', value: 'https://desk.example.com/' },
  { name: 'other', kind: 'json', value: '{\n  "subject_type": "public"\n}' },
]
const refused = 'redirect_uri must not have a fragment'
const wrong = 'other must be JSON'

const clients: AdminPageModels['admin-clients'] = {
  sections: sections('clients'),
  query: '',
  action: '/admin',
  clients: [
    ...[{ name: 'Order Desk', id: 'desk', url: '/admin/client?client_id=desk' }].map((each) => ({
      ...each,
      disabled: false,
      selfDescribed: false,
      firstParty: true,
    })),
    {
      name: 'Inbox Helper 3000',
      id: 'https://inbox-helper.example.net/client.json',
      url: '/admin/client?client_id=inbox',
      disabled: true,
      selfDescribed: true,
      firstParty: false,
    },
  ],
  newUrl: '/admin/new-client',
}
const client: AdminPageModels['admin-client'] = {
  sections: sections('clients'),
  name: 'Order Desk',
  id: 'desk',
  since: earlier,
  usesSecret: true,
  disabled: false,
  selfDescribed: false,
  firstParty: true,
  form: { inputs },
  save: form('save'),
  rotate: form('rotate'),
  toggle: form('disable'),
  removeUrl: '/admin/delete-client?client_id=desk',
  eventsUrl: '/admin/events?client=desk',
}
const request: AdminPageModels['admin-requests']['requests'][number] = {
  name: 'Order Desk',
  id: '6b1f0c1e-8a53-4a1e-9d5c-0c7f3a3f2b11',
  url: '/admin/client?client_id=desk',
  owner: '10032',
  ownerUrl: '/admin/users?q=10032',
  since: time,
  isChange: false,
  facts: [
    ['client_name', 'Order Desk'],
    ['redirect_uris', 'https://desk.example.com/callback'],
    ['scope', 'openid orders:read'],
  ],
  approve: form('approve'),
  refuse: form('refuse'),
}
const removal: AdminPageModels['admin-delete-client'] = {
  sections: sections('clients'),
  name: 'Order Desk',
  id: 'desk',
  disabled: false,
  users: 1204,
  authorizations: 3117,
  remove: form('delete'),
  cancelUrl: '/admin/client?client_id=desk',
}
const user: NonNullable<AdminPageModels['admin-users']['user']> = {
  id: '10032',
  username: 'alice@example.com',
  clients: [
    {
      name: 'Order Desk',
      id: 'desk',
      url: '/admin/client?client_id=desk',
      organization: 'ws-1',
      scopes: ['openid', 'orders:read'],
      since: earlier,
      lastUsed: time,
      sessions: 2,
      end: form('remove'),
    },
  ],
  authorizations: [
    { id: 'lk-sample', client: 'desk', scopes: ['openid'], since: time, lastUsed: time, end: form('revoke') },
  ],
  logins: [
    { since: time, methods: ['pwd'], expires: time, end: form('sign-out') },
    { since: earlier, methods: ['pwd', 'otp'], expires: earlier, ended: earlier },
  ],
  endAll: form('end'),
  eventsUrl: '/admin/events?user=10032',
}
const users: AdminPageModels['admin-users'] = {
  sections: sections('users'),
  query: '',
  action: '/admin/users',
  findsNames: true,
}
const keys: AdminPageModels['admin-keys'] = {
  sections: sections('keys'),
  keys: (['verifying', 'signing', 'next'] as const).map((kind, index) => ({
    id: `key-${index}`,
    algorithm: 'RS256',
    kind,
    published: earlier,
    signsFrom: time,
    ...(kind === 'verifying' && { publishedUntil: time }),
  })),
  rotate: form('rotate'),
}
const filter = { user: '', client: 'desk', type: '', errorId: '' }
const events: AdminPageModels['admin-events'] = {
  sections: sections('events'),
  isOn: true,
  action: '/admin/events',
  filter,
  events: [
    {
      type: 'request.refused',
      time,
      errorId: '7F3C-91A2-B4',
      url: '/admin/events?error_id=7F3C-91A2-B4',
      facts: [
        ['code', 'invalid_redirect_uri'],
        ['expected', 'one of: https://desk.example.com/callback'],
        ['received', 'https://desk.example.com/callback/'],
      ],
    },
  ],
  nextUrl: '/admin/events?before=1-a',
}

/** Every state of every admin page. */
export const adminSamples: readonly Sample[] = [
  { name: 'admin-clients', page: 'admin-clients', model: clients },
  {
    name: 'admin-clients-long',
    page: 'admin-clients',
    model: {
      ...clients,
      query: long,
      deleted: long,
      clients: clients.clients.map((each) => ({ ...each, name: long, id: `https://${long}.example/` })),
      previousUrl: '/admin',
      nextUrl: '/admin?after=desk',
    },
  },
  { name: 'admin-clients-empty', page: 'admin-clients', model: { ...clients, clients: [] } },
  {
    name: 'admin-new-client',
    page: 'admin-new-client',
    model: {
      sections: sections('clients'),
      form: { inputs: [{ name: 'client_id', kind: 'text', value: '' }, ...inputs] },
      save: form('create'),
      cancelUrl: '/admin',
    },
  },
  {
    name: 'admin-new-client-refused',
    page: 'admin-new-client',
    model: {
      sections: sections('clients'),
      form: {
        inputs: inputs.map((field) =>
          field.name === 'redirect_uris' ? { ...field, error: refused } : field,
        ),
        error: refused,
        refused: 'redirect_uris',
      },
      save: form('create'),
      cancelUrl: '/admin',
    },
  },
  { name: 'admin-client', page: 'admin-client', model: client },
  {
    name: 'admin-client-secret',
    page: 'admin-client',
    model: {
      ...client,
      secretExpires: time,
      notice: 'rotated',
      previousUntil: time,
      secret: 'lk_cs_sample-sample-sample-sample-sample-sample-sample',
    },
  },
  {
    name: 'admin-client-refused',
    page: 'admin-client',
    model: {
      ...client,
      name: long,
      id: long,
      disabled: true,
      selfDescribed: true,
      usesSecret: false,
      rotate: undefined,
      eventsUrl: undefined,
      toggle: form('enable'),
      form: {
        inputs: inputs.map((field) =>
          /^(other|first_party|grant_types|token_endpoint_auth_method)$/.test(field.name)
            ? { ...field, error: wrong }
            : field,
        ),
        error: wrong,
      },
    },
  },
  { name: 'admin-client-stale', page: 'admin-client', model: { ...client, notice: 'stale' } },
  { name: 'admin-delete-client', page: 'admin-delete-client', model: removal },
  {
    name: 'admin-requests',
    page: 'admin-requests',
    model: {
      sections: sections('requests'),
      requests: [request, { ...request, isChange: true }],
      notice: 'stale',
    },
  },
  {
    name: 'admin-requests-long',
    page: 'admin-requests',
    model: {
      sections: sections('requests'),
      requests: [{ ...request, name: long, id: long, owner: long, facts: [['redirect_uris', long]] }],
      previousUrl: '/admin/requests',
      nextUrl: '/admin/requests?after=sample',
    },
  },
  {
    name: 'admin-requests-none',
    page: 'admin-requests',
    model: { sections: sections('requests'), requests: [] },
  },
  { name: 'admin-users', page: 'admin-users', model: users },
  {
    name: 'admin-users-user',
    page: 'admin-users',
    model: { ...users, query: 'alice@example.com', user, notice: 'revoked' },
  },
  {
    name: 'admin-users-unknown',
    page: 'admin-users',
    model: {
      ...users,
      query: long,
      findsNames: false,
      user: {
        ...user,
        id: long,
        username: undefined,
        eventsUrl: undefined,
        clients: [],
        authorizations: [],
        logins: [],
      },
    },
  },
  { name: 'admin-keys', page: 'admin-keys', model: { ...keys, notice: 'rotated' } },
  { name: 'admin-events', page: 'admin-events', model: events },
  {
    name: 'admin-events-none',
    page: 'admin-events',
    model: { ...events, events: [], previousUrl: '/admin/events' },
  },
  { name: 'admin-events-off', page: 'admin-events', model: { ...events, isOn: false } },
]
