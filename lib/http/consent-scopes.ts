import type { AuthorizationServer } from '../authorization-server.ts'
import { claimEntry } from '../protocol/claims-request.ts'
import type { Consent } from '../protocol/next-step.ts'
import type { Parameters } from '../protocol/parameters.ts'
import { en, standardScopeTexts } from './locales/en.ts'
import type { ConsentScope } from './page-models.ts'

const changing = /write|edit|create|update|delete|manage|send|admin/i

const words = (server: AuthorizationServer, name: string): Pick<ConsentScope, 'description' | 'group'> => {
  const scope = server.options.scopes[name]
  if (scope !== undefined) {
    return { description: scope.description, group: scope.group ?? (changing.test(name) ? 'change' : 'read') }
  }
  const claim = name.startsWith(claimEntry('')) ? name.slice(claimEntry('').length) : undefined
  if (claim !== undefined) {
    return {
      description: `${en.texts['consent.claim'] ?? ''} ${en.texts[`claim.${claim}`] ?? claim}`,
      group: 'identity',
    }
  }
  const standard = Object.entries(standardScopeTexts).find(([scopeName]) => scopeName === name)
  return standard?.[1] ?? { description: name, group: changing.test(name) ? 'change' : 'read' }
}

const isOptional = (server: AuthorizationServer, name: string): boolean =>
  server.options.scopes[name]?.optional === true

/** The scopes as the consent page lists them; new ones are marked only where something was allowed before. */
export const consentScopes = (
  server: AuthorizationServer,
  requested: readonly string[],
  consent: Consent | undefined,
): ConsentScope[] =>
  requested.map((name) => ({
    name,
    ...words(server, name),
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

const shown = (value: unknown): string => {
  if (typeof value === 'boolean') return en.texts[value ? 'value.yes' : 'value.no'] ?? String(value)
  if (typeof value === 'object' && value !== null) return Object.values(value).filter(Boolean).join(', ')
  return String(value)
}

/** The data that will be shared, with the actual values. */
export const consentClaims = (claims: Readonly<Record<string, unknown>>): { name: string; value: string }[] =>
  Object.entries(claims).map(([name, value]) => ({ name, value: shown(value) }))
