import { nearest, refuse } from './check.ts'

// The grammar of options. Each function returns plain data: what an option should be in words, its default and its check.
// The comment on a member is its description, in editors and in docs/options.md.

/** Says what an option should be. */
export interface Schema<Given = unknown, Checked = unknown> {
  /** Words for a correct value, which follow "must be". */
  readonly what: string
  /**
   * @param value undefined if the option is not set
   * @param isWritten whether the host wrote it, perhaps as undefined
   * @returns the checked value, or the default
   * @throws OptionsError that names the path and what it should be
   */
  check(value: unknown, path: string, isWritten?: boolean): Checked
  /** The type that a host may write. It never has a value. */
  readonly given?: Given
  readonly default?: unknown
  readonly isRequired?: boolean
  /** The least and the most of a number. */
  readonly range?: Range
  /** The members of an object: schemas by name. */
  readonly members?: object
  /** The schema of each item of a list or record. */
  readonly of?: Schema
}

/** The least and the most of a number. */
export interface Range {
  readonly min?: number
  readonly max?: number
}

/** Schemas by name. */
export type Shape<Members> = { readonly [Name in keyof Members]: Schema }

/** The type that a host may write. */
export type Given<Of> = Of extends Schema<infer Value, unknown> ? Value : never
/** The type that the server reads. */
export type Checked<Of> = Of extends Schema<unknown, infer Value> ? Value : never

/** The type that the server reads, without undefined. */
type Present<Of> = Exclude<Checked<Of>, undefined>

type RequiredNames<Members> = {
  [Name in keyof Members]: Members[Name] extends { readonly isRequired: true } ? Name : never
}[keyof Members]
type UnsetNames<Members> = {
  [Name in keyof Members]: undefined extends Checked<Members[Name]> ? Name : never
}[keyof Members]

// Mapped over the names of the schema itself, so that editors show its comments.
type GivenOf<Members, Name extends keyof Members> = { readonly [Each in Name]: Given<Members[Each]> }
type CheckedOf<Members, Name extends keyof Members> = { readonly [Each in Name]: Checked<Members[Each]> }

/** The members that a host may write. Without required ones there is no `& {}`, which would allow a string. */
export type GivenMembers<Members> = [RequiredNames<Members>] extends [never]
  ? Partial<GivenOf<Members, keyof Members>>
  : Partial<GivenOf<Members, Exclude<keyof Members, RequiredNames<Members>>>> &
      GivenOf<Members, RequiredNames<Members>>
/** The members that the server reads. Those without a default may be absent. */
export type CheckedMembers<Members> = CheckedOf<Members, Exclude<keyof Members, UnsetNames<Members>>> &
  Partial<CheckedOf<Members, UnsetNames<Members>>>

/** A schema of an object with these members. */
export interface ObjectSchema<Members> extends Schema<GivenMembers<Members>, CheckedMembers<Members>> {
  readonly members: Members & object
}

type Switch<Members> = [RequiredNames<Members>] extends [never] ? boolean : false

/** A schema of a feature with these members. */
export interface FeatureSchema<Members>
  extends Schema<Switch<Members> | GivenMembers<Members>, CheckedMembers<Members> | undefined> {
  readonly members: Members & object
}

/** A value with a check of its own, which returns the checked value, or undefined to refuse it. */
export const custom = <Value, Result = Value>(
  what: string,
  check: (value: unknown, path: string) => Result | undefined,
): Schema<Value, Result | undefined> => ({
  what,
  check: (value, path) =>
    value === undefined ? undefined : (check(value, path) ?? refuse(`${path} must be ${what}`)),
})

// These types name the schemas that they wrap, so that declarations are short and keep the comments.

/** A schema of a value that the host must set. */
export interface Required<Of> extends Schema<Given<Of>, Present<Of>> {
  readonly isRequired: true
}

/** Makes an option required. */
export const required = <Of extends Schema>(schema: Of): Required<Of> => ({
  ...(schema as Schema<Given<Of>>),
  isRequired: true,
  check: (value, path) =>
    (value === undefined
      ? refuse(`${path} is required: ${schema.what}`)
      : schema.check(value, path)) as Present<Of>,
})

