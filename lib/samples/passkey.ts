import type { PageModels } from '../pages/page-models.ts'
import { accountPages, hidden, long, passkeyOptions, type Sample } from './sample.ts'

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

/** The pages of passkeys. */
export const passkeySamples: readonly Sample[] = [
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
]
