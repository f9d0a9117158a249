import type { ConsentScope } from '../page-models.ts'
import type { Dictionary } from './text.ts'

/** English: every word of the pages. */
export const en: Dictionary = {
  language: 'en',
  direction: 'ltr',
  texts: {
    'title.page': '{title} · {product}',
    'title.error': 'Error: {title}',

    'login.title': 'Sign in',
    'login.continue': 'to continue to {client} ({host})',
    'login.continue.no-host': 'to continue to {client}',
    'login.username': 'Email or username',
    'login.password': 'Password',
    'login.submit': 'Sign in',
    'login.forgot-password': 'Forgot your password?',
    'login.sign-up': 'Create an account',
    'login.confirm.title': 'Confirm it’s you',
    'login.confirm.continue': 'Enter your password to continue to {client} ({host})',
    'login.confirm.continue.no-host': 'Enter your password to continue to {client}',
    'login.confirm.plain': 'Enter your password to continue',
    'login.confirm.submit': 'Continue',
    'login.credentials.title': 'We couldn’t sign you in',
    'login.credentials.link': 'The username or password is not right',
    'login.credentials.field': 'Check your username and type your password again.',
    'login.credentials.confirm.link': 'The password is not right',
    'login.credentials.confirm.field': 'Type your password again.',
    'login.throttled.title': 'Too many attempts',
    'login.throttled.text': 'To protect this account, signing in is paused. Try again in {wait}.',
    'login.throttled.later': 'To protect this account, signing in is paused. Try again later.',
    'login.unavailable.title': 'We can’t check your password right now',
    'login.unavailable.text': 'This is a fault on our side. Wait a moment, then try again.',

    'client.unverified': 'Unverified',
    'client.unverified.text':
      '{product} has not checked who runs it. Continue only if you know and trust it.',

    'consent.title': 'Allow access?',
    'consent.heading': '{client} wants to access your {product} account',
    'consent.host': 'Request from {host}',
    'consent.account': 'Signed in as {username}',
    'consent.switch': 'Not you?',
    'consent.group.identity': 'Who you are',
    'consent.group.read': 'What it can see',
    'consent.group.change': 'What it can change',
    'consent.group.offline': 'While you’re away',
    'consent.new': 'New',
    'consent.optional': 'Optional',
    'consent.details': 'Details',
    'consent.claim': 'See:',
    'consent.claims': 'What will be shared',
    'consent.deny': 'Cancel',
    'consent.allow': 'Allow',
    'consent.redirect': 'You’ll be sent to {destination}',
    'consent.policy': 'Privacy policy of {client}',
    'consent.tos': 'Terms of {client}',
    'consent.new-tab': '(opens in a new tab)',
    'consent.remove': 'You can remove access at any time in {account}.',
    'consent.remove.account': 'Connected apps',

    'error.error.title': 'This request can’t be completed',
    'error.error.what': 'The site or app you came from sent a request that {product} can’t accept.',
    'error.error.next': 'Go back to it and try again. If this keeps happening, tell the people who run it.',
    'error.fault.title': 'Something went wrong',
    'error.fault.what': 'This is a fault on our side, not something you did.',
    'error.fault.next': 'Go back and try again. If this keeps happening, contact us with the error id below.',
    'error.expired.title': 'This sign-in took too long',
    'error.expired.what': 'For your safety a sign-in can only be finished for a short while, and only once.',
    'error.expired.next': 'Go back to the site or app you came from and start again.',
    'error.unavailable.title': 'We’ll be right back',
    'error.unavailable.what': '{product} can’t sign anyone in at the moment.',
    'error.unavailable.next': 'Wait a minute, then reload this page. Nothing of yours is lost.',
    'error.start-again': 'Start again at {client}',
    'error.small-print': 'About this error',
    'error.code': 'Error code',
    'error.id': 'Error id',
    'error.time': 'Time',
    'error.detail': 'For developers',

    'sign-out.title': 'Sign out?',
    'sign-out.text': 'You are signed in to {product} as {username}.',
    'sign-out.client': '{client} asks to sign you out of {product}, where you are signed in as {username}.',
    'sign-out.stay': 'To stay signed in, close this page.',
    'sign-out.submit': 'Sign out',

    'signed-out.title': 'You’re signed out',
    'signed-out.text': 'You can close this window.',
    'signed-out.back': 'Back to {client}',

    'return.title': 'One moment',
    'return.text': 'If nothing happens, use the button below.',
    'return.link': 'Continue',

    'form-post.title': 'One moment',
    'form-post.text': 'You are being sent back. If nothing happens, use the button below.',
    'form-post.submit': 'Continue',

    'footer.label': 'Help and privacy',
    'footer.help': 'Help',
    'footer.privacy': 'Privacy',

    'value.yes': 'Yes',
    'value.no': 'No',

    // The standard claims (OpenID Connect Core 1.0 §5.1).
    'claim.sub': 'Account identifier',
    'claim.name': 'Name',
    'claim.given_name': 'First name',
    'claim.family_name': 'Last name',
    'claim.middle_name': 'Middle name',
    'claim.nickname': 'Nickname',
    'claim.preferred_username': 'Username',
    'claim.profile': 'Profile page',
    'claim.picture': 'Picture',
    'claim.website': 'Website',
    'claim.email': 'Email',
    'claim.email_verified': 'Email confirmed',
    'claim.gender': 'Gender',
    'claim.birthdate': 'Date of birth',
    'claim.zoneinfo': 'Time zone',
    'claim.locale': 'Language',
    'claim.phone_number': 'Phone',
    'claim.phone_number_verified': 'Phone confirmed',
    'claim.address': 'Address',
    'claim.updated_at': 'Last updated',
  },
}

/** The standard scopes in words for people (OpenID Connect Core 1.0 §5.4, §11). */
export const standardScopeTexts: Readonly<
  Record<
    'openid' | 'profile' | 'email' | 'address' | 'phone' | 'offline_access',
    Pick<ConsentScope, 'description' | 'group'>
  >
> = {
  openid: { description: 'Recognise your account', group: 'identity' },
  profile: { description: 'See your name and profile', group: 'identity' },
  email: { description: 'See your email address', group: 'identity' },
  address: { description: 'See your postal address', group: 'identity' },
  phone: { description: 'See your phone number', group: 'identity' },
  offline_access: { description: 'Keep this access until you remove it', group: 'offline' },
}
