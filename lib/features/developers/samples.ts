import { accountPages, long, type Sample, statesOf } from '../../tools/samples/sample.ts'
import type { AccountPageModel } from '../../web/pages/account-page-model.ts'
import type { ClientForm } from '../../web/pages/client-form-models.ts'
import type { PageModels } from '../../web/pages/page-models.ts'
import { snippetsFor } from './snippets.ts'

const clientId = '6b1f0c1e-8a53-4a1e-9d5c-0c7f3a3f2b11'
const hidden = { decision: 'save', csrf_token: 'sample' }
const states = ['active', 'waiting', 'changed', 'refused', 'unchanged', 'disabled'] as const

const above: AccountPageModel = {
  username: 'alice@example.com',
  pages: accountPages('developer'),
  homeUrl: '/',
  signOutUrl: '/logout',
}
const list: PageModels['developer'] = {
  ...above,
  clients: states.map((state, number) => ({
    name: `Order Desk ${number + 1}`,
    clientId,
    state,
    url: `/developer/client?client_id=${number}`,
  })),
  newUrl: '/developer/new',
}

const scopeWords = [
  { name: 'openid', description: 'Know who you are' },
  { name: 'profile', description: 'See your name' },
  { name: 'orders:read', description: 'See your orders' },
]

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
      ? {
          ...field,
          value: 'https://*.example.com/\nhttps://desk.example.com/callback\nhttp://desk.example.com/',
          error: 'redirect_uri must not contain a wildcard',
        }
      : { ...field, value: field.kind === 'text' ? long : field.value },
  ),
  error: 'redirect_uri must not contain a wildcard',
  refused: 'redirect_uris',
}

const mistakes: PageModels['developer-form']['mistakes'] = [
  { field: 'redirect_uris', line: 1, error: 'redirect_uri must not contain a wildcard', problem: 'wildcard' },
  { field: 'redirect_uris', line: 3, error: 'redirect_uri must use https beyond loopback', problem: 'https' },
  { field: 'logo_uri', error: 'logo_uri must not exceed 2048 characters' },
]

const newForm: PageModels['developer-form'] = {
  action: '/developer/new',
  hidden,
  form,
  scopes: scopeWords,
  mistakes: [],
  needsApproval: false,
  cancelUrl: '/developer',
}
const shown: PageModels['developer-client'] = {
  ...above,
  client: { name: 'Order Desk', clientId, state: 'active' },
  isPublic: false,
  redirectUris: ['https://desk.example.com/callback', 'http://127.0.0.1/callback'],
  scopes: scopeWords,
  issuer: 'https://acme.example.com/oauth',
  discoveryUrl: 'https://acme.example.com/oauth/.well-known/openid-configuration',
  users: 1204,
  maxCounted: 10_000,
  codeUrl: '/developer/code',
  againUrl: '/developer/client',
  progress: {
    steps: [
      { step: 'registered', time: '2026-11-21T09:41:00.000Z' },
      { step: 'requested', time: '2026-11-21T09:52:00.000Z' },
      { step: 'allowed' },
      { step: 'exchanged' },
    ],
    refused: {
      time: '2026-11-21T09:52:00.000Z',
      path: '/authorize',
      reason: 'redirect_uri is not registered for this client',
      expected: 'https://desk.example.com/callback',
      received: ['https://desk.example.com/callback', '/'],
    },
  },
  editUrl: '/developer/edit',
  rotateUrl: '/developer/rotate',
  deleteUrl: '/developer/delete',
}
const libraries = snippetsFor({ isPublic: false })
const code: PageModels['developer-code'] = {
  ...above,
  client: { name: 'Order Desk' },
  libraries: libraries.map(({ library }, number) => ({
    library,
    url: `/developer/code?library=${library}`,
    isCurrent: number === 0,
  })),
  install: 'npm install openid-client express express-session',
  code: libraries[0]?.code({
    issuer: 'https://acme.example.com/oauth',
    clientId,
    redirectUri: 'https://desk.example.com/callback',
    scopes: ['openid', 'profile', 'orders:read'],
    isPublic: false,
  }),
  isPublic: false,
  clientUrl: '/developer/client',
}
const confirm: PageModels['developer-confirm'] = {
  kind: 'rotate',
  action: '/developer/rotate',
  hidden,
  client: { name: 'Order Desk' },
  cancelUrl: '/developer/client',
}

