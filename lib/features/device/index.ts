import { removeFrom } from '../../storage/repositories/pruning/expired.ts'
import { defineFeature, type FeatureDefinition } from '../feature.ts'
import { deviceAuthorizationEndpoint } from './authorization-endpoint.ts'
import { devicePage } from './device-page.ts'
import { eventDescriptions } from './event-descriptions.ts'
import { deviceCode } from './grant.ts'
import { deviceKind } from './kind.ts'
import { deviceCodes } from './migration.ts'
import { failures, members, quotas } from './option.ts'
import { texts } from './texts/index.ts'

const day = 86_400

const definition: FeatureDefinition = {
  name: 'device',
  storage: {
    migrations: new Map([['device_001', deviceCodes]]),
    users: undefined,
    clients: undefined,
    // A day later, so that a device learns that its code has expired.
    expired: [removeFrom('device_codes', 'hash', day)],
  },
  texts: { pages: texts },
  events: eventDescriptions,
  tools: () => import('./samples.ts'),
}

/**
 * Tokens for devices without a browser, which show a code that their user types at `/device` (RFC 8628): docs/device.md.
 *
 * @example device({ interval: 5 })
 */
export const device = defineFeature(definition, {
  name: 'device',
  members,
  limits: { failures, quotas },
  activate: (option) => ({
    endpoints: { programs: [deviceAuthorizationEndpoint(option)], browsers: [devicePage] },
    oauth: { grants: [deviceCode], requestKinds: [deviceKind] },
  }),
})
