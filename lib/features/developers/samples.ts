import type { ClientForm } from '../../pages/client-form-models.ts'
import type { PageModels } from '../../pages/page-models.ts'
import { accountPages, long, type Sample, statesOf } from '../../samples/sample.ts'

const clientId = '6b1f0c1e-8a53-4a1e-9d5c-0c7f3a3f2b11'
const hidden = { decision: 'save', csrf_token: 'sample' }
const states = ['active', 'waiting', 'changed', 'refused', 'unchanged', 'disabled'] as const

const list: PageModels['developer'] = {
  username: 'alice@example.com',
  clients: states.map((state, number) => ({
    name: `Order Desk ${number + 1}`,
    clientId,
    state,
    url: `/developer/client?client_id=${number}`,
  })),
  newUrl: '/developer/new',
  signOutUrl: '/logout',
  pages: accountPages('developer'),
}

const form: ClientForm = {
  inputs: [
    { name: 'client_name', kind: 'text', value: 'Order Desk' },
    {
      name: 'token_endpoint_auth_method',
      kind: 'choice',
      value: '',
      choices: [
        { value: '', isChosen: true },
        { value: 'none', isChosen: false },
      ],
    },
    { name: 'redirect_uris', kind: 'lines', value: 'https://desk.example.com/callback' },
    {
      name: 'scopes',
      kind: 'choices',
      value: 'openid',
      choices: ['openid', 'profile', 'orders:read'].map((value) => ({ value, isChosen: value === 'openid' })),
    },
    { name: 'client_uri', kind: 'uri', value: 'https://desk.example.com/' },
    { name: 'logo_uri', kind: 'uri', value: '' },
  ],
}
const refused: ClientForm = {
  inputs: form.inputs.map((field) =>
    field.name === 'redirect_uris'
      ? { ...field, value: 'https://*.example.com/', error: 'redirect_uri must not contain a wildcard' }
      : { ...field, value: field.kind === 'text' ? long : field.value },
  ),
  error: 'redirect_uri must not contain a wildcard',
  refused: 'redirect_uris',
}

const newForm: PageModels['developer-form'] = {
  action: '/developer/new',
  hidden,
  form,
  needsApproval: false,
  cancelUrl: '/developer',
}
const shown: PageModels['developer-client'] = {
  client: { name: 'Order Desk', clientId, state: 'active' },
  isPublic: false,
  redirectUris: ['https://desk.example.com/callback', 'http://127.0.0.1/callback'],
  scopes: ['openid', 'profile', 'orders:read'],
  editUrl: '/developer/edit',
  rotateUrl: '/developer/rotate',
  deleteUrl: '/developer/delete',
  listUrl: '/developer',
}
const confirm: PageModels['developer-confirm'] = {
  kind: 'rotate',
  action: '/developer/rotate',
  hidden,
  client: { name: 'Order Desk' },
  cancelUrl: '/developer/client',
}

const sections = [{ kind: 'requests', url: '/admin/requests', isCurrent: true }]
const request: PageModels['operator-requests']['requests'][number] = {
  name: 'Order Desk',
  id: '6b1f0c1e-8a53-4a1e-9d5c-0c7f3a3f2b11',
  url: '/admin/client?client_id=desk',
  owner: '10032',
  ownerUrl: '/admin/users?q=10032',
  since: '2026-11-21T09:41:00.000Z',
  isChange: false,
  facts: [
    ['client_name', 'Order Desk'],
    ['redirect_uris', 'https://desk.example.com/callback'],
    ['scope', 'openid orders:read'],
  ],
  approve: { action: '/admin/requests', hidden: { decision: 'approve', csrf_token: 'sample' } },
  refuse: { action: '/admin/requests', hidden: { decision: 'refuse', csrf_token: 'sample' } },
}

/** The states of the developer pages. */
export const samples: readonly Sample[] = [
  ...statesOf('developer', {
    developer: list,
    'developer-empty': { ...list, clients: [], notice: 'deleted' },
    'developer-full': {
      ...list,
      username: `${long}@example.com`,
      clients: list.clients.map((client) => ({ ...client, name: long })),
      newUrl: undefined,
      max: 6,
      previousUrl: '/developer',
      nextUrl: '/developer?page=3',
    },
    'developer-forbidden': { ...list, clients: [], isForbidden: true, newUrl: undefined },
  }),
  ...statesOf('developer-form', {
    'developer-new': newForm,
    'developer-new-refused': { ...newForm, form: refused, needsApproval: true },
    'developer-edit-stale': {
      ...newForm,
      client: { name: long },
      needsApproval: true,
      isApproved: true,
      notice: 'stale',
    },
  }),
  ...statesOf('developer-client', {
    'developer-client-created': {
      ...shown,
      notice: 'created',
      secret: 'lk_cs_sample-sample-sample-sample-sample-sample-s',
    },
    ...Object.fromEntries(
      states.map((state) => [`developer-client-${state}`, { ...shown, client: { ...shown.client, state } }]),
    ),
    'developer-client-long': {
      ...shown,
      client: { name: long, clientId: long, state: 'refused' },
      isPublic: true,
      rotateUrl: undefined,
      reason: long,
      scopes: [long, long],
      redirectUris: [`https://${long}.example/${long}`],
    },
  }),
  ...statesOf('developer-confirm', {
    'developer-rotate': confirm,
    'developer-delete-long': { ...confirm, kind: 'delete', client: { name: long } },
  }),
  ...statesOf('operator-requests', {
    'operator-requests': {
      sections,
      requests: [request, { ...request, isChange: true }],
      notice: 'stale',
    },
    'operator-requests-long': {
      sections,
      requests: [{ ...request, name: long, id: long, owner: long, facts: [['redirect_uris', long]] }],
      previousUrl: '/admin/requests',
      nextUrl: '/admin/requests?after=sample',
    },
    'operator-requests-none': { sections, requests: [] },
  }),
]
