import type { FeatureTools } from '../feature.ts'
import { samples } from './samples.ts'

export const tools: FeatureTools = { samples }
