import { client, hidden, long, type Sample, statesOf } from '../../tools/samples/sample.ts'
import type { PageModels } from '../../web/pages/page-models.ts'

const device: PageModels['device'] = { action: '/device', hidden: { csrf_token: 'sample' }, userCode: '' }
const deviceConfirm: PageModels['device-confirm'] = {
  action: '/device',
  hidden,
  client: { ...client, host: '' },
  username: 'alice@example.com',
  userCode: 'WDJB-MJHT',
  requestedAgo: 140,
  address: '203.0.113.7',
  sameNetwork: true,
}
const deviceDone: PageModels['device-done'] = {
  outcome: 'connected',
  client: deviceConfirm.client,
  accountUrl: '/account',
}

/** Every state of the pages of devices. */
export const samples: readonly Sample[] = [
  ...statesOf('device', {
    device,
    'device-filled': { ...device, userCode: 'WDJB-MJHT' },
    'device-wrong': { ...device, userCode: 'wdjb mjhx', error: 'wrong' },
    'device-throttled': { ...device, userCode: 'WDJB-MJHX', error: 'throttled', retryAfter: 600 },
  }),
  ...statesOf('device-confirm', {
    'device-confirm': deviceConfirm,
    'device-confirm-long': {
      ...deviceConfirm,
      client: { ...client, name: long },
      username: `${long}@example.com`,
      requestedAgo: 5,
      address: '2001:db8:1111:2222:3333:4444:5555:6666',
      sameNetwork: false,
    },
  }),
  ...statesOf('device-done', {
    'device-done': deviceDone,
    'device-denied': { ...deviceDone, outcome: 'denied' },
  }),
]
