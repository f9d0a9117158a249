import type { Feature } from '../options/features.ts'
import { definitionsIn, type FeatureDefinition } from './feature.ts'
import * as exported from './index.ts'

interface Made {
  off(): Feature
}

const isMade = (value: unknown): value is Made => typeof value === 'function' && 'off' in value

/** The functions of `latchkey/features` that make a feature of Latchkey, by name. */
export const everyFunction: ReadonlyMap<string, Made> = new Map(
  Object.entries(exported).flatMap(([name, value]) => (isMade(value) ? [[name, value]] : [])),
)

/** The features of Latchkey, each with the names of its functions: two may share a definition, and with it the tables. */
export const everyFeature: ReadonlyMap<FeatureDefinition, readonly string[]> = (() => {
  const names = new Map<FeatureDefinition, string[]>()
  for (const [name, made] of everyFunction)
    for (const each of definitionsIn([made.off()])) names.set(each, [...(names.get(each) ?? []), name])
  return names
})()
