import { long, type Sample, statesOf } from '../../tools/samples/sample.ts'
import type { ClientForm } from '../../web/pages/client-form-models.ts'
import type { OperatorPageModel, OperatorSection } from '../../web/pages/operator-page-model.ts'
import type { PageModels } from '../../web/pages/page-models.ts'
import type { PageForm } from '../../web/pages/page-parts.ts'
import { inParts } from './client-fields.ts'
import { eventsStates } from './events/states.ts'
import { overviewStates } from './overview/states.ts'
import { reportStates } from './report/states.ts'
import { userActStates, userParts, userStates } from './users/states.ts'

/** The head of every page for operators. */
const above = (present: string): OperatorPageModel => ({
  sections: sectionsFrom(present),
  operator: {
    actor: 'mira@notes.example',
    issuer: 'https://notes.example/oauth',
    isDevelopment: present === 'keys',
    signOutUrl: present === 'users' ? undefined : '/logout',
  },
})
const sectionsFrom = (present: string): OperatorSection[] =>
  ['overview', 'clients', 'requests', 'users', 'keys', 'events', 'report'].map((name) => ({
    kind: name,
    url: name === 'overview' ? '/admin' : `/admin/${name}`,
    isCurrent: name === present,
    ...(name === 'requests' && { count: 3 }),
  }))

const form = (decision: string): PageForm => ({
  action: '/admin/clients',
  hidden: { decision, csrf_token: 'sample' },
})
const time = '2026-11-21T09:41:00.000Z'
const earlier = '2026-03-02T08:00:00.000Z'

const inputs: ClientForm['inputs'] = [
  { name: 'client_id', kind: 'text', value: 'desk' },
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
    choices: [
      'authorization_code',
      'refresh_token',
      'client_credentials',
      'urn:ietf:params:oauth:grant-type:device_code',
      'urn:example:grant',
    ].map((value, index) => ({
      value,
      isChosen: index === 0,
    })),
  },
  { name: 'first_party', kind: 'flag', value: 'on' },
  {
    name: 'scope',
    kind: 'choices',
    value: 'openid\norders:read',
    choices: [
      { value: 'openid', isChosen: true, words: 'Sign you in' },
      { value: 'profile', isChosen: false, words: 'See your profile, such as your name' },
      { value: 'orders:read', isChosen: true, words: 'See your orders' },
      { value: 'orders:old', isChosen: false, words: 'orders:old' },
    ],
  },
  { name: 'client_uri', kind: 'uri', value: 'https://desk.example.com/' },
  { name: 'other', kind: 'json', value: '{\n  "subject_type": "pairwise"\n}' },
]
const editInputs = inputs.filter(({ name }) => name !== 'client_id')
/** Before anything is typed. */
const newInputs = inputs.map((field) =>
  field.name === 'grant_types'
    ? { ...field, value: 'authorization_code\nrefresh_token' }
    : { ...field, value: '' },
)
const refused = 'redirect_uri must not have a fragment'
const wrong = 'other must be JSON'