/** A schema of a value with a default. */
export interface WithDefault<Of> extends Schema<Given<Of>, Present<Of>> {}

/** Gives an option a default. */
export const withDefault = <Of extends Schema>(value: Present<Of>, schema: Of): WithDefault<Of> => ({
  ...(schema as Schema<Given<Of>>),
  default: value,
  check: (given, path) => (given === undefined ? value : schema.check(given, path)) as Present<Of>,
})

/** True or false. */
export const flag = (value: boolean): Schema<boolean, boolean> =>
  withDefault(
    value,
    custom<boolean>('true or false', (given) => (typeof given === 'boolean' ? given : undefined)),
  )

/** A string. */
export const text = (
  what = 'a string that is not empty',
  test: (value: string) => boolean = (value) => value !== '',
): Schema<string, string | undefined> =>
  custom(what, (value) => (typeof value === 'string' && test(value) ? value : undefined))

/** A whole number. */
export const number = (range: Range = {}, unit = ''): Schema<number, number | undefined> => {
  const { min = 1, max } = range
  const within = max === undefined ? `, at least ${min}` : `, from ${min} to ${max}`
  const isWithin = (value: number): boolean => value >= min && value <= (max ?? value)
  return {
    ...custom(`a whole number${unit}${within}`, (value) =>
      typeof value === 'number' && Number.isSafeInteger(value) && isWithin(value) ? value : undefined,
    ),
    range: { min, ...(max !== undefined && { max }) },
  }
}

/** A whole number of seconds. */
export const seconds = (value: number, range: Range = {}): Schema<number, number> =>
  withDefault(value, number(range, ' of seconds'))

/** One of these values. */
export const oneOf = <const Value extends string | boolean>(
  ...values: readonly Value[]
): Schema<Value, Value | undefined> => {
  const words = values.map((value) => (typeof value === 'string' ? `'${value}'` : String(value)))
  return custom(words.join(', ').replace(/, ([^,]*)$/, ' or $1'), (given) =>
    values.find((value) => value === given),
  )
}

// A method, so that hosts may write narrower types of their users.
type Method<Callback> = Callback extends (...all: infer All) => infer Result
  ? { method(...all: All): Result }['method']
  : never

/** A function of the host. */
export const callback = <Callback>(): Schema<Method<Callback>, Method<Callback> | undefined> =>
  custom('a function', (value) => (typeof value === 'function' ? (value as Method<Callback>) : undefined))

/** A schema of a list. */
export interface ListSchema<Of> extends Schema<readonly Given<Of>[], readonly Present<Of>[] | undefined> {}

/** A list. */
export const list = <Of extends Schema>(
  of: Of,
  { what = 'a list', min = 0 }: { readonly what?: string; readonly min?: number } = {},
): ListSchema<Of> => ({
  ...custom<readonly Given<Of>[], readonly Present<Of>[]>(what, (values, path) =>
    Array.isArray(values) && values.length >= min
      ? values.map((value, place) => required(of).check(value, `${path}[${place}]`))
      : undefined,
  ),
  of,
})

/** Whether a value is an object with names. */
export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A schema of an object whose names the host chooses. */
export interface RecordSchema<Of>
  extends Schema<Readonly<Record<string, Given<Of>>>, Readonly<Record<string, Present<Of>>>> {}

/** An object whose names the host chooses; `{}` by default. */
export const record = <Of extends Schema>(
  of: Of,
  nameOf: (name: string, path: string) => string = (name) => name,
): RecordSchema<Of> => ({
  what: 'an object',
  default: {},
  of,
  check: (values = {}, path) => {
    if (!isRecord(values)) return refuse(`${path} must be an object`)
    const checked = Object.entries(values).map(([name, value]) => [
      nameOf(name, path),
      required(of).check(value, `${path}['${name}']`),
    ])
    return Object.fromEntries(checked)
  },
})

/**
 * The path of a member: `login.url`, and of a function's options `device({ interval })`.
 *
 * @param path of the object; that of a function ends in `({})`
 */
