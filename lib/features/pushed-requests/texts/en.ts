export const en = {
  'error.pushed-expired.title': 'This sign-in has expired',
  'error.pushed-expired.what': 'For your security, each link to sign in works once, for a short time.',
  'error.pushed-expired.link': 'Start again',
  'error.pushed-finished.title': 'This link was already used',
  'error.pushed-finished.what': 'For your security, each link to sign in works only once.',
  'error.pushed-finished.link': 'Continue to {client}',
}
