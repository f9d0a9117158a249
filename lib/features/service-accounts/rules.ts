import type { Choice } from '../../options/choices/option.ts'
import { askedKinds, type Choices, mostChosen, withoutEmpty } from '../../protocol/choices.ts'
import { refuseMetadata } from '../../protocol/clients/client-metadata-checks.ts'
import { type PublicJwks, parsePublicJwk } from '../../protocol/clients/jwks.ts'
import { isHostId } from '../../protocol/host-id.ts'
import type { ServiceAccountOption } from './option.ts'

/** Seconds. */
export const secondsOfDay = 86_400
/** Characters of the name of an account. */
const maxName = 60
/** The numbers of days that pages offer. */
const usualDays = [30, 90, 365]

/** The numbers of days until an account expires that pages offer: those that the host allows, or else its own limit. */
export const offeredDays = ({
  maxLifetime,
}: Pick<ServiceAccountOption, 'maxLifetime'>): readonly number[] => {
  const days = usualDays.filter((each) => each * secondsOfDay <= maxLifetime)
  return days.length > 0 ? days : [Math.floor(maxLifetime / secondsOfDay)]
}

/**
 * The name of an account, as it was typed.
 *
 * @returns undefined unless it has 1 to 60 visible characters
 */
export const parseAccountName = (typed: string): string | undefined => {
  const name = typed.normalize('NFC').trim()
  return name !== '' && [...name].length <= maxName && !/[\p{C}\p{Zl}\p{Zp}]/u.test(name) ? name : undefined
}

/**
 * One public key that was pasted: a JWK, or a set with one of them.
 *
 * @returns undefined for anything else
 */
export const parsePastedKey = (typed: string): PublicJwks | undefined => {
  let given: unknown
  try {
    given = JSON.parse(typed)
  } catch {
    return undefined
  }
  const set: unknown = Object(given).keys
  const key = parsePublicJwk(Array.isArray(set) && set.length === 1 ? set[0] : given)
  return typeof key === 'string' ? undefined : { keys: [key] }
}

/** The access that an organization gives to an account. */
export interface AccountFields {
  readonly name: string
  readonly scopes: readonly string[]
  /** The things that it is for, with the option `choices`. */
  readonly choices: Choices
  /** When it expires, in epoch seconds. */
  readonly until: number
}

const checkedChoices = (kinds: readonly Choice[], { scopes, choices }: AccountFields): Choices => {
  const asked = askedKinds(kinds, scopes)
  for (const [kind, chosen] of Object.entries(choices)) {
    const known = asked.find((each) => each.kind === kind)
    if (known === undefined) refuseMetadata('choices', `must not have ${kind}, which no scope is about`)
    const isList = Array.isArray(chosen) && chosen.length <= mostChosen && chosen.every(isHostId)
    if (chosen === 'all' ? !known?.all : !isList)
      refuseMetadata(
        'choices',
        `must have a list of at most ${mostChosen} ids for ${kind}, or 'all' if the host allows it`,
      )
  }
  return withoutEmpty(choices)
}

/**
 * Checks what an account gets, by the rules of the host.
 *
 * @throws OAuthError `invalid_client_metadata`
 */
export const checkedFields = (
  fields: AccountFields,
  {
    option,
    kinds,
    now,
  }: {
    readonly option: ServiceAccountOption
    readonly kinds: readonly Choice[]
    readonly now: number
  },
): AccountFields => {
  const name = parseAccountName(fields.name)
  if (name === undefined) return refuseMetadata('name', 'must have 1 to 60 visible characters')
  const scopes = [...new Set(fields.scopes)]
  const strange = scopes.find((scope) => !option.scopes.includes(scope))
  if (scopes.length === 0 || strange !== undefined)
    refuseMetadata(
      'scopes',
      `must name scopes of serviceAccounts({ scopes })${strange ? `, and ${strange} is none` : ''}`,
    )
  const { until } = fields
  if (!(Number.isSafeInteger(until) && until > now && until <= now + option.maxLifetime))
    refuseMetadata('until', `must be at most ${option.maxLifetime} seconds from now`)
  return { name, scopes, choices: checkedChoices(kinds, { ...fields, scopes }), until }
}
