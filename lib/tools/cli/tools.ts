import type { FeatureTools } from '../../features/feature.ts'
import { features } from '../../features/index.ts'

/** The tools of all features. */
export const loadTools = async (): Promise<readonly FeatureTools[]> =>
  (await Promise.all(features.map((feature) => feature.tools?.()))).filter((tools) => tools !== undefined)
