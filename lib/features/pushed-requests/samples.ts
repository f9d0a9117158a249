import { type Sample, statesOf } from '../../tools/samples/sample.ts'
import type { PageModels } from '../../web/pages/page-models.ts'

const ended: PageModels['error'] = {
  kind: 'expired',
  texts: 'pushed',
  code: 'invalid_request_uri',
  errorId: '7F3C-91A2-B4',
  time: '2026-11-21T09:41:00.000Z',
  client: { name: 'Order Desk', uri: 'https://desk.example.com/' },
}

/** The pages about pushed requests that have ended. */
export const samples: readonly Sample[] = statesOf('error', {
  'error-pushed-expired': ended,
  'error-pushed-unknown': { ...ended, client: undefined, homeUrl: '/account' },
  'error-pushed-finished': { ...ended, kind: 'finished' },
})
