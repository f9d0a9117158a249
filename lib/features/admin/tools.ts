import type { FeatureTools } from '../feature.ts'
import { adminCheck } from './checks.ts'
import { samples } from './samples.ts'

export const tools: FeatureTools = { mountChecks: [adminCheck], samples }