const clients: PageModels['operator-clients'] = {
  ...above('clients'),
  query: '',
  action: '/admin/clients',
  filter: 'all',
  filters: (
    [
      ['all', 1004],
      ['waiting', 3],
      ['disabled', 21],
      ['self-described', 612],
      ['first-party', 4],
      ['unused', 388],
    ] as const
  ).map(([kind, count]) => ({
    kind,
    url: `/admin/clients?filter=${kind}`,
    isCurrent: kind === 'all',
    count,
    isMore: false,
  })),
  clients: [
    {
      name: 'Order Desk',
      id: 'desk',
      host: 'desk.example.com',
      url: '/admin/client?client_id=desk',
      disabled: false,
      selfDescribed: false,
      firstParty: true,
      users: 812,
      isMoreUsers: false,
      lastUsed: time,
    },
    {
      name: 'Inbox Helper 3000',
      id: 'https://inbox-helper.example.net/client.json',
      host: 'inbox-helper.example.net',
      url: '/admin/client?client_id=inbox',
      disabled: true,
      selfDescribed: true,
      firstParty: false,
      users: 1,
      isMoreUsers: false,
    },
    {
      name: 'Trail Maps',
      id: '6b1f0c1e-8a53-4a1e-9d5c-0c7f3a3f2b11',
      host: 'trail-maps.example.net',
      url: '/admin/client?client_id=trail',
      disabled: false,
      waits: 'new',
      selfDescribed: true,
      firstParty: false,
      users: 1000,
      isMoreUsers: true,
      lastUsed: earlier,
    },
    {
      name: 'Nightly export',
      id: '0c1d3a52-1f63-4c0e-8f0e-5a2f7c1b9d44',
      host: '',
      url: '/admin/client?client_id=export',
      disabled: false,
      selfDescribed: false,
      firstParty: false,
      organization: 'nordlys',
      users: 0,
      isMoreUsers: false,
    },
  ],
  showsLastUse: true,
  range: { first: 51, last: 100, total: 1004 },
  previousUrl: '/admin/clients?page=1',
  nextUrl: '/admin/clients?page=3',
  newUrl: '/admin/new-client',
}
const noClients = { ...clients, clients: [], range: undefined, previousUrl: undefined, nextUrl: undefined }
const client: PageModels['operator-client'] = {
  ...above('clients'),
  name: 'Order Desk',
  id: 'desk',
  since: earlier,
  users: 1204,
  maxCounted: 10_000,
  usesSecret: true,
  disabled: false,
  selfDescribed: false,
  firstParty: true,
  form: inParts({ inputs: editInputs }),
  save: form('save'),
  rotate: form('rotate'),
  disableUrl: '/admin/disable-client?client_id=desk',
  removeUrl: '/admin/delete-client?client_id=desk',
  eventsUrl: '/admin/events?client=desk',
}
const ending = {
  ...above('clients'),
  name: 'Order Desk',
  id: 'desk',
  maxCounted: 10_000,
  users: 1204,
  authorizations: 10_000,
  cancelUrl: '/admin/client?client_id=desk',
}
const disabling: PageModels['operator-disable-client'] = { ...ending, disable: form('disable') }
const removal: PageModels['operator-delete-client'] = { ...ending, disabled: false, remove: form('delete') }
const user: NonNullable<PageModels['operator-users']['user']> = {
  id: '10032',
  username: 'alice@example.com',
  fullName: 'Alice Example',
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
      authorizations: [
        {
          id: 'lk-sample',
          client: 'desk',
          scopes: ['openid'],
          since: time,
          lastUsed: time,
          end: form('revoke'),
        },
      ],
      end: form('remove'),
    },
  ],
  lastSignIn: time,
  authorizations: [
    {
      id: 'lk-other',
      client: 'former',
      scopes: ['openid'],
      since: time,
      lastUsed: time,
      end: form('revoke'),
    },
  ],
  ...userParts(form),
  eventsUrl: '/admin/events?subject=10032',
}
const users: PageModels['operator-users'] = {
  ...above('users'),
  query: '',
  action: '/admin/users',
  findsNames: true,
}
const keys: PageModels['operator-keys'] = {
  ...above('keys'),
  keys: (['verifying', 'signing', 'next'] as const).map((kind, index) => ({
    id: `key-${index}`,
    algorithm: 'RS256',
    kind,
    published: earlier,
    signsFrom: time,
    ...(kind === 'verifying' && { publishedUntil: time }),
  })),
  publishUrl: '/admin/publish-keys',
}
const publishing: PageModels['operator-publish-keys'] = {
  ...above('keys'),
  algorithms: ['RS256', 'PS256', 'ES256', 'EdDSA'],
  signsFrom: time,
  publish: form('publish'),
  cancelUrl: '/admin/keys',
}
/** Every state of every admin page. */
export const samples: readonly Sample[] = [
  ...statesOf('operator-overview', overviewStates(above('overview'))),
  ...statesOf('operator-clients', {
    'operator-clients': clients,
    'operator-clients-long': {
      ...clients,
      query: long,
      deleted: long,
      filter: 'waiting',
      filters: clients.filters.map((each) => ({
        ...each,
        isCurrent: each.kind === 'waiting',
        isMore: each.kind === 'unused',
        count: 1_234_567,
      })),
      clients: clients.clients.map((each) => ({
        ...each,
        name: long,
        id: `https://${long}.example/`,
        waits: 'change' as const,
        host: `${long}.example`,
        foundBy: `${long}@example.com`,
      })),
      range: { first: 49_901, last: 49_950, total: 1_234_567 },
    },
    'operator-clients-empty': { ...noClients, filters: clients.filters.slice(0, 1) },
    'operator-clients-not-found': { ...noClients, query: 'zzz' },
  }),
  ...statesOf('operator-new-client', {
    'operator-new-client': {
      ...above('clients'),
      form: inParts({ inputs: newInputs }),
      save: form('create'),
      cancelUrl: '/admin/clients',
    },
    'operator-new-client-refused': {
      ...above('clients'),
      form: inParts({
        inputs: inputs.map((field) =>
          field.name === 'redirect_uris' ? { ...field, error: refused } : field,
        ),
        error: refused,
        refused: 'redirect_uris',
      }),
      save: form('create'),
      cancelUrl: '/admin/clients',
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
      disableUrl: undefined,
      enable: form('enable'),
      form: inParts({
        inputs: editInputs.map((field) =>
          /^(other|first_party|grant_types|token_endpoint_auth_method)$/.test(field.name)
            ? { ...field, error: wrong }
            : field,
        ),
        error: wrong,
      }),
    },
    'operator-client-stale': { ...client, notice: 'stale' },
  }),
  ...statesOf('operator-disable-client', {
    'operator-disable-client': disabling,
    'operator-disable-client-long': { ...disabling, name: long, id: long },
  }),
  ...statesOf('operator-delete-client', {
    'operator-delete-client': removal,
  }),
  ...statesOf('operator-user-act', userActStates(above('users'), form, long)),
  ...statesOf('operator-users', {
    'operator-users': users,
    ...userStates(users, user, form, long),
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
  ...statesOf('operator-publish-keys', {
    'operator-publish-keys': publishing,
    'operator-publish-keys-none': { ...publishing, algorithms: [] },
  }),
  ...statesOf('operator-events', eventsStates(above('events'))),
  ...statesOf('operator-report', reportStates(above('report'))),
]
