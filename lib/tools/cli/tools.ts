import { definitionsIn, type FeatureDefinition, type FeatureTools } from '../../features/feature.ts'
import * as functions from '../../features/index.ts'

/** Every feature of Latchkey, for what needs no options, such as the help. */
export const everyFeature: readonly FeatureDefinition[] = definitionsIn(
  Object.values(functions).map((feature) => feature.off()),
)

/** The tools of features. */
export const loadTools = async (features: readonly FeatureDefinition[]): Promise<readonly FeatureTools[]> =>
  (await Promise.all(features.map(({ tools }) => tools?.()))).filter((tools) => tools !== undefined)

/** The functions of `latchkey/features` that make features with this definition. */
export const functionsOf = (definition: FeatureDefinition): string[] =>
  Object.entries(functions).flatMap(([name, feature]) =>
    definitionsIn([feature.off()]).includes(definition) ? [`${name}()`] : [],
  )
