import { accountSamples } from './account.ts'
import { consentSamples } from './consent.ts'
import { deviceSamples } from './devices.ts'
import { errorSamples } from './error.ts'
import { loginSamples } from './login.ts'
import { frames, type Sample, statesOf } from './sample.ts'
import { signOutSamples } from './sign-out.ts'

/** Every state of every page: for pictures, and for what must hold in each. */
export const samples: readonly Sample[] = [
  ...loginSamples,
  ...consentSamples,
  ...accountSamples,
  ...deviceSamples,
  ...errorSamples,
  ...signOutSamples,
  ...statesOf('form-post', {
    'form-post': { action: 'https://desk.example.com/callback', fields: { code: 'sample', state: 'a b' } },
  }),
  ...statesOf('return', {
    return: { url: '/authorize?request=sample' },
    'return-frames': { url: '/logout?signed_out=1', frames },
  }),
]
