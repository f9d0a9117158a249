import type { PageModels } from '../../pages/page-models.ts'
import { login } from '../../samples/login.ts'
import { accountPages, hidden, long, type Sample } from '../../samples/sample.ts'

/** What the script of a page gives the browser. */
const prompt = JSON.stringify({
  challenge:
    'MTc5MzM0NDAwMC4wMDAwMDAwMDAwMDAwMDAwMDAwMDAwLjAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDA',
  rpId: 'app.example.com',
  userVerification: 'required',
})
const methods = [{ method: 'passkey', prompt, autocomplete: 'webauthn' }]

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
  options: prompt,
  otherPages: accountPages,
}

/** Every state of the pages of passkeys, and of the sign-in page with them. */
export const samples: readonly Sample[] = [
  { name: 'login-passkey', page: 'login', model: { ...login, methods } },
  {
    name: 'login-passkey-wrong',
    page: 'login',
    model: { ...login, username: 'alice@example.com', methods, error: 'method', failedMethod: 'passkey' },
  },
  {
    name: 'login-passkey-confirm',
    page: 'login',
    model: { ...login, username: 'alice@example.com', confirm: true, methods },
  },
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
