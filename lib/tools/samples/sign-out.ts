import { frames, long, type Sample, statesOf } from './sample.ts'

/** The pages of a logout. */
export const signOutSamples: readonly Sample[] = [
  ...statesOf('signed-out', {
    'signed-out': { signInUrl: '/account' },
    'signed-out-frames': { signInUrl: '/account', frames },
    'signed-out-still': { stillSignedIn: true, homeUrl: '/' },
    'signed-out-back': {
      client: { name: 'Order Desk', uri: 'https://desk.example.com/' },
      signInUrl: '/account',
    },
  }),
  ...statesOf('sign-out', {
    'sign-out': {
      action: '/logout',
      hidden: { csrf_token: 'sample' },
      client: 'Order Desk',
      username: 'alice@example.com',
      stayUrl: 'https://desk.example.com/',
    },
    'sign-out-plain': { action: '/logout', hidden: {}, username: 'alice@example.com', stayUrl: '/account' },
    'sign-out-long': {
      action: '/logout',
      hidden: {},
      client: long,
      username: `${long}@example.com`,
      stayUrl: '/',
    },
  }),
]
