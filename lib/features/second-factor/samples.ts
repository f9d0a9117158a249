import { accountPages, hidden, long, type Sample, statesOf } from '../../tools/samples/sample.ts'
import type { PageModels } from '../../web/pages/page-models.ts'
import { qrCode } from './qr-code.ts'

const secondFactor: PageModels['second-factor'] = {
  action: '/second-factor',
  hidden,
  username: 'alice@example.com',
  isSent: false,
  digits: 6,
  isRecovery: false,
  otherCodeUrl: '/second-factor?recovery=1',
  switchUrl: '/login?replaces=sample',
}
const secondFactorSettings: PageModels['second-factor-settings'] = {
  action: '/account/second-factor',
  hidden: { csrf_token: 'sample' },
  username: 'alice@example.com',
  pages: accountPages('second-factor-settings'),
  homeUrl: '/',
  signOutUrl: '/logout',
}
const setUp = {
  qr: qrCode('otpauth://totp/Acme:alice%40example.com?issuer=Acme&secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'),
  secret: 'JBSW Y3DP EHPK 3PXP JBSW Y3DP EHPK 3PXP',
  uri: 'otpauth://totp/Acme:alice%40example.com?issuer=Acme&secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP',
}
const secondFactorOn = { ...secondFactorSettings, since: '2026-03-02T08:00:00.000Z', codesLeft: 9 }

/** The pages of a second factor. */
export const samples: readonly Sample[] = [
  ...statesOf('second-factor', {
    'second-factor': secondFactor,
    'second-factor-wrong': { ...secondFactor, error: 'wrong', isLastTry: true },
    'second-factor-recovery': {
      ...secondFactor,
      digits: undefined,
      isRecovery: true,
      otherCodeUrl: '/second-factor',
    },
    'second-factor-sent': {
      ...secondFactor,
      isSent: true,
      sentTo: '•••• 42',
      digits: undefined,
      notice: 'sent',
      otherCodeUrl: undefined,
    },
    'second-factor-not-sent': {
      ...secondFactor,
      isSent: true,
      digits: undefined,
      error: 'not-sent',
      username: `${long}@example.com`,
    },
    'second-factor-unavailable': { ...secondFactor, error: 'unavailable', errorId: '7F3C-91A2-B4' },
  }),
  ...statesOf('second-factor-settings', {
    'second-factor-settings': { ...secondFactorSettings, setUp },
    'second-factor-settings-wrong': {
      ...secondFactorSettings,
      setUp,
      error: 'wrong',
      username: `${long}@example.com`,
    },
    'second-factor-settings-removed': { ...secondFactorSettings, setUp, notice: 'removed' },
    'second-factor-settings-on': secondFactorOn,
    'second-factor-settings-other-app': { ...secondFactorOn, codesLeft: undefined, setUp },
    'second-factor-settings-replaced': { ...secondFactorOn, notice: 'replaced' },
    'second-factor-settings-few': { ...secondFactorOn, codesLeft: 2, notice: 'on' },
    'second-factor-settings-throttled': { ...secondFactorOn, error: 'throttled', retryAfter: 840 },
    'second-factor-settings-codes': {
      ...secondFactorSettings,
      product: 'Acme',
      madeAt: '2026-03-02T08:00:00.000Z',
      codes: ['a2b3', 'c4d5', 'e6f7', 'g2h3', 'i4j5'].flatMap((part) => [
        `${part}-7k3m-p5qr-xw2z`,
        `${part}-t6vu-n4ab-yd5c`,
      ]),
    },
  }),
]
