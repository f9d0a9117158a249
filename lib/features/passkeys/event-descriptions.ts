import type { EventDescriptions, EventTypesOf } from '../../events/description.ts'

/** Descriptions of the events of passkeys, for operators. */
export const eventDescriptions: EventDescriptions<EventTypesOf<'passkey'>> = {
  'passkey.added': {
    group: 'sign-in',
    tone: 'good',
    title: 'Passkey added',
    sentence: '{user} added a passkey',
  },
  'passkey.removed': {
    group: 'sign-in',
    tone: 'admin',
    title: 'Passkey removed',
    sentence: 'A passkey of {user} was removed[ by {actor}]',
    endsAccess: true,
  },
  'passkey.used': {
    group: 'sign-in',
    tone: 'good',
    title: 'Passkey used',
    sentence: '{user} used a passkey[ for {client}][ from {address}]',
  },
  'passkey.failed': {
    group: 'sign-in',
    tone: 'bad',
    title: 'Passkey not accepted',
    sentence: 'A passkey[ of {user}] was not accepted[ for {client}]: {reason}',
  },
}
