import { closest, distance } from 'fastest-levenshtein'
import { type ImpliedScopes, parseScope, standardScopes, withImpliedScopes } from '../protocol/scope.ts'
import { refuse } from './check.ts'
import { languageTag } from './pages.ts'
import {
  type Checked,
  callback,
  either,
  flag,
  list,
  type ObjectSchema,
  object,
  oneOf,
  record,
  required,
  type Schema,
  text,
  withDefault,
} from './schema.ts'
import type { HostUser } from './users.ts'

/** Examples, from the user's own data, of the things that a scope covers. */
export type ScopePreview =
  | readonly string[]
  | {
      /** Examples, such as titles, as plain text. */
      readonly items: readonly string[]
      /** How many others there are. */
      readonly more: number
    }

const words = {
  /** One sentence for the consent page, such as “See your orders”. */
  description: required(text('the sentence that the consent page shows')),
  /** More information, collapsed by default. @default none */
  details: text(),
  /** Why a scope of high risk is sensitive, such as “It can spend your money”. @default none */
  riskReason: text(),
}

const scopeWords = object(words)

const names = (what: string): Schema<readonly string[], readonly string[] | undefined> =>
  list(text(), { what: `a list of ${what}` })

const members = {
  ...words,
  /** These texts in other languages, by language tag: `{ de: { description, details } }`. */
  locales: record(scopeWords, languageTag),
  /** Claims that this scope reveals. @default none */
  claims: names('claim names'),
  /**
   * Scopes that this one includes: docs/guards.md#scopes-that-include-others. A guard for one of them also accepts a token with
   * this scope. @default none
   */
  implies: names('scopes'),
  /**
   * Returns examples, such as titles of the user's own notes. The consent page shows the first three, and how many more
   * there are, if they arrive within two seconds; the client never gets them. @default none
   */
  preview: callback<(user: HostUser) => ScopePreview | Promise<ScopePreview>>(),
  /** The user may untick the scope. */
  optional: flag(false),
  /**
   * The subject of the scope: who the user is (`'identity'`), what the client can see (`'read'`) or change (`'change'`), or
   * something else (`'other'`). It decides the order and the icons on the consent page. @default `'change'` for a scope of
   * high risk, else `'other'`
   */
  group: oneOf('identity', 'read', 'change', 'other'),
  /** `'high'` marks the scope as sensitive. An optional scope with a high risk is unticked until the user has allowed it once. */
  risk: withDefault('normal', oneOf('normal', 'high')),
}

type ScopeSchemasMembers = typeof members

/** The members of a scope. */
export interface ScopeSchemas extends ScopeSchemasMembers {}

const scope: ObjectSchema<ScopeSchemas> = object(members)

/** A scope of the host, checked. */
export type Scope = Checked<typeof scope>

const isScopeName = (name: string): boolean => {
  try {
    return !name.includes(' ') && parseScope(name).length === 1
  } catch {
    return false
  }
}

const scopeName = (name: string, path: string): string => {
  if (!isScopeName(name)) refuse(`${path}: '${name}' is not a valid scope name (RFC 6749 §3.3)`)
  if (name === 'openid' || name === 'offline_access') refuse(`${path}: ${name} is reserved`)
  return name
}

const sentence: Schema<string, Scope> = {
  what: 'a sentence',
  check: (value, path) => scope.check({ description: value }, path),
}

export const scopes = record(
  either(sentence, (value) => typeof value === 'string', scope),
  scopeName,
)

/** The scopes that each scope includes, by the option `scopes`. */
export const impliedScopes = ({
  scopes,
}: {
  readonly scopes: Readonly<Record<string, Pick<Scope, 'implies'>>>
}): ImpliedScopes =>
  Object.fromEntries(
    Object.entries(scopes).flatMap(([name, { implies }]) => (implies === undefined ? [] : [[name, implies]])),
  )

/** All scopes: the standard ones and those of the option `scopes`. */
export const knownScopes = ({
  scopes = {},
}: {
  readonly scopes?: Readonly<Record<string, unknown>>
}): string[] => [...new Set([...standardScopes, ...Object.keys(scopes)])]

/**
 * The first of these scopes that is not known, in words that suggest a similar known one; undefined when all are known.
 */
export const unknownScope = (scopes: readonly string[], known: readonly string[]): string | undefined => {
  const name = scopes.find((scope) => !known.includes(scope))
  if (name === undefined) return undefined
  const nearest = closest(name, known)
  const isNear = distance(name, nearest) * 3 <= name.length
  return `${name} is not in the option scopes; ${isNear ? `did you mean ${nearest}?` : 'add it there'}`
}

/**
 * Refuses scopes that no client can have.
 *
 * @param where the code that names them, such as `requireToken('ordrs:read')`
 * @throws OptionsError that suggests the nearest known scope
 */
export const assertKnownScopes = (
  where: string,
  scopes: readonly string[],
  options: Parameters<typeof knownScopes>[0],
): void => {
  const unknown = unknownScope(scopes, knownScopes(options))
  if (unknown !== undefined) refuse(`${where}: ${unknown}`)
}

/** Texts that a scope has in all of its languages or in none: every user reads the same. */
const optionalTexts = ['details', 'riskReason'] as const

/**
 * Refuses a scope that implies an unknown scope, or itself through others, words in some languages only, and a reason for a
 * risk that is not high.
 *
 * @throws OptionsError
 */
export const assertScopes = (scopes: Readonly<Record<string, Scope>>): void => {
  const implied = impliedScopes({ scopes })
  for (const [name, scope] of Object.entries(scopes)) {
    const { implies = [], locales } = scope
    const where = `scopes['${name}']`
    assertKnownScopes(`${where}.implies`, implies, { scopes })
    if (withImpliedScopes(implies, implied).includes(name)) refuse(`${where}.implies leads back to ${name}`)
    if (scope.riskReason !== undefined && scope.risk !== 'high')
      refuse(`${where}.riskReason requires ${where}.risk to be 'high'`)
    for (const [tag, translated] of Object.entries(locales)) {
      const half = optionalTexts.find(
        (text) => (translated[text] === undefined) !== (scope[text] === undefined),
      )
      if (half !== undefined)
        refuse(`${where}.locales['${tag}'].${half} must be set if and only if ${where}.${half} is set`)
    }
  }
}
