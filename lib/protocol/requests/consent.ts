import { type ChoiceKind, type Choices, chosenOf, isWithinChosen } from '../choices.ts'
import { redirectUriHost, redirectUriKind } from '../clients/redirect-uri.ts'
import { type AuthorizationDetail, detailEntry } from './authorization-details.ts'
import type { AuthorizationRequest } from './authorization-request.ts'
import type { Organization } from './organization.ts'

/** The consent of a user to a client. */
export interface Consent {
  readonly scopes: readonly string[]
}

/** The name of an individual claim among the scopes of a consent; a scope cannot contain a quote (RFC 6749 §3.3). */
export const claimEntry = (name: string): string => `claim"${name}`

/** The name of a resource, or of a scope at a resource, among the scopes of a consent. Neither contains a quote. */
export const resourceEntry = (resource: string, scope?: string): string =>
  `resource"${resource}${scope === undefined ? '' : `"${scope}`}`

/** An entry of a consent in parts: a scope, a claim, a resource with or without a scope, or a type of details. */
export const parseEntry = (
  entry: string,
): { scope?: string; claim?: string; resource?: string; detail?: string } => {
  const [kind = '', name, scope] = entry.split('"')
  if (name === undefined) return { scope: kind }
  if (kind === 'detail') return { detail: name }
  return kind === 'claim' ? { claim: entry.slice(claimEntry('').length) } : { resource: name, scope }
}

type Asked = Pick<AuthorizationRequest, 'scopes' | 'claims' | 'resources' | 'authorizationDetails'>

/** Everything that a request asks the user for, as the page lists it: scopes, resources, and each claim beyond them. */
export const consentLines = ({ scopes, claims, resources = {} }: Asked): string[] => [
  ...scopes,
  ...Object.keys(resources).map((resource) => resourceEntry(resource)),
  ...(claims?.beyondScopes ?? []).map(claimEntry),
]

/**
 * The name under which a line of the page is remembered. A scope of an API is remembered for each resource that the request names,
 * because to allow it at one resource is not to allow it at another.
 */
export const entriesOf = (line: string, { resources = {} }: Pick<Asked, 'resources'>): string[] => {
  const owners = Object.entries(resources).filter(([, scopes]) => scopes.includes(line))
  return owners.length > 0 ? owners.map(([resource]) => resourceEntry(resource, line)) : [line]
}

/** The entries without resources that another entry names together with a scope. */
export const shownEntries = (entries: readonly string[]): string[] =>
  entries.filter((entry) => {
    const { resource, scope } = parseEntry(entry)
    return (
      resource === undefined || scope !== undefined || !entries.some((one) => one.startsWith(`${entry}"`))
    )
  })

/** Everything that a consent must contain for a request. */
export const consentEntries = (asked: Asked): string[] => [
  ...consentLines(asked).flatMap((line) => entriesOf(line, asked)),
  ...(asked.authorizationDetails ?? []).map(detailEntry),
]

/**
 * The consent of a user to a client: at one host of its redirect URIs, each entry with a hash of its meaning. At another
 * host nothing of it holds, and an entry whose meaning has changed does not hold either.
 */
export interface ConsentTerms {
  /** The host; a request without a redirect URI has a name of its own. */
  readonly place: string
  /** Scopes, claims beyond them, resources and authorization details, by their names. */
  readonly entries: Readonly<Record<string, string>>
  /** The things that were chosen, by kind. */
  readonly choices?: Choices
  /** When it ends by the user's wish, in epoch seconds. */
  readonly until?: number
}

/** One line of a consent page, and whether the user allowed it. */
export interface ReceiptScope {
  readonly name: string
  /** The description, in the language of the receipt. */
  readonly text: string
  readonly details?: string
  /** Language of the texts, if it is not that of the receipt. */
  readonly language?: string
  readonly group: string
  readonly optional: boolean
  /** The names of the resources at which a scope is allowed. */
  readonly resources?: readonly string[]
  /** Marked as sensitive. */
  readonly risk?: 'high'
  readonly riskReason?: string
  readonly allowed: boolean
  /** Its meaning, as in `ConsentTerms`. */
  readonly meaning: string
}

/** One authorization detail of a consent page (RFC 9396). The user allowed all of them. */
export interface ReceiptDetail {
  /** As an entry of the consent. */
  readonly name: string
  readonly detail: AuthorizationDetail
  readonly text: string
  readonly fields: readonly { readonly label: string; readonly value: string }[]
  /** The text of the button, if it was not "Allow". */
  readonly button?: string
  /** Whether the user is not asked again for the same one. */
  readonly remembered: boolean
  /** Its meaning, as in `ConsentTerms`. */
  readonly meaning: string
}

