import { frames, long, type Sample } from './sample.ts'

/** The pages of a logout. */
export const signOutSamples: readonly Sample[] = [
  { name: 'signed-out', page: 'signed-out', model: { signInUrl: '/account' } },
  { name: 'signed-out-frames', page: 'signed-out', model: { signInUrl: '/account', frames } },
  { name: 'signed-out-still', page: 'signed-out', model: { stillSignedIn: true, homeUrl: '/' } },
  {
    name: 'signed-out-back',
    page: 'signed-out',
    model: { client: { name: 'Order Desk', uri: 'https://desk.example.com/' }, signInUrl: '/account' },
  },
  {
    name: 'sign-out',
    page: 'sign-out',
    model: {
      action: '/logout',
      hidden: { csrf_token: 'sample' },
      client: 'Order Desk',
      username: 'alice@example.com',
      stayUrl: 'https://desk.example.com/',
    },
  },
  {
    name: 'sign-out-plain',
    page: 'sign-out',
    model: { action: '/logout', hidden: {}, username: 'alice@example.com', stayUrl: '/account' },
  },
  {
    name: 'sign-out-long',
    page: 'sign-out',
    model: { action: '/logout', hidden: {}, client: long, username: `${long}@example.com`, stayUrl: '/' },
  },
]
