import type { PageModels } from '../../web/pages/page-models.ts'
import { accountPages, hidden, long, type Sample, statesOf } from './sample.ts'

const since = '2026-11-02T08:00:00.000Z'
const lastUsed = '2026-11-21T09:41:00.000Z'
const mac = { browser: 'Chrome', system: 'macOS' }
const windows = { browser: 'Microsoft Edge', system: 'Windows' }
const removeUrl = '/account/devices?device=sample'

const devices: PageModels['devices'] = {
  username: 'alice@example.com',
  devices: [
    { ...mac, since, lastUsed, isHere: true },
    { ...windows, since, lastUsed, isHere: false, removeUrl },
    { browser: 'Safari', system: 'iPhone', since, lastUsed: since, isHere: false, removeUrl },
    { since, lastUsed: since, isHere: false, removeUrl },
  ],
  others: { url: '/account/devices?device=others' },
  homeUrl: '/',
  signOutUrl: '/logout',
  pages: accountPages('devices'),
}
const ending: PageModels['end-device'] = {
  action: '/account/devices',
  hidden,
  device: { ...windows, since, lastUsed },
  count: 1,
  apps: [{ name: 'Order Desk' }, { name: 'Field Notes' }],
  isAtHost: false,
  username: 'alice@example.com',
  cancelUrl: '/account/devices',
}

/** Where the user is signed in. */
export const deviceSamples: readonly Sample[] = [
  ...statesOf('devices', {
    devices,
    'devices-one': { ...devices, devices: devices.devices.slice(0, 1), others: undefined },
    'devices-ended': {
      ...devices,
      devices: devices.devices.filter(({ system }) => system !== 'Windows'),
      done: {
        kind: 'ended',
        device: windows,
        apps: [
          { name: 'Order Desk', url: '/account?client_id=desk' },
          { name: long, url: '/account?client_id=notes' },
        ],
        forgotPassword: '/forgot?return_to=%2Faccount%2Fdevices',
      },
    },
    'devices-ended-alone': { ...devices, done: { kind: 'ended', device: {}, apps: [] } },
    'devices-others': {
      ...devices,
      devices: devices.devices.slice(0, 1),
      others: undefined,
      done: { kind: 'others' },
    },
  }),
  ...statesOf('end-device', {
    'end-device': ending,
    'end-device-host': { ...ending, device: { since, lastUsed }, apps: [{ name: long }], isAtHost: true },
    'end-device-others': { ...ending, device: undefined, count: 3 },
  }),
]
