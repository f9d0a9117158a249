import { accountSamples } from './account.ts'
import { consentSamples } from './consent.ts'
import { errorSamples } from './error.ts'
import { loginSamples } from './login.ts'
import { frames, type Sample } from './sample.ts'
import { signOutSamples } from './sign-out.ts'

/** Every state of every page: for pictures, and for what must hold in each. */
export const samples: readonly Sample[] = [
  ...loginSamples,
  ...consentSamples,
  ...accountSamples,
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
