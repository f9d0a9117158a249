import {
  askedKinds,
  type ChoiceKind,
  type Choices,
  type Chosen,
  chosenOf,
  isWithinChoices,
  limitedTo,
  mostChosen,
  namedOnly,
} from '../choices.ts'
import { isHostId } from '../host-id.ts'
import { intersectScopes, isWithinScopes } from '../scope.ts'
import { type AuthorizationDetail, invalidDetails, maxValues } from './authorization-details.ts'

/**
 * The objects of `authorization_details` that say what was chosen (RFC 9396 §7). For all things of a kind the object has no
 * `identifiers`; without any thing, or any of the kind's scopes, there is no object.
 */
export const choiceDetails = (
  kinds: readonly ChoiceKind[],
  scopes: readonly string[],
  choices: Choices,
): readonly AuthorizationDetail[] =>
  askedKinds(kinds, scopes).flatMap(({ kind, scopes: known }) => {
    const chosen = chosenOf(choices, kind)
    if (chosen === undefined || chosen.length === 0) return []
    const actions = intersectScopes(scopes, known)
    return [{ type: kind, actions, ...(chosen !== 'all' && { identifiers: chosen }) }]
  })

/** The most values of an object of `authorization_details`, where users choose things. */
export const maxValuesOf = (kinds: readonly ChoiceKind[]): number =>
  kinds.length > 0 ? maxValues + mostChosen : maxValues

const members = ['type', 'actions', 'identifiers']

const listOf = (value: unknown, name: string, isOne: (item: unknown) => item is string): string[] => {
  if (Array.isArray(value) && value.length > 0 && value.length <= mostChosen && value.every(isOne))
    return [...new Set(value)]
  throw invalidDetails(`must have ${name} that are a list of 1 to ${mostChosen} strings`)
}

const isText = (value: unknown): value is string => typeof value === 'string'

/**
 * Reads the objects of some kinds (RFC 9396 §2.2): `identifiers`, or none (`all`) if the object does not name them. `actions` are
 * scopes of the kind; what counts is the parameter `scope`, so each of them must be in it.
 *
 * @param scopes of the request or the token
 * @returns the things that they name, and the objects of other types
 * @throws OAuthError `invalid_authorization_details`
 */
export const parseChoiceDetails = (
  kinds: readonly ChoiceKind[],
  details: readonly AuthorizationDetail[],
  scopes: readonly string[],
): { readonly choices: Choices; readonly others: readonly AuthorizationDetail[] } => {
  const choices: Record<string, Chosen> = {}
  const others: AuthorizationDetail[] = []
  for (const detail of details) {
    const kind = kinds.find((each) => each.kind === detail.type)
    if (kind === undefined) {
      others.push(detail)
      continue
    }
    const { type } = detail
    const known = intersectScopes(scopes, kind.scopes)
    if (known.length === 0) throw invalidDetails(`has the type ${type}, and scope has none of its scopes`)
    if (Object.hasOwn(choices, type)) throw invalidDetails(`must have one object of the type ${type}`)
    const strange = Object.keys(detail).find((name) => !members.includes(name))
    if (strange !== undefined)
      throw invalidDetails(`of the type ${type} must have no other member than actions and identifiers`)
    if (detail.actions !== undefined) {
      const actions = listOf(detail.actions, 'actions', isText)
      if (!isWithinScopes(actions, known))
        throw invalidDetails(`of the type ${type} must have actions that scope names too`)
    }
    choices[type] =
      detail.identifiers === undefined ? 'all' : listOf(detail.identifiers, 'identifiers', isHostId)
  }
  return { choices, others }
}

/**
 * The choices of a token request: those that it names, which must have been chosen (RFC 9396 §6). A kind that it names without
 * ids stands for all that was chosen.
 *
 * @throws OAuthError `invalid_authorization_details` for a thing that was not chosen
 */
export const narrowedChoices = (requested: Choices, granted: Choices): Choices => {
  if (!isWithinChoices(namedOnly(requested), granted))
    throw invalidDetails('has an object that was not granted')
  return limitedTo(granted, requested)
}
