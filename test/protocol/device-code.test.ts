import {
  assertDeviceRedeemable,
  type DeviceCode,
  devicePollState,
  formatUserCode,
  parseUserCode,
  stillPending,
  userCodeAlphabet,
  userCodeLength,
} from '../../lib/features/device/rules.ts'
import type { AuthorizationState } from '../../lib/protocol/requests/authorization.ts'

const now = 1_000_000

test.each([
  ['WDJB-MJHT', 'WDJBMJHT'],
  ['wdjbmjht', 'WDJBMJHT'],
  [' wd jb – mj.ht ', 'WDJBMJHT'],
  ['ＷＤＪＢ－ＭＪＨＴ', 'WDJBMJHT'],
  ['WDJB-MJH', undefined],
  ['WDJB-MJHTX', undefined],
  ['WDJB-MJHA', undefined],
  ['WDJB-MJH1', undefined],
  ['', undefined],
])('the user code %j is read as %j', (typed, read) => {
  expect(parseUserCode(typed)).toBe(read)
})

test('a user code survives being shown and typed, and has at least 20 to the power of 8 values', () => {
  expect(parseUserCode(formatUserCode('BCDFGHJK'))).toBe('BCDFGHJK')
  expect(new Set(userCodeAlphabet).size ** userCodeLength).toBeGreaterThanOrEqual(20 ** 8)
})

const device: DeviceCode = {
  hash: 'h',
  clientId: 'tv',
  address: '',
  createdAt: now,
  expiresAt: now + 600,
  decision: undefined,
  request: { clientId: 'tv', responseType: 'code', scopes: [], prompt: [] },
}

test.each<[name: string, found: DeviceCode | undefined, at: number, outcome: string]>([
  ['that waits', device, 599, 'pending'],
  ['that is expired', device, 600, 'expired_token'],
  ['that is unknown', undefined, 0, 'invalid_grant'],
  ['of another client', { ...device, clientId: 'box' }, 0, 'invalid_grant'],
  ['that the user denied', { ...device, decision: 'denied' }, 0, 'access_denied'],
  ['that the user denied, expired meanwhile', { ...device, decision: 'denied' }, 600, 'access_denied'],
  ['that the user allowed', { ...device, decision: 'approved' }, 0, 'approved'],
])('a device code %s', (_, found, at, outcome) => {
  if (outcome === 'pending' || outcome === 'approved')
    expect(devicePollState(found, 'tv', now + at)).toBe(outcome)
  else
    expect(() => devicePollState(found, 'tv', now + at)).toThrow(expect.objectContaining({ code: outcome }))
})

test('a poll in time is authorization_pending, an early one slow_down', () => {
  expect([stillPending(true).code, stillPending(false).code]).toEqual(['authorization_pending', 'slow_down'])
})

const authorization: AuthorizationState = {
  id: 'a',
  clientId: 'tv',
  subject: '1',
  sid: 's',
  scopes: [],
  offline: false,
  loginStands: true,
  narrowed: 0,
  createdAt: now,
  loginEnd: now + 3600,
  codeExpiresAt: now + 60,
  consumedAt: null,
  expiresAt: now + 3600,
  revokedAt: null,
  details: { authTime: now, amr: [] },
}

const bound: AuthorizationState['details'] = {
  ...authorization.details,
  binding: { type: 'dpop', thumbprint: 'x'.repeat(43) },
}

test.each<[name: string, found: AuthorizationState | undefined, at: number, outcome: string]>([
  ['in time', authorization, 59, 'redeem'],
  ['too late', authorization, 60, 'expired_token'],
  ['twice', { ...authorization, consumedAt: now }, 0, 'replay'],
  ['after the user removed the client', { ...authorization, revokedAt: now }, 0, 'invalid_grant'],
  ['after the user signed out', { ...authorization, loginStands: false }, 0, 'invalid_grant'],
  ['after the user was erased', undefined, 0, 'invalid_grant'],
  ['without the key that it is bound to', { ...authorization, details: bound }, 0, 'invalid_grant'],
])('an allowed device code that is redeemed %s', (_, found, at, outcome) => {
  const check = () => assertDeviceRedeemable(found, { type: 'bearer' }, now + at)
  if (outcome === 'redeem' || outcome === 'replay') expect(check().outcome).toBe(outcome)
  else expect(check).toThrow(expect.objectContaining({ code: outcome }))
})
