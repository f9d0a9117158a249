import { hashSecret } from '../../keys/secrets.ts'
import { type Client, clientName, describedAt, isStranger, logoHash } from '../../protocol/clients/client.ts'
import { inLanguage } from '../../protocol/clients/client-metadata-languages.ts'
import { redirectUriKind, webHost } from '../../protocol/clients/redirect-uri.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import type { Consent, ConsentReceipt } from '../../protocol/requests/consent.ts'
import { needsConsent } from '../../protocol/requests/next-step.ts'
import { isAmong, lastOrganization, type Organization } from '../../protocol/requests/organization.ts'
import type { KeptConsent } from '../../storage/repositories/index.ts'
import { findOrganizations } from '../../users/users.ts'
import type { PageContext } from '../../web/http/context.ts'
import { ownPath } from '../../web/http/urls.ts'
import type { ClientCard, ConsentDetail, ConsentNotice } from '../../web/pages/page-models.ts'
import { type ActiveLogin, activeLogin } from '../../web/sessions/login.ts'
import type { AuthorizationServer } from '../authorization-server.ts'
import { clientSources } from '../client-authentication/client-source.ts'
import { keepLogo } from '../clients/logo.ts'
import { isRuled } from '../tokens/access-rules.ts'
import { userClaims } from '../tokens/user-claims.ts'
import { consentDetails, receiptDetails } from './consent-details.ts'
import { type ConsentWording, consentWording } from './consent-scopes.ts'
import { consentFor, meaningOf, rememberedConsents, withinRules } from './context.ts'
import { toldApart } from './organization-list.ts'
import type { PendingRequest } from './request-kind.ts'

/** A pending request as the consent page shows it, with the user who is to answer it. */
export interface ConsentView extends ActiveLogin {
  /** With the scopes that the rules of features leave it. */
  readonly pending: PendingRequest
  /** The scopes that they leave out. */
  readonly leftOut: readonly string[]
  readonly wording: ConsentWording
  /** The authorization details that it asks for (RFC 9396). */
  readonly details: readonly ConsentDetail[]
  /** The organizations to choose from: those of the user, or of these the one that the request names. */
  readonly offered: readonly Organization[] | undefined
  /** The one that it is for; undefined if the host has none, or if the user must choose first. */
  readonly organization: Organization | undefined
  /** The consents of the user for the client, in every organization. */
  readonly consents: readonly KeptConsent[]
}

/** Whether a client described itself, so that the host has not decided about it. */
export const isUnverified = (
  { added }: Pick<AuthorizationServer, 'added'>,
  client: Pick<Client, 'clientId' | 'metadata'>,
): boolean => isStranger(client) && !added(clientSources).some((source) => source.vouchesFor(client))

/** Characters that pages show of the name of a client that described itself. */
const maxStrangersName = 60

const shortened = (name: string): string => {
  const characters = [...name]
  return characters.length > maxStrangersName
    ? `${characters.slice(0, maxStrangersName - 1).join('')}…`
    : name
}

/** A client as the pages show it, in the language of the page. */
export const clientCard = (
  server: AuthorizationServer,
  client: Client,
  redirectUri: string | undefined,
  language: string,
): ClientCard => ({
  name: isStranger(client) ? shortened(clientName(client, language)) : clientName(client, language),
  logoUrl: logoPath(server, client),
  host: redirectUri === undefined ? '' : webHost(redirectUri),
  unverified: isUnverified(server, client),
  onDevice: redirectUri === undefined || redirectUriKind(redirectUri) !== 'https',
  source: describedAt(client)?.host ?? '',
  policyUri: inLanguage(client.metadata, 'policy_uri', language),
  tosUri: inLanguage(client.metadata, 'tos_uri', language),
})

/**
 * Reads what the consent page or its form needs.
 *
 * @param context in the language of the page
 * @param answered the id of the organization that the form is for; by default the one that the page suggests
 * @returns undefined if no user is logged in
 */
