import { refuse } from './check.ts'
import type { Limit } from './limits.ts'
import { custom, isRecord, list, type Schema, withDefault } from './schema.ts'
import type { HostUser } from './users.ts'

/**
 * A value of the list `features`, made by a function of `latchkey/features`.
 *
 * @typeParam Added what it adds to the router
 * @typeParam Name the name of the function that made it
 */
export interface Feature<Added extends object = object, Name extends string = string> {
  /** The name of the function that made it, such as `passkeys`. */
  readonly name: Name
  /** Whether it only keeps what it has stored. */
  readonly isOff: boolean
  /** Only a type. */
  readonly added?: Added
}

/**
 * A feature whose options have functions about a user.
 *
 * @typeParam User the type of a user that they expect
 */
export interface ExpectsUser<User> {
  /** Only a type. A property, so that the type of the host must fit it. */
  readonly expects?: (user: User) => void
}

/** A feature that fits the users of the host; each one does while nothing is known about these. */
export type FeatureFor<User> = Feature & ExpectsUser<HostUser extends User ? never : User>

type AddedByOne<Listed> = Listed extends Feature<infer Added> ? Added : never

type All<Union> = (Union extends unknown ? (each: Union) => void : never) extends (all: infer Each) => void
  ? Each
  : never

/** Additions of the features that are certainly in a list. */
type CertainlyAdded<Features> = Features extends readonly [infer First, ...infer Rest]
  ? AddedByOne<First> & CertainlyAdded<Rest>
  : unknown

/**
 * The members that the features of a list add to the router. If the list is not written in place, each may be missing.
 *
 * @typeParam Features the list
 */
export type AddedBy<Features extends readonly Feature[]> = Partial<All<AddedByOne<Features[number]>>> &
  CertainlyAdded<Features>

/** A feature whose own options are checked. */
export interface ConfiguredFeature {
  /** The name of its function. */
  readonly name: string
  /** Its options with their defaults; undefined after `.off()`. */
  readonly option: unknown
  /** Its limits that count failures, by name. */
  readonly failures: Readonly<Record<string, Limit | false>>
  /** Its limits that count every use, by name. */
  readonly quotas: Readonly<Record<string, Limit | false>>
  /**
   * Checks what depends on other options.
   *
   * @param options all of `authRouter()`, checked
   * @throws OptionsError
   */
  check(options: object): void
}

/** A feature in the list. Its own options are not checked yet. */
export interface ListedFeature extends Feature {
  /** The schema of its own options. */
  schemaOf(): Schema & { readonly members?: object }
  /**
   * Checks its own options and fills in the defaults.
   *
   * @param isLimited false if `limits` is false
   * @throws OptionsError
   */
  configure(isLimited: boolean): ConfiguredFeature
}

/** The line that lists a feature, as a host writes it. */
export const lineOf = (name: string): string => `features: [${name}()]`

const isListed = (value: unknown): value is ListedFeature =>
  isRecord(value) && typeof value.name === 'string' && typeof value.configure === 'function'

const listed: Schema<Feature, ListedFeature | undefined> = custom(
  "a feature of 'latchkey/features', such as passkeys()",
  (value, path) => {
    if (typeof value === 'function') refuse(`${path} must be called, as in passkeys()`)
    return isListed(value) ? value : undefined
  },
)

/** The option `features`. */
export const features = withDefault([], list(listed, { what: 'a list of features, such as [passkeys()]' }))

/**
 * Checks the options of the features in a list.
 *
 * @throws OptionsError also for one that is listed twice
 */
export const configuredFeatures = (
  values: readonly ListedFeature[],
  isLimited: boolean,
): readonly ConfiguredFeature[] => {
  const names = values.map(({ name }) => name)
  const twice = names.find((name, place) => names.indexOf(name) !== place)
  if (twice !== undefined) refuse(`features must have ${twice}() once`)
  return values.map((value) => value.configure(isLimited))
}

/** Finds a feature that is on. */
export const featureNamed = (
  { features: all }: { readonly features: readonly ConfiguredFeature[] },
  name: string,
): ConfiguredFeature | undefined =>
  all.find((feature) => feature.name === name && feature.option !== undefined)
