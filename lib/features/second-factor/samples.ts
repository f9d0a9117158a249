import type { PageModels } from '../../pages/page-models.ts'
import { accountPages, hidden, long, type Sample } from '../../samples/sample.ts'
import { qrCode } from './qr-code.ts'

const secondFactor: PageModels['second-factor'] = {
  action: '/second-factor',
  hidden,
  username: 'alice@example.com',
  isSent: false,
  isRecovery: false,
  otherCodeUrl: '/second-factor?recovery=1',
  switchUrl: '/login?replaces=sample',
}
const secondFactorSettings: PageModels['second-factor-settings'] = {
  action: '/account/second-factor',
  hidden: { csrf_token: 'sample' },
  username: 'alice@example.com',
  otherPages: accountPages,
}
const setUp = {
  qr: qrCode('otpauth://totp/Acme:alice%40example.com?issuer=Acme&secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'),
  secret: 'JBSW Y3DP EHPK 3PXP JBSW Y3DP EHPK 3PXP',
}
const secondFactorOn = { ...secondFactorSettings, since: '2026-03-02T08:00:00.000Z', codesLeft: 9 }

/** The pages of a second factor. */
export const samples: readonly Sample[] = [
  { name: 'second-factor', page: 'second-factor', model: secondFactor },
  {
    name: 'second-factor-wrong',
    page: 'second-factor',
    model: { ...secondFactor, error: 'wrong', isLastTry: true },
  },
  {
    name: 'second-factor-recovery',
    page: 'second-factor',
    model: { ...secondFactor, isRecovery: true, otherCodeUrl: '/second-factor' },
  },
  {
    name: 'second-factor-sent',
    page: 'second-factor',
    model: { ...secondFactor, isSent: true, notice: 'sent', otherCodeUrl: undefined },
  },
  {
    name: 'second-factor-not-sent',
    page: 'second-factor',
    model: { ...secondFactor, isSent: true, error: 'not-sent', username: `${long}@example.com` },
  },
  {
    name: 'second-factor-unavailable',
    page: 'second-factor',
    model: { ...secondFactor, error: 'unavailable', errorId: '7F3C-91A2-B4' },
  },
  {
    name: 'second-factor-settings',
    page: 'second-factor-settings',
    model: { ...secondFactorSettings, setUp },
  },
  {
    name: 'second-factor-settings-wrong',
    page: 'second-factor-settings',
    model: { ...secondFactorSettings, setUp, error: 'wrong', username: `${long}@example.com` },
  },
  {
    name: 'second-factor-settings-removed',
    page: 'second-factor-settings',
    model: { ...secondFactorSettings, setUp, notice: 'removed' },
  },
  { name: 'second-factor-settings-on', page: 'second-factor-settings', model: secondFactorOn },
  {
    name: 'second-factor-settings-throttled',
    page: 'second-factor-settings',
    model: { ...secondFactorOn, error: 'throttled', retryAfter: 840 },
  },
  {
    name: 'second-factor-settings-codes',
    page: 'second-factor-settings',
    model: {
      ...secondFactorSettings,
      codes: ['a2b3', 'c4d5', 'e6f7', 'g2h3', 'i4j5'].flatMap((part) => [
        `${part}-7k3m-p5qr-xw2z`,
        `${part}-t6vu-n4ab-yd5c`,
      ]),
    },
  },
]