export const openConsent = async (
  context: PageContext,
  waiting: PendingRequest,
  answered?: string,
): Promise<ConsentView | undefined> => {
  const { server, req, language } = context
  const { client } = waiting
  const active = await activeLogin(context, waiting)
  if (active === undefined) return undefined
  const organizations = await findOrganizations(server.options.organizations, active.user, req)
  const named = waiting.request.organization
  const told = organizations && toldApart(organizations)
  const offered = named === undefined ? told : told?.filter(({ id }) => id === named)
  const consents = await rememberedConsents(server, waiting, active.login)
  const wanted = answered ?? suggestedOrganization(waiting, active.login, consents, offered)
  const organization = offered?.find(({ id }) => id === wanted)
  const request = isRuled(server)
    ? await withinRules(server, waiting, active.login.subject, organization?.id)
    : waiting.request
  const card = clientCard(server, client, request.redirectUri, language)
  const details = await consentDetails(server, request, language)
  const wording = {
    ...consentWording(server, client, card, request, language),
    ...(details.length > 0 && {
      details: receiptDetails(server, details, (entry) => meaningOf(server, client, entry)),
    }),
  }
  const pending = { ...waiting, request }
  const leftOut = waiting.request.scopes.filter((scope) => !request.scopes.includes(scope))
  return { pending, leftOut, wording, details, offered, organization, consents, ...active }
}

/** The organization that the page suggests: the chosen one, the only one, or where the user last used the client. */
const suggestedOrganization = (
  { decision }: PendingRequest,
  { sid }: ActiveLogin['login'],
  consents: readonly KeptConsent[],
  offered: readonly Organization[] = [],
): string | undefined => {
  const chosen = decision?.sid === sid ? decision.organization : undefined
  if (isAmong(offered, chosen)) return chosen
  return offered.length === 1 ? offered[0]?.id : lastOrganization(consents, offered)
}

/** Hidden fields that say what the form is an answer to: whose page it was on, and what that page said. */
export const consentSubject = ({
  pending,
  wording,
  login,
  organization,
}: ConsentView): { account: string; shown: string; organization?: string } => ({
  account: hashSecret(JSON.stringify([pending.id, login.subject])),
  shown: hashSecret(JSON.stringify([pending.id, wording, ...(organization ? [organization.id] : [])])),
  ...(organization && { organization: organization.id }),
})

/** Why the form answers another page than the one that would be shown now; undefined if it is the same. */
export const consentChange = (consentView: ConsentView, form: Parameters): ConsentNotice | undefined => {
  const { account, shown } = consentSubject(consentView)
  if (form.optional('account') !== account) return 'account'
  if (consentView.offered && !consentView.organization) return 'gone'
  return form.optional('shown') === shown ? undefined : 'changed'
}

/** The consent that the user gave before, and whether the organization is all that is left to ask for. */
export const allowedBefore = (
  server: AuthorizationServer,
  { pending: { client, request }, organization, consents }: ConsentView,
): { consent: Consent | undefined; onlyOrganization: boolean } => {
  const { consent, terms } = consentFor(server, { client, request }, consents, organization?.id)
  const context = { request, client, consent, terms, kinds: server.options.choices }
  return {
    consent,
    onlyOrganization: organization !== undefined && !needsConsent(context),
  }
}

/** The user's claims that the request would reveal. */
export const sharedClaims = async (
  server: AuthorizationServer,
  consentView: ConsentView,
): Promise<Record<string, unknown>> => {
  const { user, pending, organization } = consentView
  const { request, client } = pending
  const holder = { client, scopes: request.scopes, organization: organization?.id }
  return userClaims(server, user, holder, 'userinfo', request.claims?.beyondScopes)
}

/** The wording of the page, with the lines that the user left ticked. */
export const receiptOf = async (
  server: AuthorizationServer,
  consentView: ConsentView,
  granted: readonly string[],
): Promise<ConsentReceipt> => {
  const { organization } = consentView
  const lines = consentView.wording.scopes.map((scope) => ({
    ...scope,
    allowed: granted.includes(scope.name),
  }))
  const claims = Object.keys(await sharedClaims(server, consentView))
  return { ...consentView.wording, scopes: lines, claims, ...(organization && { organization }) }
}

/**
 * The path of a client's logo on our own origin; undefined while there is none. If it has to be fetched, that begins in
 * the background, and a later page shows it. An unverified client has none: its logo could be another’s.
 */
export const logoPath = (server: AuthorizationServer, client: Client): string | undefined => {
  if (isUnverified(server, client)) return undefined
  keepLogo(server, client)
  const hash = logoHash(client)
  return hash && ownPath(server, `/logos/${hash}`)
}
