import type { FeatureOptions } from '../options/options.ts'
import { admin } from './admin/index.ts'
import { connections } from './connections/index.ts'
import { developers } from './developers/index.ts'
import { device } from './device/index.ts'
import type { Feature } from './feature.ts'
import { passkeys } from './passkeys/index.ts'
import { personalTokens } from './personal-tokens/index.ts'
import { pushedRequests } from './pushed-requests/index.ts'
import { registration } from './registration/index.ts'
import { secondFactor } from './second-factor/index.ts'
import { webhooks } from './webhooks/index.ts'

// Declarations of hosts need them, because each adds its names to the options.
import './admin/option.ts'
import './connections/option.ts'
import './developers/option.ts'
import './device/option.ts'
import './passkeys/option.ts'
import './personal-tokens/option.ts'
import './pushed-requests/option.ts'
import './registration/option.ts'
import './second-factor/option.ts'
import './webhooks/option.ts'

// The types that hosts may import.
export type {
  DeveloperAdministration,
  DeveloperClient,
  DeveloperDecision,
} from './developers/administration.ts'
export type { OwnerStatus } from './developers/table.ts'
export type { PasskeyAdministration } from './passkeys/index.ts'
export type { PasskeyFailure } from './passkeys/rules.ts'
export type { PersonalToken, PersonalTokenExport } from './personal-tokens/table.ts'
export type { AllowClient, RegistrationRequest } from './registration/option.ts'
export type { SecondFactorAdministration } from './second-factor/index.ts'

/**
 * Every feature. Remove a feature's lines here and its folder, and the rest still works.
 *
 * @internal
 */
export const features: readonly Feature[] = [
  admin,
  passkeys,
  secondFactor,
  personalTokens,
  developers,
  device,
  pushedRequests,
  registration,
  connections,
  webhooks,
]

/**
 * The options of every feature.
 *
 * @internal
 */
export const featureOptions: readonly FeatureOptions[] = features.map(({ option }) => option)
