import { stepNames } from './shown.ts'
import type { StepName } from './steps.ts'

/** Where a connection stopped. */
const stops: Readonly<Record<StepName, string>> = {
  challenge: 'Stopped before sign-in',
  'resource-document': 'Stopped at the document about the resource',
  metadata: 'Stopped at the metadata of this server',
  introduced: 'Stopped at registration',
  requested: 'Stopped before sign-in',
  'signed-in': 'Stopped at sign-in',
  allowed: 'Stopped at consent',
  code: 'Stopped before the code',
  token: 'Stopped at the token request',
  called: 'Stopped at the first call',
  refreshed: 'Stopped at a refresh',
  'step-up': 'Stopped at a stronger sign-in',
  removed: 'Removed',
}

/** The texts of the page of connections. */
export const operatorTexts = {
  'operator.connections': 'Connections',
  'operator-connections.client': 'Client ID',
  'operator-connections.user': 'User ID or login name',
  'operator-connections.stopped': 'Only those that stopped',
  'operator-connections.submit': 'Show',
  'operator-connections.none': 'No connection was seen. Only what clients did lately is kept.',
  'operator-connections.stranger': 'Before registration',
  'operator-connections.ended': 'Ended',
  'operator-connections.complete': 'Connected',
  'operator-connections.for': 'for {user}',
  'operator-connections.for-unknown': 'for an unknown user',
  'operator-connections.address': 'Address',
  'operator-connections.agent': 'Program',
  'operator-connections.last': 'Last seen',
  'operator-connections.remedy': 'What to do',
  'operator-connections.events': 'Events',
  'operator-connections.more': 'The newest {count} of {total}.',
  'operator-connections.window': 'Only the newest events were read. Older connections may be missing here.',
  'operator-connections.limited':
    'More was refused or asked for at {time} than is stored, so some connections or steps may be missing here.',
  'operator-connections.state.done': 'done',
  'operator-connections.state.failed': 'failed',
  'operator-connections.state.missing': 'missing',
  'operator-connections.state.unseen': 'not seen',
  'operator-connections.state.later': 'not reached',
  'operator-connections.times': '{count} times, last',
  ...Object.fromEntries(
    Object.entries(stops).map(([step, text]) => [`operator-connections.stopped-at.${step}`, text]),
  ),
  ...Object.fromEntries(
    Object.entries(stepNames).map(([step, name]) => [`operator-connections.step.${step}`, name]),
  ),
}
