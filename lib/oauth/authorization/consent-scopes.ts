import { claimNames } from '../../protocol/claims.ts'
import { absoluteLifetime, type Client } from '../../protocol/clients/client.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import type { AuthorizationRequest } from '../../protocol/requests/authorization-request.ts'
import {
  type Consent,
  type ConsentReceipt,
  consentLines,
  entriesOf,
  parseEntry,
  type ReceiptScope,
} from '../../protocol/requests/consent.ts'
import type { ClientCard, ConsentScope } from '../../web/pages/page-models.ts'
import type { AuthorizationServer } from '../authorization-server.ts'
import { type DetailTexts, detailWords, hostWords } from './consent-details.ts'
import { groupOf, meaningOf, scopeOptions, termsOf } from './context.ts'

/** The headings of the standard scopes (OIDC Core §5.4, §11). */
const standardGroups: Readonly<Record<string, ConsentScope['group']>> = {
  openid: 'identity',
  profile: 'identity',
  email: 'identity',
  address: 'identity',
  phone: 'identity',
  offline_access: 'offline',
}

/** The part of a server on which the texts of scopes depend. */
export interface ScopeTexts extends Pick<AuthorizationServer, 'languages' | 'scopeClaims'> {
  /** Absent in samples. */
  readonly users?: Pick<AuthorizationServer['users'], 'claimNames'>
  readonly options: Pick<AuthorizationServer['options'], 'pages' | 'scopes' | 'resources'> &
    DetailTexts['options'] & { readonly lifetimes: { readonly refreshTokenAbsolute: number } }
}

/** The words of the pages for an entry of a consent. */
type Words = Pick<ConsentScope, 'description' | 'details' | 'riskReason' | 'language' | 'group' | 'resources'>

const ofUsername: readonly string[] = ['preferred_username', 'updated_at']

/** The text of a standard scope. The scope `profile` reveals no name where users have only a username. */
const standardText = ({ scopeClaims, users }: ScopeTexts, name = ''): string => {
  const revealed = claimNames([name], scopeClaims).filter((claim) => users?.claimNames?.includes(claim))
  const isUsername =
    name === 'profile' && revealed.length > 0 && revealed.every((claim) => ofUsername.includes(claim))
  return `scope.${name}${isUsername ? '.username' : ''}`
}

/**
 * A scope, resource or single claim in the words of the pages.
 *
 * @param longest seconds after which access without the user ends, for its client
 */
export const scopeWords = (
  server: ScopeTexts,
  entry: string,
  language: string,
  longest = server.options.lifetimes.refreshTokenAbsolute,
): Words => {
  const { scope: name, claim, resource, detail } = parseEntry(entry)
  if (detail !== undefined) return { ...detailWords(server, detail, language), group: 'change' }
  const text = server.languages.text(language)
  if (resource !== undefined) {
    const api = resourceName(server, resource)
    if (name !== undefined) return { ...scopeWords(server, name, language, longest), resources: [api] }
    return { description: text.plain('consent.resource.use', { resource: api }), group: groupOf() }
  }
  const scope = scopeOptions(server, name ?? '')
  if (scope !== undefined) return { ...hostWords(server, scope, language), group: groupOf(scope) }
  if (claim !== undefined) {
    const label = text.has(`claim.${claim}`) ? text.plain(`claim.${claim}`) : claim
    return { description: text.plain('consent.claim', { claim: label }), group: 'identity' }
  }
  const group = name !== undefined && Object.hasOwn(standardGroups, name) ? standardGroups[name] : undefined
  const product = productName(server)
  return group === undefined
    ? { description: entry, group: groupOf() }
    : {
        description: text.plain(standardText(server, name), { product, time: text.duration(longest) }),
        group,
      }
}

/** The name of a resource; its identifier if the host no longer has it. */
const resourceName = ({ options }: ScopeTexts, identifier: string): string =>
  options.resources[identifier]?.name ?? identifier

/** The names of the resources for which an entry is a scope. */
const resourcesOf = (server: ScopeTexts, entry: string): string[] => {
  const { scope, resource } = parseEntry(entry)
  return scope === undefined || resource === undefined ? [] : [resourceName(server, resource)]
}

const productName = (server: ScopeTexts): string => server.options.pages.name

/** The scopes as the consent page lists them. New ones are marked only if the user allowed something before. */
export const consentScopes = (
  server: AuthorizationServer,
  client: Client,
  request: Pick<AuthorizationRequest, 'scopes' | 'claims' | 'resources'>,
  consent: Consent | undefined,
  language: string,
): ConsentScope[] =>
  consentLines(request).map((name) => {
    const { optional = false, risk } = termsOf(server, client, name) ?? {}
    const entries = entriesOf(name, request)
    const isAllowed = entries.every((entry) => consent?.scopes.includes(entry) === true)
    const resources = entries.flatMap((entry) => resourcesOf(server, entry))
    return {
      name,
      ...scopeWords(server, name, language, absoluteLifetime(client.metadata, server.options.lifetimes)),
      ...(resources.length > 0 && { resources }),
      optional,
      isNew: consent !== undefined && !isAllowed,
      checked: risk !== 'high' || isAllowed,
      isHighRisk: risk === 'high',
    }
  })

/** The lines with these ticked. */
export const withTicks = (scopes: readonly ConsentScope[], ticked: readonly string[]): ConsentScope[] =>
  scopes.map((scope) => ({ ...scope, checked: ticked.includes(scope.name) }))

/** The lines that the user left ticked, by name. Allow includes every one that is not optional. */
export const grantedEntries = (
  lines: readonly Pick<ConsentScope, 'name' | 'optional'>[],
  form: Parameters,
): string[] =>
  lines.filter(({ name, optional }) => !optional || form.has(`scope:${name}`)).map(({ name }) => name)

/** The wording of the consent page about the client and its scopes, before the answer. */
export interface ConsentWording extends Omit<ConsentReceipt, 'scopes' | 'claims'> {
  readonly scopes: readonly Omit<ReceiptScope, 'allowed'>[]
}

export const consentWording = (
  server: AuthorizationServer,
  client: Client,
  { name, host, policyUri, tosUri }: ClientCard,
  request: AuthorizationRequest,
  language: string,
): ConsentWording => ({
  locale: language,
  product: productName(server),
  client: { name, host, policyUri, tosUri },
  scopes: consentScopes(server, client, request, undefined, language).map((scope) => ({
    name: scope.name,
    text: scope.description,
    details: scope.details,
    language: scope.language,
    group: scope.group,
    optional: scope.optional,
    resources: scope.resources,
    risk: scope.isHighRisk === true ? 'high' : undefined,
    riskReason: scope.riskReason,
    meaning: meaningOf(server, client, scope.name),
  })),
})
