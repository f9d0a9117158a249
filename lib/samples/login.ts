import type { PageModels } from '../pages/page-models.ts'
import { client, hidden, logo, type Sample, unverified } from './sample.ts'

const back = 'return_to=%2Flogin%3Fauthorization_request%3Dlk_ar_sample%26returned%3D1'
const links = { forgotPassword: `/forgot?${back}`, signUp: `/sign-up?${back}` }
/** The sign-in page as it is first. */
export const login: PageModels['login'] = {
  action: '/login',
  hidden,
  client,
  username: '',
  confirm: false,
  links,
}
const providers = [
  { name: 'Google', url: `/auth/google?${back}`, icon: logo },
  { name: 'Initech', url: `/auth/initech?${back}` },
]

/** The sign-in page. */
export const loginSamples: readonly Sample[] = [
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
      ...login,
      username: 'ben@example.com',
      error: 'credentials',
      signedIn: { username: 'alice@example.com', url: '/login?request=sample' },
    },
  },
  { name: 'login-unverified', page: 'login', model: { ...login, client: unverified } },
  { name: 'login-logo', page: 'login', model: { ...login, client: { ...client, logoUrl: logo } } },
  { name: 'login-account', page: 'login', model: { ...login, action: '/account', client: undefined } },
]
