import type { EventDescriptions, EventTypesOf } from '../../events/description.ts'

/** Descriptions of the events of service accounts, for operators. */
export const eventDescriptions: EventDescriptions<EventTypesOf<'service_account'>> = {
  'service_account.created': {
    group: 'admin',
    tone: 'admin',
    title: 'Service account created',
    sentence:
      'The organization {organization} has the service account {client}[, made by {user}][, made by {actor}]',
  },
  'service_account.changed': {
    group: 'admin',
    tone: 'admin',
    title: 'Service account changed',
    sentence: 'The service account {client} was changed[ by {user}][ by {actor}]',
  },
  'service_account.secret_replaced': {
    group: 'admin',
    tone: 'admin',
    title: 'Secret replaced',
    sentence: 'The service account {client} has another secret[, made by {user}][, made by {actor}]',
  },
  'service_account.secret_revoked': {
    group: 'admin',
    tone: 'admin',
    title: 'Secret revoked',
    sentence: 'A secret of the service account {client} was ended[ by {user}][ by {actor}]',
    endsAccess: true,
  },
  'service_account.removed': {
    group: 'admin',
    tone: 'admin',
    title: 'Service account removed',
    sentence: 'The service account {client} was removed[ by {user}][ by {actor}]',
    endsAccess: true,
  },
}
