import type { AuthorizationServer } from '../authorization-server.ts'
import { keepLogo } from '../clients/logo.ts'
import type { PageContext } from '../http/context.ts'
import { ownPath } from '../http/urls.ts'
import { hashSecret } from '../keys/secrets.ts'
import type { ClientCard, ConsentDetail } from '../pages/page-models.ts'
import { type Client, clientName, describedAt, isStranger, logoHash } from '../protocol/clients/client.ts'
import { inLanguage } from '../protocol/clients/client-metadata-languages.ts'
import { redirectUriKind, webHost } from '../protocol/clients/redirect-uri.ts'
import type { Parameters } from '../protocol/parameters.ts'
import type { Consent, ConsentReceipt } from '../protocol/requests/consent.ts'
import { needsConsent } from '../protocol/requests/next-step.ts'
import type { Organization } from '../protocol/requests/organization.ts'
import type { KeptConsent } from '../repositories/index.ts'
import { type ActiveLogin, activeLogin } from '../sessions/login.ts'
import { userClaims } from '../tokens/user-claims.ts'
import { findOrganizations } from '../users/users.ts'
import { consentDetails, receiptDetails } from './consent-details.ts'
import { type ShownConsent, shownConsent } from './consent-scopes.ts'
import { consentFor, meaningOf } from './context.ts'
import type { PendingRequest } from './pending-request.ts'

/** A pending request, with the user who is to answer it and what the page says about it. */
export interface ConsentRequest extends ActiveLogin {
  readonly pending: PendingRequest
  readonly shown: ShownConsent
  /** The authorization details that it asks for (RFC 9396). */
  readonly details: readonly ConsentDetail[]
  /** The organizations to choose from: those of the user, or of these the one that the request names. */
  readonly offered: readonly Organization[] | undefined
}

/** Whether a client described itself, so that the host has not decided about it. */
const isUnverified = ({ features }: AuthorizationServer, client: Client): boolean =>
  isStranger(client) && !features.some((feature) => feature.vouchesFor?.(client))

/** A client as the pages show it, in the language of the page. */
export const clientCard = (
  server: AuthorizationServer,
  client: Client,
  redirectUri: string | undefined,
  language: string,
): ClientCard => ({
  name: clientName(client, language),
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
 * @returns undefined if no user is logged in
 */
export const openConsent = async (
  context: PageContext,
  pending: PendingRequest,
): Promise<ConsentRequest | undefined> => {
  const { server, req, language } = context
  const { client, request } = pending
  const active = await activeLogin(context, pending)
  if (active === undefined) return undefined
  const card = clientCard(server, client, request.redirectUri, language)
  const details = await consentDetails(server, request, language)
  const organizations = await findOrganizations(server.options.organizations, active.user, req)
  const named = request.organization
  const offered = named === undefined ? organizations : organizations?.filter(({ id }) => id === named)
  const shown = {
    ...shownConsent(server, client, card, request, language),
    ...(details.length > 0 && {
      details: receiptDetails(server, details, (entry) => meaningOf(server, client, entry)),
    }),
  }
  return { pending, shown, details, offered, ...active }
}

/** Hidden fields that say what the form is an answer to: whose page it was on, and what that page said. */
export const consentSubject = ({
  pending,
  shown,
  login,
}: ConsentRequest): Record<'account' | 'shown', string> => ({
  account: hashSecret(JSON.stringify([pending.id, login.subject])),
  shown: hashSecret(JSON.stringify([pending.id, shown])),
})

/** Why the form answers another page than the one that would be shown now; undefined if it is the same. */
export const consentChange = (asked: ConsentRequest, form: Parameters): 'account' | 'changed' | undefined => {
  const { account, shown } = consentSubject(asked)
  if (form.optional('account') !== account) return 'account'
  return form.optional('shown') === shown ? undefined : 'changed'
}

/** What the user allowed before, and whether only the organization is left to ask for. */
export const allowedBefore = (
  server: AuthorizationServer,
  { pending: { client, request }, offered = [] }: ConsentRequest,
  consents: readonly KeptConsent[],
): { consent: Consent | undefined; onlyOrganization: boolean } => {
  const consentIn = (organization?: Organization): Consent | undefined =>
    consentFor(server, { client, request }, consents, organization?.id).consent
  const [first, another] = offered
  const asksMore = offered.some((one) => needsConsent({ request, client, consent: consentIn(one) }))
  return {
    // With several organizations it is not known yet which consent applies.
    consent: another ? undefined : consentIn(first),
    onlyOrganization: first !== undefined && !asksMore,
  }
}

/** The organization that the user chose when this request asked before. */
export const chosenBefore = ({
  pending: { decision },
  login,
}: Pick<ConsentRequest, 'pending' | 'login'>): string | undefined =>
  decision?.sid === login.sid ? decision.organization : undefined

/** The user's claims that the request would reveal. */
export const sharedClaims = async (
  server: AuthorizationServer,
  asked: ConsentRequest,
): Promise<Record<string, unknown>> => {
  const { user, pending, offered = [] } = asked
  const { request, client } = pending
  // With several organizations it is not known yet which one the claims are for.
  const organization = offered.length === 1 ? offered[0]?.id : chosenBefore(asked)
  const holder = { client, scopes: request.scopes, organization }
  return userClaims(server, user, holder, 'userinfo', request.claims?.beyondScopes)
}

/** What the page showed and what the user left ticked. */
export const receiptOf = async (
  server: AuthorizationServer,
  asked: ConsentRequest,
  granted: readonly string[],
  organization: Organization | undefined,
): Promise<ConsentReceipt> => {
  const lines = asked.shown.scopes.map((scope) => ({ ...scope, allowed: granted.includes(scope.name) }))
  const claims = Object.keys(await sharedClaims(server, asked))
  return { ...asked.shown, scopes: lines, claims, ...(organization && { organization }) }
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
