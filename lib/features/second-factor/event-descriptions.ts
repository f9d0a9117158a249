import type { EventDescriptions, EventTypesOf } from '../../events/description.ts'

/** Descriptions of the events of the second factor, for operators. */
export const eventDescriptions: EventDescriptions<EventTypesOf<'second_factor'>> = {
  'second_factor.requested': {
    group: 'sign-in',
    tone: 'good',
    title: 'Second factor asked for',
    sentence: '{user} was asked for the second factor[ for {client}]',
  },
  'second_factor.failed': {
    group: 'sign-in',
    tone: 'bad',
    title: 'Wrong code',
    sentence: '{user} typed a wrong code[ for {client}][ from {address}]',
  },
  'second_factor.added': {
    group: 'sign-in',
    tone: 'good',
    title: 'Second factor set up',
    sentence: '{user} set up a second factor',
  },
  'second_factor.removed': {
    group: 'sign-in',
    tone: 'admin',
    title: 'Second factor removed',
    sentence: 'The second factor of {user} was removed[ by {actor}]',
  },
  'second_factor.replaced': {
    group: 'sign-in',
    tone: 'good',
    title: 'Second factor replaced',
    sentence: '{user} replaced the second factor',
  },
  'second_factor.recovery_codes_renewed': {
    group: 'sign-in',
    tone: 'good',
    title: 'Recovery codes renewed',
    sentence: '{user} made new recovery codes',
  },
  'second_factor.recovery_code_used': {
    group: 'sign-in',
    tone: 'good',
    title: 'Recovery code used',
    sentence: '{user} used a recovery code; {left} are left',
  },
}