const ofOperators = { sections: [{ kind: 'requests', url: '/admin/requests', isCurrent: true }] }
const waiting: PageModels['operator-requests']['requests'][number] = {
  name: 'Order Desk',
  id: clientId,
  url: '/admin/request?client_id=desk',
  owner: 'alice@example.com',
  since: '2026-11-21T09:41:00.000Z',
  isChange: false,
}
const line = (text: string, differs = true) => ({ text, differs })
const request: PageModels['operator-request'] = {
  ...ofOperators,
  name: 'Order Desk',
  id: clientId,
  url: '/admin/client?client_id=desk',
  owner: 'alice@example.com',
  ownerUrl: '/admin/users?subject=10032',
  since: '2026-11-21T09:41:00.000Z',
  isChange: false,
  facts: [
    { name: 'client_name', now: [], asked: [line('Order Desk')] },
    { name: 'redirect_uris', now: [], asked: [line('https://desk.example.com/callback')] },
    { name: 'scope', now: [], asked: [line('openid'), line('orders:read')] },
  ],
  askedName: 'Order Desk',
  namesakes: 0,
  picture:
    '<!doctype html><html lang="en"><title>Allow Order Desk?</title><body inert><h1>Order Desk wants to access your account</h1></body></html>',
  approve: { action: '/admin/request', hidden: { decision: 'approve', csrf_token: 'sample' } },
  refuse: { action: '/admin/request', hidden: { decision: 'refuse', csrf_token: 'sample' } },
  listUrl: '/admin/requests',
}
const changeRequest: PageModels['operator-request'] = {
  ...request,
  isChange: true,
  facts: [
    { name: 'client_name', now: [line('Order Desk')], asked: [line('Journal')] },
    {
      name: 'redirect_uris',
      now: [line('https://desk.example.com/callback', false), line('https://old.example.com/callback')],
      asked: [line('https://desk.example.com/callback', false), line('https://journal.example.net/callback')],
    },
    { name: 'logo_uri', now: [], asked: [line('https://journal.example.net/logo.png')] },
  ],
  askedName: 'Journal',
  namesakes: 1,
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
    'developer-new-refused': { ...newForm, form: refused, mistakes, needsApproval: true },
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
      scopes: [{ name: long, description: long, language: 'de' }],
      users: 10_000,
      progress: undefined,
      redirectUris: [`https://${long}.example/${long}`],
    },
  }),
  ...statesOf('developer-code', {
    'developer-code': code,
    'developer-code-public': { ...code, client: { name: long }, isPublic: true },
  }),
  ...statesOf('developer-confirm', {
    'developer-rotate': confirm,
    'developer-delete-long': { ...confirm, kind: 'delete', client: { name: long } },
  }),
  ...statesOf('operator-requests', {
    'operator-requests': {
      ...ofOperators,
      requests: [waiting, { ...waiting, name: 'Trail Maps', isChange: true }],
      notice: 'stale',
    },
    'operator-requests-long': {
      ...ofOperators,
      requests: [{ ...waiting, name: long, id: long, owner: long }],
      previousUrl: '/admin/requests',
      nextUrl: '/admin/requests?after=sample',
    },
    'operator-requests-none': { ...ofOperators, requests: [] },
  }),
  ...statesOf('operator-request', {
    'operator-request': request,
    'operator-request-change': changeRequest,
    'operator-request-long': {
      ...changeRequest,
      name: long,
      id: long,
      owner: long,
      askedName: long,
      namesakes: 100,
      facts: [{ name: 'redirect_uris', now: [line(long)], asked: [line(long)] }],
    },
  }),
]
