import { createHash } from 'node:crypto'
import type { AuthorizationServer } from '../authorization-server.ts'
import type { ScopeOptions } from '../options/options.ts'
import { claimEntry } from '../protocol/claims-request.ts'
import type { Consent, ConsentReceipt, ReceiptScope } from '../protocol/consent.ts'
import type { Parameters } from '../protocol/parameters.ts'
import { en, standardScopeTexts } from './locales/en.ts'
import type { ClientCard, ConsentScope } from './page-models.ts'

const changing = /write|edit|create|update|delete|manage|send|admin/i

/** What a client may do, in words for people. */
export const scopeWords = (
  server: AuthorizationServer,
  name: string,
): Pick<ConsentScope, 'description' | 'group'> => {
  const scope = scopeOptions(server, name)
  if (scope !== undefined) return { description: scope.description, group: groupOf(name, scope) }
  const claim = name.startsWith(claimEntry('')) ? name.slice(claimEntry('').length) : undefined
  if (claim !== undefined) {
    return {
      description: `${en.texts['consent.claim'] ?? ''} ${en.texts[`claim.${claim}`] ?? claim}`,
      group: 'identity',
    }
  }
  const standard = Object.entries(standardScopeTexts).find(([scopeName]) => scopeName === name)
  return standard?.[1] ?? { description: name, group: groupOf(name) }
}

const scopeOptions = (
  { options: { scopes } }: AuthorizationServer,
  name: string,
): ScopeOptions | undefined => (Object.hasOwn(scopes, name) ? scopes[name] : undefined)

const groupOf = (name: string, scope?: ScopeOptions): ConsentScope['group'] =>
  scope?.group ?? (changing.test(name) ? 'change' : 'read')

const isOptional = (server: AuthorizationServer, name: string): boolean =>
  scopeOptions(server, name)?.optional === true

/** Computed once for each scope of a router. */
const meanings = new WeakMap<ScopeOptions, string>()

/**
 * What an entry of a consent means: another text, other claims or another choice for the user is another meaning.
 * The standard scopes and claims mean what OpenID Connect says, unless the host gave them a text of its own.
 */
export const meaningOf = (server: AuthorizationServer, name: string): string => {
  const scope = scopeOptions(server, name)
  if (scope === undefined) return ''
  const known = meanings.get(scope)
  if (known !== undefined) return known
  const { description, claims = [], optional = false } = scope
  const said = JSON.stringify([description, [...claims].sort(), optional, groupOf(name, scope)])
  const meaning = createHash('sha256').update(said).digest('base64url').slice(0, 16)
  meanings.set(scope, meaning)
  return meaning
}

/** The scopes as the consent page lists them; new ones are marked only where something was allowed before. */
export const consentScopes = (
  server: AuthorizationServer,
  requested: readonly string[],
  consent: Consent | undefined,
): ConsentScope[] =>
  requested.map((name) => ({
    name,
    ...scopeWords(server, name),
    optional: isOptional(server, name),
    isNew: consent !== undefined && !consent.scopes.includes(name),
    checked: true,
  }))

/** What of the requested scopes the user left ticked; the ones that are not optional come with Allow. */
export const grantedScopes = (
  server: AuthorizationServer,
  requested: readonly string[],
  form: Parameters,
): string[] => requested.filter((name) => !isOptional(server, name) || form.has(`scope:${name}`))

/** What a consent page says of the client and its scopes, before there is an answer. */
export interface ShownConsent extends Omit<ConsentReceipt, 'scopes' | 'claims'> {
  readonly scopes: readonly Omit<ReceiptScope, 'allowed'>[]
}

export const shownConsent = (
  server: AuthorizationServer,
  { name, host, policyUri, tosUri }: ClientCard,
  requested: readonly string[],
): ShownConsent => ({
  locale: en.language,
  product: server.options.branding.name ?? 'Latchkey',
  client: { name, host, policyUri, tosUri },
  scopes: consentScopes(server, requested, undefined).map((scope) => ({
    name: scope.name,
    text: scope.description,
    details: scope.details,
    group: scope.group,
    optional: scope.optional,
    meaning: meaningOf(server, scope.name),
  })),
})

const shown = (value: unknown): string => {
  if (typeof value === 'boolean') return en.texts[value ? 'value.yes' : 'value.no'] ?? String(value)
  if (typeof value === 'object' && value !== null) return Object.values(value).filter(Boolean).join(', ')
  return String(value)
}

/** The data that will be shared, with the actual values. */
export const consentClaims = (claims: Readonly<Record<string, unknown>>): { name: string; value: string }[] =>
  Object.entries(claims).map(([name, value]) => ({ name, value: shown(value) }))
