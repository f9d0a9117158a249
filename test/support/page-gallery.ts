// Renders each page in each state to OUTDIR and pictures it in Chromium: light, dark, narrow, forced colours.
// With --check it also runs axe-core over each and fails on violations or sideways scrolling.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import type { ClientCard, ConsentScope, PageModels, PageName } from '../../lib/http/page-models.ts'
import { createViews } from '../../lib/http/views.ts'

const directory = process.argv[2] ?? 'test/.artifacts/pages'
const isCheck = process.argv.includes('--check')
mkdirSync(directory, { recursive: true })

const client: ClientCard = { name: 'Order Desk', host: 'desk.example.com', unverified: false }
const hidden = { request: 'lk_ar_sample', csrf: 'sample' }
const login: PageModels['login'] = { action: '/login', hidden, client, username: '', confirm: false }
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
    scope('openid', 'Recognise your account', 'identity'),
    scope('profile', 'See your name and profile', 'identity'),
    scope('email', 'See your email address', 'identity'),
    scope('orders:read', 'See your orders', 'read', {
      details: 'Every order of the last five years, with its items and prices.',
    }),
    scope('invoices:read', 'See your invoices', 'read', { optional: true }),
    scope('orders:write', 'Place and cancel orders for you', 'change', {
      isNew: true,
      optional: true,
      checked: false,
    }),
    scope('offline_access', 'Keep this access until you remove it', 'offline', { isNew: true }),
  ],
  claims: [
    { name: 'name', value: 'Alice Liddell' },
    { name: 'email', value: 'alice@example.com' },
    { name: 'email_verified', value: 'Yes' },
    { name: 'customer_number', value: 'C-10032' },
  ],
  redirectTo: 'https://desk.example.com',
  accountUrl: '/account',
}
const error: PageModels['error'] = {
  kind: 'error',
  code: 'invalid_redirect_uri',
  errorId: '7f3c91a2b4',
  time: '2026-11-21T09:41:00.000Z',
}
const unverified: ClientCard = {
  name: 'Inbox Helper 3000',
  host: 'inbox-helper.example.net',
  unverified: true,
}
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
      host: 'desk.example.com',
      scopes: consent.scopes.slice(0, 6),
      since: '2026-03-02T08:00:00.000Z',
      lastUsed: '2026-11-21T09:41:00.000Z',
      sessions: 2,
      removeUrl: '/account?client_id=desk',
    },
    {
      name: 'Field Notes',
      host: 'com.example.notes:',
      scopes: consent.scopes.slice(0, 1),
      since: '2026-11-01T08:00:00.000Z',
      lastUsed: '2026-11-02T09:41:00.000Z',
      sessions: 0,
      removeUrl: '/account?client_id=notes',
    },
  ],
  signOutUrl: '/logout',
}
const removal: PageModels['remove-client'] = {
  action: '/account',
  hidden,
  client,
  firstParty: false,
  username: 'alice@example.com',
  cancelUrl: '/account',
}
const long = 'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft'

type Sample = { [Name in PageName]: { name: string; page: Name; model: PageModels[Name] } }[PageName]
const samples: Sample[] = [
  { name: 'login', page: 'login', model: login },
  {
    name: 'login-wrong',
    page: 'login',
    model: { ...login, username: 'alice@example.com', error: 'credentials' },
  },
  {
    name: 'login-throttled',
    page: 'login',
    model: { ...login, username: 'alice', error: 'throttled', retryAfter: 840 },
  },
  { name: 'login-unavailable', page: 'login', model: { ...login, username: 'alice', error: 'unavailable' } },
  { name: 'login-confirm', page: 'login', model: { ...login, username: 'alice@example.com', confirm: true } },
  {
    name: 'login-confirm-wrong',
    page: 'login',
    model: { ...login, username: 'alice', confirm: true, error: 'credentials' },
  },
  { name: 'login-unverified', page: 'login', model: { ...login, client: unverified } },
  { name: 'consent', page: 'consent', model: consent },
  {
    name: 'consent-small',
    page: 'consent',
    model: {
      ...consent,
      client: unverified,
      scopes: consent.scopes.slice(0, 1),
      claims: [],
      accountUrl: undefined,
    },
  },
  {
    name: 'consent-long',
    page: 'consent',
    model: {
      ...consent,
      client: { ...client, name: long, host: `${long}.example` },
      username: `${long}@example.com`,
      scopes: [scope('x', long, 'read', { optional: true, isNew: true, details: long })],
      claims: [{ name: long, value: long }],
      redirectTo: `https://${long}.example`,
    },
  },
  { name: 'select-account', page: 'select-account', model: select },
  {
    name: 'select-account-long',
    page: 'select-account',
    model: { ...select, client: unverified, username: `${long}@example.com` },
  },
  { name: 'account', page: 'account', model: account },
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
        scopes: [{ description: long, group: 'change' as const }],
      })),
    },
  },
  { name: 'account-sign-in', page: 'account-sign-in', model: { url: '/login?return_to=/oauth/account' } },
  { name: 'login-account', page: 'login', model: { ...login, action: '/account', client: undefined } },
  { name: 'remove-client', page: 'remove-client', model: removal },
  {
    name: 'remove-client-long',
    page: 'remove-client',
    model: { ...removal, client: { name: long, host: `${long}.example` }, firstParty: true },
  },
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
      client: { name: 'Order Desk', uri: 'https://desk.example.com' },
    },
  },
  {
    name: 'error-unavailable',
    page: 'error',
    model: { ...error, kind: 'unavailable', code: 'temporarily_unavailable' },
  },
  { name: 'signed-out', page: 'signed-out', model: {} },
  {
    name: 'signed-out-back',
    page: 'signed-out',
    model: { client: { name: 'Order Desk', uri: 'https://desk.example.com/' } },
  },
  {
    name: 'sign-out',
    page: 'sign-out',
    model: {
      action: '/logout',
      hidden: { csrf_token: 'sample' },
      client: 'Order Desk',
      username: 'alice@example.com',
    },
  },
  { name: 'return', page: 'return', model: { url: '/authorize?request=sample' } },
]

