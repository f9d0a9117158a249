import type { PageModels } from '../../web/pages/page-models.ts'
import { long, type Sample, statesOf } from './sample.ts'

const error: PageModels['error'] = {
  kind: 'error',
  code: 'invalid_request',
  errorId: '7F3C-91A2-B4',
  time: '2026-11-21T09:41:00.000Z',
}

/** The text for those who look after a client that is stopped. */
const stopped = {
  waiting: 'the client waits for approval',
  refused: 'the client was not approved',
  disabled: 'the client is disabled',
} as const

/** The error page. */
export const errorSamples: readonly Sample[] = statesOf('error', {
  error,
  'error-development': {
    ...error,
    detail: 'redirect_uri is not registered for this client',
    explanation: {
      expected: 'https://desk.example.com/callback',
      received: ['https://desk.example.com/callback', '/'],
    },
    command: 'npx latchkey explain 7F3C-91A2-B4',
  },
  'error-fault': { ...error, code: 'server_error' },
  'error-expired': {
    ...error,
    kind: 'expired',
    code: 'invalid_request',
    homeUrl: '/account',
  },
  ...Object.fromEntries(
    (['expired', 'finished', 'cookies'] as const).map((kind) => [
      `error-${kind}-client`,
      {
        ...error,
        kind,
        code: 'invalid_request',
        client: { name: 'Order Desk', uri: 'https://desk.example.com/' },
      },
    ]),
  ),
  'error-cookies': { ...error, kind: 'cookies', homeUrl: '/account' },
  'error-finished': { ...error, kind: 'finished', homeUrl: '/account' },
  'error-expired-long': {
    ...error,
    kind: 'expired',
    client: { name: long, uri: 'https://desk.example.com/' },
  },
  'error-busy': { ...error, kind: 'busy', code: 'temporarily_unavailable', mayRetry: true },
  'error-unavailable': {
    ...error,
    kind: 'unavailable',
    code: 'temporarily_unavailable',
    mayRetry: true,
  },
  'error-forbidden': { ...error, kind: 'forbidden', code: 'access_denied', homeUrl: '/' },
  'error-forbidden-signed-out': {
    ...error,
    kind: 'forbidden',
    code: 'access_denied',
    homeUrl: '/',
    signInUrl: '/admin?sign_in=1',
  },
  'error-forbidden-account': {
    ...error,
    kind: 'forbidden',
    code: 'access_denied',
    homeUrl: '/',
    account: { username: 'alice@example.com', switchUrl: '/account?replaces=one' },
  },
  'error-unknown-client': { ...error, kind: 'unknown-client', code: 'unauthorized_client' },
  ...Object.fromEntries(
    (['disabled', 'unapproved'] as const).map((kind) => [
      `error-${kind}`,
      { ...error, kind, code: 'unauthorized_client', homeUrl: '/' },
    ]),
  ),
  ...Object.fromEntries(
    (['waiting', 'refused', 'disabled'] as const).map((kind) => [
      `error-${kind}-owner`,
      {
        ...error,
        kind,
        code: 'unauthorized_client',
        detail: stopped[kind],
        explanation: {
          expected: 'the client_id of a registered client that is enabled',
          received: [`desk-2, which ${stopped[kind].slice('the client '.length)}`, ''] as const,
        },
        homeUrl: '/',
        manageUrl: '/developer/client?client_id=desk-2',
      },
    ]),
  ),
  'error-not-found': { ...error, kind: 'not-found', code: 'invalid_request', homeUrl: '/' },
})
