import type { PageModels } from '../pages/page-models.ts'
import { long, type Sample } from './sample.ts'

const error: PageModels['error'] = {
  kind: 'error',
  code: 'invalid_redirect_uri',
  errorId: '7F3C-91A2-B4',
  time: '2026-11-21T09:41:00.000Z',
}

/** The error page. */
export const errorSamples: readonly Sample[] = [
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
]
