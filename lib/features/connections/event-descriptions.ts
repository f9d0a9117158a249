import type { EventDescriptions, EventTypesOf } from '../../events/description.ts'

type RecordedType =
  | EventTypesOf<'call'>
  | EventTypesOf<'document'>
  | 'authorization.requested'
  | 'authorization.refused'
  | 'consent.shown'

/** For operators: the events that are announced for the sake of connections. Anyone can cause most of them. */
export const eventDescriptions: EventDescriptions<RecordedType> = {
  'call.accepted': {
    group: 'tokens',
    tone: 'good',
    title: 'First call with a token',
    sentence: '{client} called an API[ for {user}]',
  },
  'call.refused': {
    group: 'refused',
    tone: 'bad',
    title: 'A call was refused',
    sentence: 'A call[ of {client}][ from {address}] was refused: {description}',
    isBrief: true,
  },
  'document.requested': {
    group: 'tokens',
    tone: 'good',
    title: 'A document was asked for',
    sentence: 'The document {path} was asked for[ from {address}]: {result}',
    isBrief: true,
  },
  'authorization.requested': {
    group: 'consent',
    tone: 'good',
    title: 'Sign-in opened',
    sentence: 'Sign-in started from {client}[, by {address}]',
    isBrief: true,
  },
  'consent.shown': {
    group: 'consent',
    tone: 'good',
    title: 'Consent page shown',
    sentence: '{user} saw what {client} asks for',
    isBrief: true,
  },
  'authorization.refused': {
    group: 'refused',
    tone: 'bad',
    title: 'An authorization request was refused',
    sentence: 'An authorization request[ of {client}] was refused: {description}',
    isBrief: true,
  },
}
