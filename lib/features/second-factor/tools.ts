import type { FeatureTools } from '../../feature.ts'
import { checks } from './checks.ts'
import { samples } from './samples.ts'

export const tools: FeatureTools = { checks, samples }
