import { loginSample } from '../../tools/samples/login.ts'
import { accountPages, hidden, long, type Sample, statesOf } from '../../tools/samples/sample.ts'
import type { PageModels } from '../../web/pages/page-models.ts'

/** Options that the script of a page gives the browser. */
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
    {
      name: 'Passkey on Chrome, macOS',
      created: '2026-11-20T08:00:00.000Z',
      url: '/account/passkeys?id=two',
    },
    { name: '', created: '2026-11-20T08:00:00.000Z', url: '/account/passkeys?id=three' },
  ],
  options: prompt,
  max: 20,
  pages: accountPages('passkeys'),
  homeUrl: '/',
  signOutUrl: '/logout',
}

/** Every state of the pages of passkeys, and of the sign-in page with them. */
export const samples: readonly Sample[] = [
  ...statesOf('login', {
    'login-passkey': { ...loginSample, methods },
    'login-passkey-wrong': {
      ...loginSample,
      username: 'alice@example.com',
      methods,
      error: 'method',
      failedMethod: 'passkey',
    },
    'login-passkey-locked': {
      ...loginSample,
      username: 'alice',
      methods,
      error: 'throttled',
      retryAfter: 840,
    },
    'login-passkey-throttled': {
      ...loginSample,
      methods,
      error: 'throttled',
      failedMethod: 'passkey',
      retryAfter: 840,
    },
    'login-passkey-confirm': { ...loginSample, username: 'alice@example.com', confirm: true, methods },
    'login-passkey-needed': {
      ...loginSample,
      client: undefined,
      username: 'alice@example.com',
      confirm: true,
      methods,
      needed: 'passkey',
    },
  }),
  ...statesOf('passkeys', {
    passkeys,
    'passkeys-renamed': { ...passkeys, notice: 'renamed' },
    'passkeys-not-added': { ...passkeys, passkeys: [], notice: 'not-added' },
    'passkeys-full': { ...passkeys, options: undefined, notice: 'removed' },
  }),
  ...statesOf('passkey', {
    'passkey-new': {
      action: '/account/passkeys',
      hidden,
      passkey: { name: 'Passkey on Chrome, macOS', created: '2026-11-23T08:00:00.000Z' },
      username: 'alice@example.com',
      isNew: true,
      cancelUrl: '/account/passkeys',
    },
    passkey: {
      action: '/account/passkeys',
      hidden,
      passkey: { name: `My phone ${long}`, created: '2026-03-02T08:00:00.000Z' },
      username: 'alice@example.com',
      cancelUrl: '/account/passkeys',
    },
  }),
]
