import type { Feature } from '../feature.ts'
import { eventDescriptions } from './event-descriptions.ts'
import { isRecorded, option } from './option.ts'
import { connectionsPage } from './page.ts'
import { createRecorder } from './recorder.ts'
import { operatorTexts } from './texts.ts'

/** Records the steps by which clients connect, and says where a connection stops: `/admin/connections`. */
export const connections: Feature = {
  name: 'connections',
  option,
  migrations: new Map(),
  texts: {},
  operatorTexts,
  events: eventDescriptions,
  // Its events are stored, exported and erased like all others.
  userData: undefined,
  clientData: undefined,
  expired: [],
  tools: () => import('./tools.ts').then(({ tools }) => tools),
  activate: (options) =>
    isRecorded(options) ? { observer: createRecorder, operatorPages: [connectionsPage] } : undefined,
}
