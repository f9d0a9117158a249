import type { AuthorizationRequest } from './authorization-request.ts'
import type { Organization } from './organization.ts'
import { redirectUriHost, redirectUriKind } from './redirect-uri.ts'

/** What a user has allowed a client. */
export interface Consent {
  readonly scopes: readonly string[]
}

/** The name of an individual claim among the scopes of a consent; a scope cannot contain a quote (RFC 6749 §3.3). */
export const claimEntry = (name: string): string => `claim"${name}`

/** Everything that a request asks the user for: its scopes, and each claim beyond them. */
export const consentEntries = ({
  scopes,
  claims,
}: Pick<AuthorizationRequest, 'scopes' | 'claims'>): string[] => [
  ...scopes,
  ...(claims?.beyondScopes ?? []).map(claimEntry),
]

/**
 * What each entry of a consent (a scope, or a claim beyond the scopes) meant when it was allowed, by the host of the
 * redirect URI. A consent holds for that host only, and as long as the meaning of an entry does not change.
 */
export type ConsentTerms = Readonly<Record<string, Readonly<Record<string, string>>>>

/** One line of a consent page, and whether the user allowed it. */
export interface ReceiptScope {
  readonly name: string
  /** The description, in the language of the receipt. */
  readonly text: string
  readonly details?: string
  /** Language of both, if it is not that of the receipt. */
  readonly language?: string
  readonly group: string
  readonly optional: boolean
  /** Marked as sensitive. */
  readonly risk?: 'high'
  readonly allowed: boolean
  /** Its meaning, as in {@link ConsentTerms}. */
  readonly meaning: string
}

/** What the consent page showed when a user allowed a client: texts and names, but no values of claims. */
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
  /** Names of the claims that were shown with their values. */
  readonly claims: readonly string[]
  /** The chosen organization, with its name at that time. */
  readonly organization?: Organization
}

/** The host of a redirect URI as terms name it, without the port of a loopback address, which varies (RFC 8252 §7.3). */
const placeOf = (redirectUri: string): string =>
  redirectUriKind(redirectUri) === 'loopback' ? new URL(redirectUri).hostname : redirectUriHost(redirectUri)

/**
 * The part of a remembered consent that still holds.
 *
 * @param meaningOf returns what an entry means now
 * @returns undefined if the user never allowed the client anything at this host
 */
export const standingConsent = (
  terms: ConsentTerms,
  redirectUri: string,
  meaningOf: (entry: string) => string,
): Consent | undefined => {
  const place = placeOf(redirectUri)
  if (!Object.hasOwn(terms, place)) return undefined
  const agreed = Object.entries(terms[place] ?? {})
  return { scopes: agreed.filter(([entry, meaning]) => meaningOf(entry) === meaning).map(([entry]) => entry) }
}

/**
 * The terms after a decision: allowed entries hold for this host with the meaning that was shown, unticked entries are
 * removed from every host, and all others stay unchanged.
 */
export const agreedTerms = (
  earlier: ConsentTerms,
  redirectUri: string,
  shown: readonly Pick<ReceiptScope, 'name' | 'allowed' | 'meaning'>[],
): ConsentTerms => {
  const refused = new Set(shown.filter(({ allowed }) => !allowed).map(({ name }) => name))
  const places = Object.entries(earlier).map(([place, agreed]) => {
    const kept = Object.entries(agreed).filter(([entry]) => !refused.has(entry))
    return [place, Object.fromEntries(kept)] as const
  })
  const others = Object.fromEntries(places)
  const here = placeOf(redirectUri)
  const allowed = shown.filter((scope) => scope.allowed).map(({ name, meaning }) => [name, meaning] as const)
  const kept = Object.hasOwn(others, here) ? Object.entries(others[here] ?? {}) : []
  return { ...others, [here]: Object.fromEntries([...kept, ...allowed]) }
}

/** All entries of a consent, for any host. */
export const agreedEntries = (terms: ConsentTerms): string[] => [
  ...new Set(Object.values(terms).flatMap((agreed) => Object.keys(agreed))),
]
