import type { ChoiceKind } from '../../protocol/choices.ts'
import type { ClientMetadata } from '../../protocol/clients/client-metadata.ts'
import { isDetailType } from '../../protocol/requests/authorization-details.ts'
import { isStandardScope, withImpliedScopes } from '../../protocol/scope.ts'
import type { Thing } from '../../protocol/things.ts'
import { refuse } from '../check.ts'
import { languageTag } from '../pages.ts'
import { type Checked, callback, flag, list, object, record, required, text } from '../schema.ts'
import { assertKnownScopes, impliedScopes, type Scope } from '../scopes.ts'
import type { Awaitable, HostUser } from '../users.ts'

/** For whom things are asked for. */
export interface ThingsAsked {
  /** The client that gets access, by the names of RFC 7591. */
  readonly client: Readonly<ClientMetadata> & { readonly client_id: string }
  /** The organization, with the option `organizations`. */
  readonly organization?: string
}

/** The part of a list that a page asks for. */
export interface ThingsListed extends ThingsAsked {
  /** What the user searches for; absent if they do not. */
  readonly search?: string
  /** The `next` of the part before; absent for the first part. */
  readonly after?: string
  /** The most things of the part. */
  readonly limit: number
}

/** A part of a list of things. */
export interface ThingList {
  readonly items: readonly Thing[]
  /** Names the part that follows, in at most 255 characters; absent if there is none. */
  readonly next?: string | null
  /** How many there are in all, as far as they match. */
  readonly total?: number
}

const words = {
  /** One of them, in the middle of a sentence: “project”. */
  one: required(text()),
  /** Several of them: “projects”. */
  other: required(text()),
}

const name = object(words, 'an object with one and other')

const membersOf = <User extends object>() => ({
  /** What the things are called: `{ one: 'project', other: 'projects' }`. */
  name: required(name),
  /** The same in other languages, by language tag. */
  locales: record(name, languageTag),
  /** The scopes that are about these things. A request for one of them asks which. */
  scopes: required(list(text(), { what: 'a list of scopes', min: 1 })),
  /** Whether the user may choose all, also things that come later. */
  all: flag(true),
  /**
   * Returns the things that the user may give to the client, one part at a time. It has ten seconds.
   */
  list: required(callback<(user: User, asked: ThingsListed) => Awaitable<ThingList>>()),
  /**
   * Returns those of some things that still exist and that the user may give to the client. It is asked before a choice counts,
   * and again whenever a token is issued or refreshed, so keep it fast.
   */
  find: required(
    callback<
      (user: User, asked: ThingsAsked & { readonly ids: readonly string[] }) => Awaitable<readonly Thing[]>
    >(),
  ),
})

type ChoiceSchemasMembers<User extends object> = ReturnType<typeof membersOf<User>>

/** The members of a kind of things. */
export interface ChoiceSchemas<User extends object = HostUser> extends ChoiceSchemasMembers<User> {}

const kind = object<ChoiceSchemas>(membersOf<HostUser>(), 'an object with name, scopes, list and find')

/** The words for things of a kind. */
export type ThingWords = Checked<typeof name>

/** A kind of things, checked. */
export interface Choice extends ChoiceKind, Omit<Checked<typeof kind>, keyof ChoiceKind> {}

export const choices = record(kind, (type, path) =>
  isDetailType(type) && /^[a-z][\w-]{0,39}$/i.test(type)
    ? type
    : refuse(
        `${path}['${type}']: a kind must be at most 40 letters, digits, _ and -, and begin with a letter`,
      ),
)

/**
 * Completes the kinds: a scope that implies one of a kind is about its things too.
 *
 * @throws OptionsError for an unknown scope, one of OpenID Connect, and a kind that is also a type of authorization details
 */
export const completeChoices = (
  kinds: Readonly<Record<string, Checked<typeof kind>>>,
  options: {
    readonly scopes: Readonly<Record<string, Scope>>
    readonly protocol: { readonly authorizationDetails: Readonly<Record<string, unknown>> }
  },
): readonly Choice[] => {
  const implied = impliedScopes(options)
  return Object.entries(kinds).map(([name, each]) => {
    const where = `choices['${name}']`
    assertKnownScopes(`${where}.scopes`, each.scopes, options)
    const standard = each.scopes.find(isStandardScope)
    if (standard !== undefined) refuse(`${where}.scopes: ${standard} is about the user, not about things`)
    if (Object.hasOwn(options.protocol.authorizationDetails, name))
      refuse(`${where} is a type in protocol.authorizationDetails too; rename one of them`)
    const further = Object.keys(options.scopes).filter(
      (scope) =>
        !each.scopes.includes(scope) &&
        withImpliedScopes([scope], implied).some((one) => each.scopes.includes(one)),
    )
    return { ...each, kind: name, scopes: [...each.scopes, ...further] }
  })
}