/** The consent page as it was when a user allowed a client: texts and names, but no values of claims. */
export interface ConsentReceipt {
  /** Language of the texts (BCP 47). */
  readonly locale: string
  readonly product: string
  readonly client: {
    readonly name: string
    readonly host: string
    readonly policyUri?: string
    readonly tosUri?: string
  }
  readonly scopes: readonly ReceiptScope[]
  /** Absent if there are none. */
  readonly details?: readonly ReceiptDetail[]
  /** Names of the claims that were shown with their values. */
  readonly claims: readonly string[]
  /** The chosen organization, with its name at that time. */
  readonly organization?: Organization
  /** The things to choose from, by kind; absent if there were none. */
  readonly things?: readonly ReceiptThings[]
  /** When it ends by the user's wish, in epoch seconds. */
  readonly until?: number
}

/** The things of one kind that a user chose. */
export interface ReceiptThings {
  readonly kind: string
  /** Their name on the page. */
  readonly name: string
  /** All, also those that come later, or these with their names at that time. */
  readonly chosen: 'all' | readonly { readonly id: string; readonly name: string }[]
}

/** The place that terms name for a request without a redirect URI. Hosts contain no space, so it cannot be mistaken for one. */
const devicePlace = 'a device'

/** The host of a redirect URI as terms name it, without the port of a loopback address, which varies (RFC 8252 §7.3). */
const placeOf = (redirectUri: string | undefined): string => {
  if (redirectUri === undefined) return devicePlace
  return redirectUriKind(redirectUri) === 'loopback'
    ? new URL(redirectUri).hostname
    : redirectUriHost(redirectUri)
}

/**
 * The part of a remembered consent that still holds.
 *
 * @param meaningOf returns what an entry means now
 * @returns undefined if it was allowed at another host
 */
export const standingConsent = (
  { place, entries }: ConsentTerms,
  redirectUri: string | undefined,
  meaningOf: (entry: string) => string,
): Consent | undefined => {
  if (place !== placeOf(redirectUri)) return undefined
  const standing = Object.entries(entries).filter(([entry, meaning]) => meaningOf(entry) === meaning)
  return { scopes: standing.map(([entry]) => entry) }
}

/** Whether anything of a remembered consent still holds. One without entries is for a request that named nothing. */
export const isStanding = ({ entries }: ConsentTerms, standing: Consent | undefined): boolean =>
  standing !== undefined && (standing.scopes.length > 0 || Object.keys(entries).length === 0)

/** Whether a scope that was not shown would now be about more things than those that it was allowed for. */
const isWidened = (
  entry: string,
  kinds: readonly ChoiceKind[],
  earlier: Choices = {},
  choices: Choices = {},
): boolean => {
  const { scope } = parseEntry(entry)
  return kinds.some(({ kind, scopes }) => {
    if (scope === undefined || !scopes.includes(scope)) return false
    return !isWithinChosen(chosenOf(choices, kind) ?? [], chosenOf(earlier, kind) ?? [])
  })
}

/**
 * The terms after a decision: what was shown and allowed, and what was allowed at this host before and not shown, unless that
 * would now last longer or be about more things.
 *
 * @param kinds of things that users choose among
 */
export const agreedTerms = (
  earlier: ConsentTerms | undefined,
  redirectUri: string | undefined,
  shown: readonly Pick<ReceiptScope, 'name' | 'allowed' | 'meaning'>[],
  { choices, until }: Pick<ConsentTerms, 'choices' | 'until'> = {},
  kinds: readonly ChoiceKind[] = [],
): ConsentTerms => {
  const place = placeOf(redirectUri)
  const stays = earlier?.place === place && (earlier.until ?? endless) >= (until ?? endless)
  const before = stays ? Object.entries(earlier.entries) : []
  const kept = before.filter(
    ([entry]) =>
      !shown.some(({ name }) => name === entry) && !isWidened(entry, kinds, earlier?.choices, choices),
  )
  const allowed = shown.filter((scope) => scope.allowed).map(({ name, meaning }) => [name, meaning] as const)
  const chosen = { ...(stays && earlier.choices), ...choices }
  return {
    place,
    entries: Object.fromEntries([...kept, ...allowed]),
    ...(Object.keys(chosen).length > 0 && { choices: chosen }),
    ...(until !== undefined && { until }),
  }
}

const endless = Number.POSITIVE_INFINITY
