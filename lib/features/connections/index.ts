import { defineFeature, type FeatureDefinition } from '../feature.ts'
import { eventDescriptions } from './event-descriptions.ts'
import { assertStored, members } from './option.ts'
import { connectionsPage } from './page.ts'
import { createRecorder } from './recorder.ts'
import { operatorTexts } from './texts.ts'

const definition: FeatureDefinition = {
  name: 'connections',
  texts: { operators: operatorTexts },
  // They are stored, exported and erased like all others.
  events: eventDescriptions,
  tools: () => import('./tools.ts').then(({ tools }) => tools),
}

/**
 * Records the steps by which clients connect, and says where a connection stops: `/admin/connections`, docs/doctor.md#connections.
 *
 * @example connections()
 */
export const connections = defineFeature(definition, {
  name: 'connections',
  members,
  complete: (_given, options) => assertStored(options),
  activate: () => ({ observe: { sightings: createRecorder }, operators: { pages: [connectionsPage] } }),
})