export const memberPath = (path: string, name: string): string => {
  if (path.endsWith('({})')) return `${path.slice(0, -2)} ${name} })`
  return path === '' ? name : `${path}.${name}`
}

/** Suggests the member of this name that another member has, or else the nearest name. */
const refuseName = (path: string, name: string, members: object): never => {
  const within = Object.entries<Schema>({ ...members }).find(([, schema]) => name in Object(schema.members))
  const near = within ? `${within[0]}.${name}` : nearest(name, Object.keys(members))
  const hint = near === undefined ? 'see docs/options.md' : `did you mean ${memberPath(path, near)}?`
  return refuse(`${memberPath(path, name)} is not an option`, hint)
}

/** An object with these members; without any of them by default. */
export const object = <Members extends object & Shape<Members>>(
  members: Members,
  what = 'an object',
): ObjectSchema<Members> => ({
  what,
  members,
  check: (value = {}, path) => {
    if (!isRecord(value)) return refuse(`${path || 'options'} must be ${what}`)
    for (const name of Object.keys(value)) if (!Object.hasOwn(members, name)) refuseName(path, name, members)
    const checked = Object.entries<Schema>(members).map(([name, member]) => [
      name,
      member.check(value[name], memberPath(path, name), Object.hasOwn(value, name)),
    ])
    return Object.fromEntries(checked.filter(([, each]) => each !== undefined)) as CheckedMembers<Members>
  },
})

/** A schema of one of two. */
export interface Either<First, Second>
  extends Schema<Given<First> | Given<Second>, Checked<First> | Checked<Second>> {}

/** `first` for the values that `isFirst` accepts, else `second`. */
export const either = <First extends Schema, Second extends Schema>(
  first: First,
  isFirst: (value: unknown) => boolean,
  second: Second,
  what = `${first.what.replace(' or ', ', ')} or ${second.what}`,
): Either<First, Second> => {
  const members = { ...first.members, ...second.members }
  return {
    what,
    default: second.default,
    ...(Object.keys(members).length > 0 && { members }),
    check: (value, path) => {
      if (value !== undefined && second.members && !isFirst(value) && !isRecord(value))
        return refuse(`${path} must be ${what}`)
      const chosen: Schema = value !== undefined && isFirst(value) ? first : second
      return chosen.check(value, path) as Checked<First> | Checked<Second>
    },
  }
}

/** A schema of an object that may be absent. */
export interface Optional<Of> extends Schema<Given<Of>, Checked<Of> | undefined> {}

/** Lets an object be absent. */
export const optional = <Of extends Schema>(schema: Of): Optional<Of> => ({
  ...(schema as Schema<Given<Of>>),
  check: (value, path) => (value === undefined ? undefined : (schema.check(value, path) as Checked<Of>)),
})

/** Refuses undefined where the host writes it, such as an environment variable that is not set. */
export const explicit = <Of extends Schema>(schema: Of): Of => ({
  ...schema,
  check: (value: unknown, path: string, isWritten = false) =>
    value === undefined && isWritten ? refuse(`${path} must be ${schema.what}`) : schema.check(value, path),
})

/** A schema of an object that is not copied. */
export interface Kept<Of> extends Schema<Given<Of>, Given<Of> | undefined> {}

/** The host's own object, checked but not copied, because its functions may use `this`. */
export const kept = <Of extends Schema>(schema: Of): Kept<Of> => ({
  ...(schema as Schema<Given<Of>>),
  check: (value, path) => {
    if (value !== undefined) schema.check(value, path)
    return value as Given<Of> | undefined
  },
})

/** A feature: off by default, and on with `true` or an object, which may be required. Undefined is off. */
export const feature = <Members extends object & Shape<Members>>(
  members: Members,
): FeatureSchema<Members> => {
  const [first] = Object.entries<Schema>(members).filter(([, { isRequired }]) => isRequired)
  const what = first ? `false or an object with ${first[0]}` : 'true, false or an object'
  const inner = object<Members>(members, what)
  return {
    what,
    default: false,
    members,
    check: (value = false, path) => {
      if (value === false) return undefined
      return inner.check(value === true && !first ? {} : value, path)
    },
  }
}
