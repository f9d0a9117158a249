import type { AccountPage } from './account-page-model.ts'
import { developerSamples } from './developer-samples.ts'
import type { ClientCard, ConsentScope, PageModels, PageName } from './page-models.ts'
import { personalTokenSamples } from './personal-token-samples.ts'
import { qrCode } from './qr-code.ts'

const client: ClientCard = { name: 'Order Desk', host: 'desk.example.com', unverified: false }
const logo = '/assets/icon.svg'
const accountPages: readonly AccountPage[] = [
  { page: 'account', url: '/account' },
  { page: 'passkeys', url: '/account/passkeys' },
  { page: 'second-factor-settings', url: '/account/second-factor' },
  { page: 'personal-tokens', url: '/account/tokens' },
]
const frames = ['https://desk.example.com/signed-out?iss=https%3A%2F%2Fapp.example.com&sid=sample']
const hidden = { request: 'lk_ar_sample', csrf: 'sample' }
const back = 'return_to=%2Flogin%3Fauthorization_request%3Dlk_ar_sample%26returned%3D1'
const links = { forgotPassword: `/forgot?${back}`, signUp: `/sign-up?${back}` }
const login: PageModels['login'] = { action: '/login', hidden, client, username: '', confirm: false, links }
const providers = [
  { name: 'Google', url: `/auth/google?${back}`, icon: logo },
  { name: 'Initech', url: `/auth/initech?${back}` },
]
const scope = (
  name: string,
  description: string,
  group: ConsentScope['group'],
  more: Partial<ConsentScope> = {},
) => ({
  name,
  description,
  group,
  optional: false,
  isNew: false,
  checked: true,
  ...more,
})
const consent: PageModels['consent'] = {
  action: '/consent',
  hidden,
  client: {
    ...client,
    policyUri: 'https://desk.example.com/privacy',
    tosUri: 'https://desk.example.com/terms',
  },
  username: 'alice@example.com',
  scopes: [
    scope('openid', 'See who you are', 'identity', {
      data: ['Alice Liddell', 'alice@example.com', 'C-10032'],
    }),
    scope('orders:read', 'See your orders', 'read', {
      details: 'Every order of the last five years, with its items and prices.',
    }),
    scope('invoices:read', 'See your invoices', 'read', { optional: true }),
    scope('orders:write', 'Place and cancel orders for you', 'change', {
      isNew: true,
      optional: true,
      checked: false,
    }),
    scope('payments:send', 'Pay for your orders', 'change', {
      isHighRisk: true,
      optional: true,
      checked: false,
      details: 'With the card that you have stored, up to the limit that you have set.',
    }),
    scope('offline_access', 'Keep access while you’re away, until you remove it', 'offline', { isNew: true }),
  ],
  redirectTo: 'desk.example.com',
  accountUrl: '/account',
}
const device: PageModels['device'] = { action: '/device', hidden: { csrf_token: 'sample' }, userCode: '' }
const deviceConfirm: PageModels['device-confirm'] = {
  action: '/device',
  hidden,
  client: { ...client, host: '' },
  username: 'alice@example.com',
  userCode: 'WDJB-MJHT',
  requestedAgo: 140,
  address: '203.0.113.7',
  sameNetwork: true,
}
const deviceDone: PageModels['device-done'] = {
  outcome: 'connected',
  client: deviceConfirm.client,
  accountUrl: '/account',
}
const error: PageModels['error'] = {
  kind: 'error',
  code: 'invalid_redirect_uri',
  errorId: '7F3C-91A2-B4',
  time: '2026-11-21T09:41:00.000Z',
}
const unverified: ClientCard = {
  name: 'Inbox Helper 3000',
  host: 'inbox-helper.example.net',
  unverified: true,
  onDevice: true,
  source: 'tools.example.net',
}
const secondFactor: PageModels['second-factor'] = {
  action: '/second-factor',
  hidden,
  username: 'alice@example.com',
  isSent: false,
  isRecovery: false,
  otherCodeUrl: '/second-factor?recovery=1',
  switchUrl: '/login?replaces=sample',
}
const secondFactorSettings: PageModels['second-factor-settings'] = {
  action: '/account/second-factor',
  hidden: { csrf_token: 'sample' },
  username: 'alice@example.com',
  otherPages: accountPages.filter(({ page }) => page !== 'second-factor-settings'),
}
const setUp = {
  qr: qrCode('otpauth://totp/Acme:alice%40example.com?issuer=Acme&secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'),
  secret: 'JBSW Y3DP EHPK 3PXP JBSW Y3DP EHPK 3PXP',
}
const secondFactorOn = { ...secondFactorSettings, since: '2026-03-02T08:00:00.000Z', codesLeft: 9 }
const select: PageModels['select-account'] = {
  action: '/select-account',
  hidden,
  client,
  username: 'alice@example.com',
}
const account: PageModels['account'] = {
  username: 'alice@example.com',
  clients: [
    {
      name: 'Order Desk',
      logoUrl: logo,
      host: 'desk.example.com',
      scopes: consent.scopes.slice(0, 4),
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
const passkeyOptions = JSON.stringify({
  challenge:
    'MTc5MzM0NDAwMC4wMDAwMDAwMDAwMDAwMDAwMDAwMDAwLjAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDA',
  rpId: 'app.example.com',
  userVerification: 'required',
})
const passkeys: PageModels['passkeys'] = {
  action: '/account/passkeys',
  hidden,
  username: 'alice@example.com',
  passkeys: [
    {
      name: 'Google Password Manager',
      created: '2026-03-02T08:00:00.000Z',
      lastUsed: '2026-11-21T09:41:00.000Z',
      url: '/account/passkeys?id=one',
    },
    { name: '', created: '2026-11-20T08:00:00.000Z', url: '/account/passkeys?id=two' },
  ],
  options: passkeyOptions,
  otherPages: accountPages.filter(({ page }) => page !== 'passkeys'),
}
const workspaces = [
  { id: 'ws-1', name: 'Initech' },
  { id: 'ws-2', name: 'Globex' },
  { id: 'ws-3', name: 'Globex' },
]
const removal: PageModels['remove-client'] = {
  action: '/account',
  hidden,
  client,
  firstParty: false,
  username: 'alice@example.com',
  cancelUrl: '/account',
}
const long = 'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft'

/** A page in one of its states. */
export type Sample = { [Name in PageName]: { name: string; page: Name; model: PageModels[Name] } }[PageName]
/** Every state of every page: for pictures, and for what must hold in each. */
export const samples: readonly Sample[] = [
  { name: 'login', page: 'login', model: login },
  {
    name: 'login-wrong',
    page: 'login',
    model: { ...login, username: 'alice@example.com', error: 'credentials', isLastTry: true },
  },
  {
    name: 'login-providers',
    page: 'login',
    model: { ...login, providers, identifier: 'email' },
  },
  {
    name: 'login-providers-wrong',
    page: 'login',
    model: { ...login, client: undefined, providers, identifier: 'username', error: 'credentials' },
  },
  {
    name: 'login-throttled',
    page: 'login',
    model: { ...login, username: 'alice', error: 'throttled', retryAfter: 840 },
  },
  {
    name: 'login-throttled-later',
    page: 'login',
    model: { ...login, username: 'alice', error: 'throttled' },
  },
  {
    name: 'login-unavailable',
    page: 'login',
    model: { ...login, username: 'alice', error: 'unavailable', errorId: '7F3C-91A2-B4' },
  },
  { name: 'login-start-again', page: 'login', model: { ...login, notice: 'start-again' } },
  { name: 'login-signed-out', page: 'login', model: { ...login, notice: 'signed-out' } },
  {
    name: 'login-confirm',
    page: 'login',
    model: { ...login, username: 'alice@example.com', confirm: true, switchUrl: '/login?replaces=sample' },
  },
  {
    name: 'login-confirm-wrong',
    page: 'login',
    model: { ...login, username: 'alice', confirm: true, error: 'credentials' },
  },
  {
    name: 'login-another',
    page: 'login',
    model: {
      ...{ ...login, username: 'ben@example.com', error: 'credentials' },
      signedIn: { username: 'alice@example.com', url: '/login?request=sample' },
    },
  },
  { name: 'login-passkey', page: 'login', model: { ...login, passkey: passkeyOptions } },
  {
    name: 'login-passkey-wrong',
    page: 'login',
    model: { ...login, username: 'alice@example.com', passkey: passkeyOptions, error: 'passkey' },
  },
  {
    name: 'login-passkey-confirm',
    page: 'login',
    model: { ...login, username: 'alice@example.com', confirm: true, passkey: passkeyOptions },
  },
  { name: 'login-unverified', page: 'login', model: { ...login, client: unverified } },
  { name: 'consent', page: 'consent', model: consent },
  {
    name: 'consent-logo',
    page: 'consent',
    model: { ...consent, client: { ...consent.client, logoUrl: logo } },
  },
  { name: 'login-logo', page: 'login', model: { ...login, client: { ...client, logoUrl: logo } } },
  {
    name: 'consent-simple',
    page: 'consent',
    model: {
      ...consent,
      scopes: [
        scope('openid', 'See who you are', 'identity', { data: ['Alice Liddell', 'alice@example.com'] }),
      ],
    },
  },
  {
    name: 'consent-first',
    page: 'consent',
    model: { ...consent, scopes: consent.scopes.map((each) => ({ ...each, isNew: false })) },
  },
  {
    name: 'consent-app',
    page: 'consent',
    model: { ...consent, client: { ...client, host: '' }, redirectTo: undefined },
  },
  {
    name: 'consent-small',
    page: 'consent',
    model: {
      ...consent,
      client: unverified,
      scopes: consent.scopes.slice(0, 1),
      accountUrl: undefined,
    },
  },
  {
    name: 'consent-details',
    page: 'consent',
    model: {
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
  },
  {
    name: 'consent-resources',
    page: 'consent',
    model: {
      ...consent,
      client: unverified,
      scopes: [
        scope('notes:read', 'Read your notes', 'read', {
          resources: ['Notes MCP server', 'app.example.com/v1'],
        }),
        scope('notes:write', 'Change your notes', 'change', {
          resources: ['Notes MCP server'],
          optional: true,
        }),
        scope('resource', 'Use Calendar', 'other'),
      ],
    },
  },
  {
    name: 'consent-long',
    page: 'consent',
    model: {
      ...consent,
      client: { ...client, name: long, host: `${long}.example` },
      username: `${long}@example.com`,
      scopes: [
        scope('x', long, 'read', {
          optional: true,
          isNew: true,
          isHighRisk: true,
          details: long,
          data: [long],
          resources: [long],
        }),
        scope('y', long, 'change', { isNew: true, isHighRisk: true, language: 'de', details: long }),
      ],
      redirectTo: `${long}.example`,
    },
  },
  { name: 'consent-account', page: 'consent', model: { ...consent, notice: 'account' } },
  { name: 'consent-changed', page: 'consent', model: { ...consent, notice: 'changed' } },
  {
    name: 'consent-organization',
    page: 'consent',
    model: { ...consent, organizations: { choices: workspaces.slice(0, 1) } },
  },
  {
    name: 'consent-organizations',
    page: 'consent',
    model: { ...consent, organizations: { choices: workspaces, chosen: 'ws-2' } },
  },
  {
    name: 'consent-organizations-gone',
    page: 'consent',
    model: { ...consent, organizations: { choices: workspaces, error: 'gone' } },
  },
  {
    name: 'consent-organizations-long',
    page: 'consent',
    model: {
      ...consent,
      client: { ...client, name: long },
      organizations: { choices: ['a', 'b'].map((id) => ({ id: long + id, name: long })), error: 'missing' },
    },
  },
  {
    name: 'consent-organizations-only',
    page: 'consent',
    model: { ...consent, scopes: [], organizations: { choices: workspaces, only: true } },
  },
  { name: 'second-factor', page: 'second-factor', model: secondFactor },
  {
    name: 'second-factor-wrong',
    page: 'second-factor',
    model: { ...secondFactor, error: 'wrong', isLastTry: true },
  },
  {
    name: 'second-factor-recovery',
    page: 'second-factor',
    model: { ...secondFactor, isRecovery: true, otherCodeUrl: '/second-factor' },
  },
  {
    name: 'second-factor-sent',
    page: 'second-factor',
    model: { ...secondFactor, isSent: true, notice: 'sent', otherCodeUrl: undefined },
  },
  {
    name: 'second-factor-not-sent',
    page: 'second-factor',
    model: { ...secondFactor, isSent: true, error: 'not-sent', username: `${long}@example.com` },
  },
  {
    name: 'second-factor-unavailable',
    page: 'second-factor',
    model: { ...secondFactor, error: 'unavailable', errorId: '7F3C-91A2-B4' },
  },
  {
    name: 'second-factor-settings',
    page: 'second-factor-settings',
    model: { ...secondFactorSettings, setUp },
  },
  {
    name: 'second-factor-settings-wrong',
    page: 'second-factor-settings',
    model: { ...secondFactorSettings, setUp, error: 'wrong', username: `${long}@example.com` },
  },
  {
    name: 'second-factor-settings-removed',
    page: 'second-factor-settings',
    model: { ...secondFactorSettings, setUp, notice: 'removed' },
  },
  { name: 'second-factor-settings-on', page: 'second-factor-settings', model: secondFactorOn },
  {
    name: 'second-factor-settings-throttled',
    page: 'second-factor-settings',
    model: { ...secondFactorOn, error: 'throttled', retryAfter: 840 },
  },
  {
    name: 'second-factor-settings-codes',
    page: 'second-factor-settings',
    model: {
      ...secondFactorSettings,
      codes: ['a2b3', 'c4d5', 'e6f7', 'g2h3', 'i4j5'].flatMap((part) => [
        `${part}-7k3m-p5qr-xw2z`,
        `${part}-t6vu-n4ab-yd5c`,
      ]),
    },
  },
  { name: 'select-account', page: 'select-account', model: select },
  {
    name: 'select-account-long',
    page: 'select-account',
    model: { ...select, client: unverified, username: `${long}@example.com` },
  },
  { name: 'device', page: 'device', model: device },
  { name: 'device-filled', page: 'device', model: { ...device, userCode: 'WDJB-MJHT' } },
  { name: 'device-wrong', page: 'device', model: { ...device, userCode: 'wdjb mjhx', error: 'wrong' } },
  {
    name: 'device-throttled',
    page: 'device',
    model: { ...device, userCode: 'WDJB-MJHX', error: 'throttled', retryAfter: 600 },
  },
  { name: 'device-confirm', page: 'device-confirm', model: deviceConfirm },
  {
    name: 'device-confirm-long',
    page: 'device-confirm',
    model: {
      ...deviceConfirm,
      client: { ...client, name: long },
      username: `${long}@example.com`,
      requestedAgo: 5,
      address: '2001:db8:1111:2222:3333:4444:5555:6666',
      sameNetwork: false,
    },
  },
  { name: 'device-done', page: 'device-done', model: deviceDone },
  { name: 'device-denied', page: 'device-done', model: { ...deviceDone, outcome: 'denied' } },
  { name: 'consent-device', page: 'consent', model: { ...consent, redirectTo: undefined, device: true } },
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
  { name: 'login-account', page: 'login', model: { ...login, action: '/account', client: undefined } },
  { name: 'passkeys', page: 'passkeys', model: passkeys },
  { name: 'passkeys-added', page: 'passkeys', model: { ...passkeys, notice: 'added' } },
  { name: 'passkeys-not-added', page: 'passkeys', model: { ...passkeys, passkeys: [], notice: 'not-added' } },
  { name: 'passkeys-full', page: 'passkeys', model: { ...passkeys, options: undefined, notice: 'removed' } },
  {
    name: 'passkey',
    page: 'passkey',
    model: {
      action: '/account/passkeys',
      hidden,
      passkey: { name: `My phone ${long}`, created: '2026-03-02T08:00:00.000Z' },
      username: 'alice@example.com',
      cancelUrl: '/account/passkeys',
    },
  },
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
  ...developerSamples,
  ...personalTokenSamples,
  { name: 'error', page: 'error', model: error },
  {
    name: 'error-development',
    page: 'error',
    model: {
      ...error,
      detail: 'redirect_uri is not registered for this client: http://localhost:4000/callback',
    },
  },
  { name: 'error-fault', page: 'error', model: { ...error, code: 'server_error' } },
  {
    name: 'error-expired',
    page: 'error',
    model: {
      ...error,
      kind: 'expired',
      code: 'invalid_request',
      homeUrl: '/account',
    },
  },
  ...(['expired', 'finished', 'cookies'] as const).map(
    (kind): Sample => ({
      name: `error-${kind}-client`,
      page: 'error',
      model: {
        ...error,
        kind,
        code: 'invalid_request',
        client: { name: 'Order Desk', uri: 'https://desk.example.com/' },
      },
    }),
  ),
  { name: 'error-cookies', page: 'error', model: { ...error, kind: 'cookies', homeUrl: '/account' } },
  { name: 'error-finished', page: 'error', model: { ...error, kind: 'finished', homeUrl: '/account' } },
  {
    name: 'error-expired-long',
    page: 'error',
    model: { ...error, kind: 'expired', client: { name: long, uri: 'https://desk.example.com/' } },
  },
  {
    name: 'error-unavailable',
    page: 'error',
    model: { ...error, kind: 'unavailable', code: 'temporarily_unavailable' },
  },
  { name: 'signed-out', page: 'signed-out', model: { signInUrl: '/account' } },
  { name: 'signed-out-frames', page: 'signed-out', model: { signInUrl: '/account', frames } },
  { name: 'signed-out-still', page: 'signed-out', model: { stillSignedIn: true, homeUrl: '/' } },
  {
    name: 'signed-out-back',
    page: 'signed-out',
    model: { client: { name: 'Order Desk', uri: 'https://desk.example.com/' }, signInUrl: '/account' },
  },
  {
    name: 'sign-out',
    page: 'sign-out',
    model: {
      action: '/logout',
      hidden: { csrf_token: 'sample' },
      client: 'Order Desk',
      username: 'alice@example.com',
      stayUrl: 'https://desk.example.com/',
    },
  },
  {
    name: 'sign-out-plain',
    page: 'sign-out',
    model: { action: '/logout', hidden: {}, username: 'alice@example.com', stayUrl: '/account' },
  },
  {
    name: 'sign-out-long',
    page: 'sign-out',
    model: { action: '/logout', hidden: {}, client: long, username: `${long}@example.com`, stayUrl: '/' },
  },
  {
    name: 'form-post',
    page: 'form-post',
    model: { action: 'https://desk.example.com/callback', fields: { code: 'sample', state: 'a b' } },
  },
  { name: 'return', page: 'return', model: { url: '/authorize?request=sample' } },
  { name: 'return-frames', page: 'return', model: { url: '/logout?signed_out=1', frames } },
]
