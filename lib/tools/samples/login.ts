import type { PageModels } from '../../web/pages/page-models.ts'
import { client, hidden, logo, type Sample, statesOf, unverified } from './sample.ts'

const back = 'return_to=%2Flogin%3Fauthorization_request%3Dlk_ar_sample%26returned%3D1'
const links = { forgotPassword: `/forgot?${back}`, signUp: `/sign-up?${back}` }
/** The sign-in page as it is first. */
export const loginSample: PageModels['login'] = {
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
export const loginSamples: readonly Sample[] = statesOf('login', {
  login: loginSample,
  'login-wrong': { ...loginSample, username: 'alice@example.com', error: 'credentials', isLastTry: true },
  'login-providers': { ...loginSample, providers, identifier: 'email' },
  'login-providers-wrong': {
    ...loginSample,
    client: undefined,
    providers,
    identifier: 'username',
    error: 'credentials',
  },
  'login-throttled': { ...loginSample, username: 'alice', error: 'throttled', retryAfter: 840 },
  'login-throttled-confirm': {
    ...loginSample,
    username: 'alice@example.com',
    confirm: true,
    switchUrl: '/login?replaces=sample',
    providers,
    error: 'throttled',
    retryAfter: 840,
  },
  'login-throttled-later': { ...loginSample, username: 'alice', error: 'throttled' },
  'login-unavailable': { ...loginSample, username: 'alice', error: 'unavailable', errorId: '7F3C-91A2-B4' },
  'login-start-again': { ...loginSample, notice: 'start-again' },
  'login-signed-out': { ...loginSample, notice: 'signed-out' },
  'login-confirm': {
    ...loginSample,
    username: 'alice@example.com',
    confirm: true,
    switchUrl: '/login?replaces=sample',
  },
  'login-confirm-wrong': { ...loginSample, username: 'alice', confirm: true, error: 'credentials' },
  'login-another': {
    ...loginSample,
    username: 'ben@example.com',
    error: 'credentials',
    signedIn: { username: 'alice@example.com', url: '/login?request=sample' },
  },
  'login-unverified': { ...loginSample, client: unverified },
  'login-logo': { ...loginSample, client: { ...client, logoUrl: logo } },
  'login-account': { ...loginSample, action: '/account', client: undefined },
})
