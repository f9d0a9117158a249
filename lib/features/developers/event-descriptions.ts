import type { EventDescriptions } from '../../events/description.ts'

/** Descriptions of the events of developers, for operators. */
export const eventDescriptions: EventDescriptions<
  'client.approval_requested' | 'client.approved' | 'client.approval_refused' | 'client.transferred'
> = {
  'client.approval_requested': {
    group: 'admin',
    tone: 'admin',
    title: 'Approval asked for',
    sentence: '{user} asked for the approval of {client}',
  },
  'client.approved': {
    group: 'admin',
    tone: 'admin',
    title: 'Client approved',
    sentence: '{client} was approved[ by {actor}]',
  },
  'client.approval_refused': {
    group: 'admin',
    tone: 'admin',
    title: 'Approval refused',
    sentence: '{client} was not approved[ by {actor}]',
  },
  'client.transferred': {
    group: 'admin',
    tone: 'admin',
    title: 'Client transferred',
    sentence: '{client} has another owner[: {user}]',
  },
}
