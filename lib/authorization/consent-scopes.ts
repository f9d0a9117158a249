import { createHash } from 'node:crypto'
import type { AuthorizationServer } from '../authorization-server.ts'
import type { ScopeOptions } from '../options/options.ts'
import { createText, type Text } from '../pages/i18n/text.ts'
import type { ClientCard, ConsentScope } from '../pages/page-models.ts'
import { type Consent, type ConsentReceipt, claimEntry, type ReceiptScope } from '../protocol/consent.ts'
import { lookUpLanguage } from '../protocol/languages.ts'
import type { Parameters } from '../protocol/parameters.ts'

const changing = /write|edit|create|update|delete|manage|send|admin/i

/** The headings of the standard scopes (OIDC Core §5.4, §11). */
const standardGroups: Readonly<Record<string, ConsentScope['group']>> = {
  openid: 'identity',
  profile: 'identity',
  email: 'identity',
  address: 'identity',
  phone: 'identity',
  offline_access: 'offline',
}

/** A scope or single claim in the words of the pages. */
export const scopeWords = (
  server: AuthorizationServer,
  name: string,
  language: string,
): Pick<ConsentScope, 'description' | 'details' | 'language' | 'group'> => {
  const scope = scopeOptions(server, name)
  if (scope !== undefined) return { ...hostWords(server, scope, language), group: groupOf(name, scope) }
  const text = createText(server.languages.dictionary(language))
  const claim = name.startsWith(claimEntry('')) ? name.slice(claimEntry('').length) : undefined
  if (claim !== undefined) {
    const label = text.has(`claim.${claim}`) ? text.plain(`claim.${claim}`) : claim
    return { description: text.plain('consent.claim', { claim: label }), group: 'identity' }
  }
  const group = Object.hasOwn(standardGroups, name) ? standardGroups[name] : undefined
  return group === undefined
    ? { description: name, group: groupOf(name) }
    : { description: text.plain(`scope.${name}`), group }
}

/** The host's words for a scope, in the language of the page or else in the default language. */
const hostWords = (
  server: AuthorizationServer,
  { description, details, locales = {} }: ScopeOptions,
  language: string,
): Pick<ConsentScope, 'description' | 'details' | 'language'> => {
  const tag = lookUpLanguage([language], Object.keys(locales))
  const words = tag === undefined ? undefined : locales[tag]
  if (words !== undefined) return { description: words.description, details: words.details }
  const standard = server.languages.default
  return { description, details, ...(language !== standard && { language: standard }) }
}

const scopeOptions = (
  { options: { scopes } }: AuthorizationServer,
  name: string,
): ScopeOptions | undefined => (Object.hasOwn(scopes, name) ? scopes[name] : undefined)

const groupOf = (name: string, scope?: ScopeOptions): ConsentScope['group'] =>
  scope?.group ?? (changing.test(name) ? 'change' : 'read')

const isOptional = (server: AuthorizationServer, name: string): boolean =>
  scopeOptions(server, name)?.optional === true

const isHighRisk = (server: AuthorizationServer, name: string): boolean =>
  scopeOptions(server, name)?.risk === 'high'

/**
 * A hash of what an entry of a consent means. It changes with the description, the claims and the user's choices, but
 * not with the language. Standard scopes and claims mean what OpenID Connect says, unless the host describes them.
 */
export const meaningOf = (server: AuthorizationServer, name: string): string => {
  const scope = scopeOptions(server, name)
  if (scope === undefined) return ''
  const { description, details, claims = [], optional = false, risk = 'normal' } = scope
  const said = JSON.stringify([
    ...[description, [...claims].sort(), optional, groupOf(name, scope)],
    ...(risk === 'high' ? [risk] : []),
    ...(details === undefined ? [] : [{ details }]),
  ])
  return createHash('sha256').update(said).digest('base64url').slice(0, 16)
}

/** The scopes as the consent page lists them. New ones are marked only if the user allowed something before. */
export const consentScopes = (
  server: AuthorizationServer,
  requested: readonly string[],
  consent: Consent | undefined,
  language: string,
): ConsentScope[] =>
  requested.map((name) => ({
    name,
    ...scopeWords(server, name, language),
    optional: isOptional(server, name),
    isNew: consent !== undefined && !consent.scopes.includes(name),
    checked: !isHighRisk(server, name) || consent?.scopes.includes(name) === true,
    isHighRisk: isHighRisk(server, name),
  }))

/** The same lines with their checkboxes as the form has them. */
export const asFilledIn = (scopes: readonly ConsentScope[], form: Parameters): ConsentScope[] =>
  scopes.map((scope) => ({ ...scope, checked: form.has(`scope:${scope.name}`) }))

/** The requested scopes that the user left ticked. Allow includes every scope that is not optional. */
export const grantedScopes = (
  server: AuthorizationServer,
  requested: readonly string[],
  form: Parameters,
): string[] => requested.filter((name) => !isOptional(server, name) || form.has(`scope:${name}`))

/** What the consent page says about the client and its scopes, before the answer. */
export interface ShownConsent extends Omit<ConsentReceipt, 'scopes' | 'claims'> {
  readonly scopes: readonly Omit<ReceiptScope, 'allowed'>[]
}

export const shownConsent = (
  server: AuthorizationServer,
  { name, host, policyUri, tosUri }: ClientCard,
  requested: readonly string[],
  language: string,
): ShownConsent => ({
  locale: language,
  product: server.options.branding.name ?? 'Latchkey',
  client: { name, host, policyUri, tosUri },
  scopes: consentScopes(server, requested, undefined, language).map((scope) => ({
    name: scope.name,
    text: scope.description,
    details: scope.details,
    language: scope.language,
    group: scope.group,
    optional: scope.optional,
    risk: scope.isHighRisk === true ? 'high' : undefined,
    meaning: meaningOf(server, scope.name),
  })),
})

const shown = (value: unknown, text: Text): string => {
  if (typeof value === 'boolean') return text.plain(value ? 'value.yes' : 'value.no')
  if (typeof value === 'object' && value !== null) return Object.values(value).filter(Boolean).join(', ')
  return String(value)
}

/** The claims that will be shared, with their values. */
export const consentClaims = (
  server: AuthorizationServer,
  claims: Readonly<Record<string, unknown>>,
  language: string,
): { name: string; value: string }[] => {
  const text = createText(server.languages.dictionary(language))
  return Object.entries(claims).map(([name, value]) => ({ name, value: shown(value, text) }))
}
