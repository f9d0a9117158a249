import type { EventDescriptions } from '../../events/description.ts'

type AppEvents =
  `organization.${'policy_changed' | 'app_decided' | 'access_requested' | 'access_answered' | 'app_removed'}`

/** Descriptions of the events of apps in organizations, for operators. */
export const eventDescriptions: EventDescriptions<AppEvents> = {
  'organization.policy_changed': {
    group: 'consent',
    tone: 'admin',
    title: 'App policy changed',
    sentence: 'The policy for apps of {organization} was changed[ by {user}]',
  },
  'organization.app_decided': {
    group: 'consent',
    tone: 'admin',
    title: 'App decided',
    sentence: 'In {organization} the app {app} is {outcome} now',
    endsAccess: true,
  },
  'organization.access_requested': {
    group: 'consent',
    tone: 'good',
    title: 'App asked for',
    sentence: '{user} asked administrators of {organization} for {client}',
  },
  'organization.access_answered': {
    group: 'consent',
    tone: 'admin',
    title: 'Request answered',
    sentence: 'The request of {user} for {client} was answered: {answer}',
  },
  'organization.app_removed': {
    group: 'consent',
    tone: 'admin',
    title: 'App removed for everybody',
    sentence: 'The access of {users} members of {organization} by {app} was removed',
    endsAccess: true,
  },
}
