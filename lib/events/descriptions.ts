import type { EventDescriptions, EventTypesOf } from './description.ts'

/** The events that the core announces. */
type CoreType =
  | EventTypesOf<'login'>
  | 'consent.allowed'
  | 'consent.denied'
  | 'consent.removed'
  | 'authorization.narrowed'
  | 'access.denied'
  | 'authorization.issued'
  | 'authorization.revoked'
  | 'tokens.issued'
  | 'token.repeated'
  | 'token.revoked'
  | 'client.created'
  | 'client.updated'
  | 'client.disabled'
  | 'client.enabled'
  | 'client.deleted'
  | 'client.secret_rotated'
  | 'client.refused'
  | 'user.revoked'
  | 'user.erased'
  | 'key.published'
  | 'key.revoked'
  | 'request.refused'
  | 'api.refused'
  | 'events.limited'
  | 'request.failed'

/** The sentences that operators read about the events of the core. */
export const coreEvents: EventDescriptions<CoreType> = {
  'login.succeeded': {
    group: 'sign-in',
    tone: 'good',
    title: 'Signed in',
    sentence: '{user} signed in[ to {client}][ from {address}]',
  },
  'login.failed': {
    group: 'sign-in',
    tone: 'bad',
    title: 'Sign-in failed',
    sentence: 'Wrong email or password[ for {login}][ on the way to {client}][ from {address}]',
  },
  'login.locked': {
    group: 'sign-in',
    tone: 'bad',
    title: 'Sign-in locked',
    sentence:
      'Too many wrong passwords[ for {login}][ on the way to {client}][ from {address}]: the login name is locked',
  },
  'login.unlocked': {
    group: 'sign-in',
    tone: 'admin',
    title: 'Sign-in unlocked',
    sentence: 'A login name[ of {user}] was unlocked[ by {actor}]',
  },
  'login.refused': {
    group: 'sign-in',
    tone: 'bad',
    title: 'Sign-in refused while locked',
    sentence: 'A sign-in[ to {client}][ from {address}] was refused: the login name or the address is locked',
    isBrief: true,
  },
  'login.ended': {
    group: 'sign-in',
    tone: 'good',
    title: 'Signed out',
    sentence: 'A login of {user} ended[, by {actor}]',
    endsAccess: true,
  },
  'consent.allowed': {
    group: 'consent',
    tone: 'good',
    title: 'Allowed',
    sentence: '{user} allowed {client}',
  },
  'consent.denied': {
    group: 'consent',
    tone: 'bad',
    title: 'Not allowed',
    sentence: '{user} did not allow {client}',
  },
  'consent.removed': {
    group: 'consent',
    tone: 'admin',
    title: 'Access removed',
    sentence: 'The access of {client} for {user} was removed[ by {actor}]',
    endsAccess: true,
  },
  'authorization.narrowed': {
    group: 'consent',
    tone: 'admin',
    title: 'Access narrowed',
    sentence: '{user} took away a part of the access of {client}',
    endsAccess: true,
  },
  'access.denied': {
    group: 'refused',
    tone: 'bad',
    title: 'Access refused',
    sentence: '{user} may not use {client}[: {reason}]',
  },
  'authorization.issued': {
    group: 'tokens',
    tone: 'good',
    title: 'Code sent',
    sentence: '{client} got a code for {user}',
  },
  'authorization.revoked': {
    group: 'tokens',
    tone: 'bad',
    title: 'Authorization revoked',
    sentence: 'All tokens of {client} for {user} ended: {reason}[, by {actor}]',
    endsAccess: true,
  },
  'tokens.issued': {
    group: 'tokens',
    tone: 'good',
    title: 'Tokens issued',
    sentence: '{client} got tokens[ for {user}]',
  },
  'token.repeated': {
    group: 'tokens',
    tone: 'bad',
    title: 'Refresh repeated',
    sentence: '{client} repeated a refresh for {user}[ from {address}][, first from {firstAddress}]',
  },
  'token.revoked': {
    group: 'tokens',
    tone: 'good',
    title: 'Token revoked',
    sentence: '{client} revoked a token',
    endsAccess: true,
  },
  'client.created': {
    group: 'admin',
    tone: 'admin',
    title: 'Client registered',
    sentence: '{client} was registered[ by {actor}][ by its developer {user}]',
  },
  'client.updated': {
    group: 'admin',
    tone: 'admin',
    title: 'Client changed',
    sentence: '{client} was changed[ by {actor}][ by its developer {user}]',
  },
  'client.disabled': {
    group: 'admin',
    tone: 'admin',
    title: 'Client disabled',
    sentence: '{client} was disabled[ by {actor}]',
    endsAccess: true,
  },
  'client.enabled': {
    group: 'admin',
    tone: 'admin',
    title: 'Client enabled',
    sentence: '{client} was enabled[ by {actor}]',
  },
  'client.deleted': {
    group: 'admin',
    tone: 'admin',
    title: 'Client deleted',
    sentence: '{client} was deleted[ by {actor}][ by its developer {user}]',
    endsAccess: true,
  },
  'client.secret_rotated': {
    group: 'admin',
    tone: 'admin',
    title: 'Client secret replaced',
    sentence: '{client} got a new secret[ from {actor}][ from its developer {user}]',
    endsAccess: true,
  },
  'client.refused': {
    group: 'refused',
    tone: 'bad',
    title: 'Client not authenticated',
    sentence: 'Client authentication failed[ for {client}][ from {address}] at {endpoint}[: {reason}]',
  },
  'user.revoked': {
    group: 'admin',
    tone: 'admin',
    title: 'Everything of a user ended',
    sentence: 'Everything of {user} was ended[ by {actor}][: {reason}]',
    endsAccess: true,
  },
  'user.erased': {
    group: 'admin',
    tone: 'admin',
    title: 'User erased',
    sentence: 'A user was erased',
    endsAccess: true,
  },
  'key.published': {
    group: 'admin',
    tone: 'admin',
    title: 'Key published',
    sentence: 'A new {algorithm} key was published[ by {actor}]',
  },
  'key.revoked': {
    group: 'admin',
    tone: 'admin',
    title: 'Key withdrawn',
    sentence: 'An {algorithm} key was withdrawn[: {reason}]',
    endsAccess: true,
  },
  'request.refused': {
    group: 'refused',
    tone: 'bad',
    title: 'A person saw an error page',
    sentence: 'A person saw an error page[ on the way to {client}]: {description}',
    isBrief: true,
  },
  'api.refused': {
    group: 'refused',
    tone: 'bad',
    title: 'A request of a client was refused',
    sentence: 'A request[ of {client}] was refused: {description}',
    isBrief: true,
  },
  'events.limited': {
    group: 'refused',
    tone: 'bad',
    title: 'More events than are stored',
    sentence: 'Not all events were stored, because there were too many of {of}',
    isBrief: true,
  },
  'request.failed': {
    group: 'refused',
    tone: 'bad',
    title: 'The server failed',
    sentence: 'A request failed: {code}[, {description}]',
  },
}