const views = createViews({
  directory: undefined,
  branding: {
    name: 'Acme',
    links: { forgotPassword: '/forgot', signUp: '/sign-up', help: '/help', privacy: '/privacy' },
  },
  basePath: '',
})
const documents = new Map(
  samples.map(({ name, page, model }) => [`/${name}.html`, views.render(page, model as never)]),
)

const server = createServer((req, res) => {
  const path = new URL(req.url ?? '/', 'http://localhost').pathname
  const asset = views.asset(path.replace('/assets/', ''))
  const document = documents.get(path)
  res.setHeader(
    'content-type',
    document === undefined ? (asset?.type ?? 'text/plain') : 'text/html; charset=utf-8',
  )
  if (!isCheck)
    res.setHeader('content-security-policy', "default-src 'none'; style-src 'self'; img-src 'self'")
  res.statusCode = document === undefined && asset === undefined ? 404 : 200
  res.end(document?.replace(/<meta http-equiv="refresh"[^>]*>/, '') ?? asset?.body)
})
await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

const modes = {
  light: { width: 900, height: 760, colorScheme: 'light', forcedColors: 'none' },
  dark: { width: 900, height: 760, colorScheme: 'dark', forcedColors: 'none' },
  narrow: { width: 320, height: 640, colorScheme: 'light', forcedColors: 'none' },
  'narrow-dark': { width: 320, height: 640, colorScheme: 'dark', forcedColors: 'none' },
  forced: { width: 900, height: 760, colorScheme: 'dark', forcedColors: 'active' },
} as const

const axe = readFileSync(new URL('../../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8')
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    '--no-first-run',
  ],
})
let faults = 0
try {
  for (const [mode, { width, height, colorScheme, forcedColors }] of Object.entries(modes)) {
    const context = await browser.newContext({
      viewport: { width, height },
      colorScheme,
      forcedColors,
      deviceScaleFactor: 1.5,
    })
    const page = await context.newPage()
    page.on('console', (message) => {
      if (message.type() === 'error') console.error(mode, page.url(), message.text())
    })
    for (const { name } of samples) {
      await page.goto(`${origin}/${name}.html`)
      await page.screenshot({ path: join(directory, `${name}.${mode}.png`), fullPage: true })
      const overflow = await page.evaluate(
        'document.documentElement.scrollWidth > document.documentElement.clientWidth',
      )
      if (overflow) console.error(`${mode} ${name}: scrolls sideways`)
      if (overflow) faults += 1
      if (!isCheck) continue
      await page.evaluate(axe)
      const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
      const found = (await page.evaluate(`axe.run({ runOnly: ${JSON.stringify(tags)} }).then((result) => ({
        violations: result.violations.map((rule) => rule.id + ': ' + rule.nodes.map((node) => node.html + ' ' + node.failureSummary).join(' | ')),
        incomplete: result.incomplete.map((rule) => rule.id + ': ' + rule.nodes.map((node) => node.html).join(' | ')),
      }))`)) as { violations: string[]; incomplete: string[] }
      for (const violation of found.violations) console.error(`${mode} ${name}: ${violation}`)
      for (const doubt of found.incomplete) console.warn(`${mode} ${name}: to look at: ${doubt}`)
      faults += found.violations.length
    }
    await context.close()
  }
} finally {
  await browser.close()
  server.close()
}
for (const [path, document] of documents) writeFileSync(join(directory, path), document)
console.log(
  `${samples.length} pages in ${Object.keys(modes).length} ways: ${faults} faults; pictures in ${directory}`,
)
process.exitCode = faults === 0 ? 0 : 1
