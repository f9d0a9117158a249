import { accountSamples } from './account-samples.ts'
import { consentSamples } from './consent-samples.ts'
import { developerSamples } from './developer-samples.ts'
import { deviceSamples } from './device-samples.ts'
import { errorSamples } from './error-samples.ts'
import { loginSamples } from './login-samples.ts'
import { frames, type Sample } from './sample.ts'
import { signOutSamples } from './sign-out-samples.ts'

/** Every state of every page: for pictures, and for what must hold in each. */
export const samples: readonly Sample[] = [
  ...loginSamples,
  ...consentSamples,
  ...deviceSamples,
  ...accountSamples,
  ...developerSamples,
  ...errorSamples,
  ...signOutSamples,
  {
    name: 'form-post',
    page: 'form-post',
    model: { action: 'https://desk.example.com/callback', fields: { code: 'sample', state: 'a b' } },
  },
  { name: 'return', page: 'return', model: { url: '/authorize?request=sample' } },
  { name: 'return-frames', page: 'return', model: { url: '/logout?signed_out=1', frames } },
]
