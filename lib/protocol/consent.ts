import type { Organization } from './organization.ts'
import { redirectUriHost, redirectUriKind } from './redirect-uri.ts'

/** What a user once allowed a client. */
export interface Consent {
  readonly scopes: readonly string[]
}

/**
 * What the entries of a consent (scopes, and claims beyond them) meant when they were allowed, by the place at which
 * the client was answered: a consent holds for that place, and while each entry means the same.
 */
export type ConsentTerms = Readonly<Record<string, Readonly<Record<string, string>>>>

/** One line of a consent page, and what became of it. */
export interface ReceiptScope {
  readonly name: string
  /** The sentence, in the language of the receipt. */
  readonly text: string
  readonly details?: string
  /** Language of both where it is not that of the receipt. */
  readonly language?: string
  readonly group: string
  readonly optional: boolean
  /** Said to be sensitive. */
  readonly risk?: 'high'
  readonly allowed: boolean
  /** Its meaning as {@link ConsentTerms} keep it. */
  readonly meaning: string
}

/** What a user was shown when they allowed a client: texts and names, no values of theirs. */
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
  /** Names of the claims that were listed with their values. */
  readonly claims: readonly string[]
  /** The workspace that was chosen, as it was called then. */
  readonly organization?: Organization
}

/** Where a client is answered, as terms name it: the port of a loopback address may be another each time (RFC 8252 §7.3). */
const placeOf = (redirectUri: string): string =>
  redirectUriKind(redirectUri) === 'loopback' ? new URL(redirectUri).hostname : redirectUriHost(redirectUri)

/**
 * What of a remembered consent holds today.
 *
 * @param meaningOf what an entry means now
 * @returns undefined where the client was never allowed anything at this place
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
 * The terms after an answer: what was allowed holds for this place with the meaning that was shown, what was unticked
 * holds nowhere any more, and the rest stays as it was.
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

/** Every entry of a consent, wherever it holds. */
export const agreedEntries = (terms: ConsentTerms): string[] => [
  ...new Set(Object.values(terms).flatMap((agreed) => Object.keys(agreed))),
]
