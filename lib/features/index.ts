import type { Feature } from '../feature.ts'
import { admin } from './admin/index.ts'
import { developers } from './developers/index.ts'
import { device } from './device/index.ts'
import { personalTokens } from './personal-tokens/index.ts'
import { pushedRequests } from './pushed-requests/index.ts'
import { registration } from './registration/index.ts'

export type * from './developers/index.ts'
export type * from './personal-tokens/index.ts'

/** Every feature. Remove a feature's lines here and its folder, and the rest still works. */
export const features: readonly Feature[] = [
  admin,
  developers,
  device,
  personalTokens,
  pushedRequests,
  registration,
]
