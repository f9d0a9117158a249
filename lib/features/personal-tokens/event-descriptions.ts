import type { EventDescriptions, EventTypesOf } from '../../events/description.ts'

/** Descriptions of the events of personal access tokens, for operators. */
export const eventDescriptions: EventDescriptions<EventTypesOf<'token.personal'>> = {
  'token.personal.created': {
    group: 'tokens',
    tone: 'good',
    title: 'Personal token created',
    sentence: '{user} created the token {name}',
  },
  'token.personal.revoked': {
    group: 'tokens',
    tone: 'good',
    title: 'Personal token revoked',
    sentence: 'A token of {user} was revoked[ by {actor}]',
    endsAccess: true,
  },
}
