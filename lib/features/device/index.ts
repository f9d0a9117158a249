import { removeFrom } from '../../storage/repositories/pruning/expired.ts'
import type { Feature } from '../feature.ts'
import { deviceAuthorizationEndpoint } from './authorization-endpoint.ts'
import { devicePage } from './device-page.ts'
import { eventDescriptions } from './event-descriptions.ts'
import { deviceCode } from './grant.ts'
import { deviceKind } from './kind.ts'
import { deviceCodes } from './migration.ts'
import { option } from './option.ts'
import { texts } from './texts/index.ts'

const day = 86_400

/** Tokens for devices without a browser, which show a code that their user types at `/device` (RFC 8628). */
export const device: Feature = {
  name: 'device',
  option,
  migrations: new Map([['106_device_codes', deviceCodes]]),
  texts,
  events: eventDescriptions,
  userData: undefined,
  clientData: undefined,
  // A day later, so that a device learns that its code has expired.
  expired: [removeFrom('device_codes', 'hash', day)],
  tools: () => import('./samples.ts'),
  activate: ({ features: { deviceAuthorization: given } }) =>
    given && {
      api: [deviceAuthorizationEndpoint(given)],
      pages: [devicePage],
      grants: [deviceCode],
      requestKinds: [deviceKind],
    },
}
