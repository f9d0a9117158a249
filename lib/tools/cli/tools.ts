import { everyFeature } from '../../features/every.ts'
import type { FeatureDefinition, FeatureTools } from '../../features/feature.ts'

/** The tools of features. */
export const loadTools = async (features: Iterable<FeatureDefinition>): Promise<readonly FeatureTools[]> =>
  (await Promise.all([...features].map(({ tools }) => tools?.()))).filter((tools) => tools !== undefined)

/** The functions of `latchkey/features` that make features with this definition. */
export const functionsOf = (definition: FeatureDefinition): string[] =>
  (everyFeature.get(definition) ?? []).map((name) => `${name}()`)
