import type { Feature } from '../feature.ts'
import { device } from './device/index.ts'
import { personalTokens } from './personal-tokens/index.ts'
import { pushedRequests } from './pushed-requests/index.ts'

export type * from './personal-tokens/index.ts'

/** Every feature. Remove a feature's lines here and its folder, and the rest still works. */
export const features: readonly Feature[] = [device, personalTokens, pushedRequests]
