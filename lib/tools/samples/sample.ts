import type { AccountPageLink } from '../../web/pages/account-page-model.ts'
import type { ClientCard, ConsentScope, PageModels, Sample } from '../../web/pages/page-models.ts'

export type { Sample } from '../../web/pages/page-models.ts'

/** The states of one page: what it shows, by the name of the state. */
export const statesOf = <Page extends keyof PageModels>(
  page: Page,
  models: Readonly<Record<string, PageModels[Page]>>,
): Sample[] => Object.entries(models).map(([name, model]) => ({ name, page, model }) as Sample)

// Data that samples of several pages show.

/** A client of the host. */
export const client: ClientCard = { name: 'Order Desk', host: 'desk.example.com', unverified: false }
/** A client that described itself. */
export const unverified: ClientCard = {
  name: 'Inbox Helper 3000',
  host: 'inbox-helper.example.net',
  unverified: true,
  onDevice: true,
  source: 'tools.example.net',
}
/** The URL of a logo or icon. */
export const logo = '/assets/icon.svg'
/** Hidden fields of a form. */
export const hidden = { request: 'lk_ar_sample', csrf: 'sample' }
/** A word that no line holds. */
export const long = 'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft'
/** The pages of an account with every feature. */
export const accountPages = (current: string): readonly AccountPageLink[] =>
  [
    { page: 'account', url: '/account' },
    { page: 'devices', url: '/account/devices' },
    { page: 'passkeys', url: '/account/passkeys' },
    { page: 'second-factor-settings', url: '/account/second-factor' },
    { page: 'personal-tokens', url: '/account/tokens' },
    { page: 'developer', url: '/developer' },
  ].map(({ page, url }) => ({ page, url, isCurrent: page === current }))
/** Pages of clients that a logout opens (OIDC Front-Channel Logout §3). */
export const frames = ['https://desk.example.com/signed-out?iss=https%3A%2F%2Fapp.example.com&sid=sample']
/** A row of the consent page. */
export const sampleScope = (
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
/** The rows of a client that asks for something of every kind. */
export const sampleScopes: readonly ConsentScope[] = [
  sampleScope('openid', 'See who you are', 'identity', {
    data: ['Alice Liddell', 'alice@example.com', 'C-10032'],
  }),
  sampleScope('orders:read', 'See your orders', 'read', {
    details: 'Every order of the last five years, with its items and prices.',
  }),
  sampleScope('invoices:read', 'See your invoices', 'read', { optional: true }),
  sampleScope('orders:write', 'Place and cancel orders for you', 'change', {
    isNew: true,
    optional: true,
    checked: false,
  }),
  sampleScope('payments:send', 'Pay for your orders', 'change', {
    isHighRisk: true,
    riskReason: 'It can spend your money',
    optional: true,
    checked: false,
    details: 'With the card that you have stored, up to the limit that you have set.',
  }),
  sampleScope('offline_access', 'Keep access while you’re away, for up to 1 year', 'offline', {
    isNew: true,
  }),
]
