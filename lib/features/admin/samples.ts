import type { ClientForm } from '../../pages/client-form-models.ts'
import type { OperatorSection } from '../../pages/operator-page-model.ts'
import type { PageModels } from '../../pages/page-models.ts'
import type { PageForm } from '../../pages/page-parts.ts'
import { long, type Sample, statesOf } from '../../samples/sample.ts'

const sections = (present: string): OperatorSection[] =>
  ['clients', 'requests', 'users', 'keys', 'events'].map((name) => ({
    kind: name,
    url: name === 'clients' ? '/admin' : `/admin/${name}`,
    isCurrent: name === present,
  }))

const form = (decision: string): PageForm => ({
  action: '/admin',
  hidden: { decision, csrf_token: 'sample' },
})
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

const clients: PageModels['operator-clients'] = {
  sections: sections('clients'),
  query: '',
  action: '/admin',
  clients: [
    {
      name: 'Order Desk',
      id: 'desk',
      url: '/admin/client?client_id=desk',
      disabled: false,
      selfDescribed: false,
      firstParty: true,
    },
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
const client: PageModels['operator-client'] = {
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
const removal: PageModels['operator-delete-client'] = {
  sections: sections('clients'),
  name: 'Order Desk',
  id: 'desk',
  disabled: false,
  maxCounted: 10_000,
  users: 1204,
  authorizations: 10_000,
  remove: form('delete'),
  cancelUrl: '/admin/client?client_id=desk',
}
const user: NonNullable<PageModels['operator-users']['user']> = {
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
const users: PageModels['operator-users'] = {
  sections: sections('users'),
  query: '',
  action: '/admin/users',
  findsNames: true,
}
const keys: PageModels['operator-keys'] = {
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
const events: PageModels['operator-events'] = {
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
export const samples: readonly Sample[] = [
  ...statesOf('operator-clients', {
    'operator-clients': clients,
    'operator-clients-long': {
      ...clients,
      query: long,
      deleted: long,
      clients: clients.clients.map((each) => ({ ...each, name: long, id: `https://${long}.example/` })),
      previousUrl: '/admin',
      nextUrl: '/admin?after=desk',
    },
    'operator-clients-empty': { ...clients, clients: [] },
  }),
  ...statesOf('operator-new-client', {
    'operator-new-client': {
      sections: sections('clients'),
      form: { inputs: [{ name: 'client_id', kind: 'text', value: '' }, ...inputs] },
      save: form('create'),
      cancelUrl: '/admin',
    },
    'operator-new-client-refused': {
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
  }),
  ...statesOf('operator-client', {
    'operator-client': client,
    'operator-client-secret': {
      ...client,
      secretExpires: time,
      notice: 'rotated',
      previousUntil: time,
      secret: 'lk_cs_sample-sample-sample-sample-sample-sample-sample',
    },
    'operator-client-refused': {
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
    'operator-client-stale': { ...client, notice: 'stale' },
  }),
  ...statesOf('operator-delete-client', {
    'operator-delete-client': removal,
  }),
  ...statesOf('operator-users', {
    'operator-users': users,
    'operator-users-user': { ...users, query: 'alice@example.com', user, notice: 'revoked' },
    'operator-users-unknown': {
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
  }),
  ...statesOf('operator-keys', {
    'operator-keys': { ...keys, notice: 'rotated' },
  }),
  ...statesOf('operator-events', {
    'operator-events': events,
    'operator-events-none': { ...events, events: [], previousUrl: '/admin/events' },
    'operator-events-off': { ...events, isOn: false },
  }),
]
