import { type Choices, intersectChoices, isWithinChoices } from '../../protocol/choices.ts'
import { allowedScopes, type Client } from '../../protocol/clients/client.ts'
import type { ClientMetadata, OwningOrganization } from '../../protocol/clients/client-metadata.ts'
import { lateExplanation, listed } from '../../protocol/explanation.ts'
import { refusal } from '../../protocol/refusal.ts'
import { type AuthorizationDetails, isLive } from '../../protocol/requests/authorization.ts'
import type { AuthorizationDetail } from '../../protocol/requests/authorization-details.ts'
import { choiceDetails } from '../../protocol/requests/choice-details.ts'
import { formatFor } from '../../protocol/requests/resource.ts'
import { intersectScopes } from '../../protocol/scope.ts'
import type { TokenContext } from '../../protocol/tokens/token-context.ts'
import type { Write } from '../../storage/database/statement.ts'
import { type AccessToken, createAccessToken } from '../../storage/repositories/index.ts'
import { belongsToOrganization } from '../../users/users.ts'
import type { AuthorizationServer } from '../authorization-server.ts'
import { issuedChoices } from '../choices/things.ts'
import { isRuled, usableScopes } from './access-rules.ts'
import type { AccessTokenDraft, AccessTokenFormat, IssuedAccessToken } from './access-token-format.ts'
import { jwtAccessToken } from './jwt-access-token.ts'
import { opaqueAccessToken } from './opaque-access-token.ts'
import { featureTokenKinds, type TokenWithUser, type VerifiedToken } from './verified-token.ts'

export type { AccessTokenDraft, IssuedAccessToken, UserTokenDraft } from './access-token-format.ts'

/** Every supported format. */
const formats = { opaque: opaqueAccessToken, jwt: jwtAccessToken } satisfies Readonly<
  Record<string, AccessTokenFormat>
>

/** The lifetime of an access token of this format, in seconds. */
const lifetimeOf = (
  { options: { lifetimes } }: AuthorizationServer,
  { metadata: { access_token_lifetime: own } }: Client,
  format: keyof typeof formats,
): number =>
  format === 'jwt'
    ? Math.min(lifetimes.jwtAccessToken, own ?? lifetimes.jwtAccessToken)
    : (own ?? lifetimes.accessToken)

/**
 * Issues an access token, which never outlives its authorization.
 *
 * @throws OAuthError `invalid_target` if its resources have different formats
 */
export const issueAccessToken = async (
  server: AuthorizationServer,
  draft: AccessTokenDraft,
): Promise<IssuedAccessToken> => {
  const { client, authorization } = draft
  const now = server.now()
  const format = formatFor(draft.resources, server.resources)
  const lifetime = lifetimeOf(server, client, format)
  const { notAfter = Number.POSITIVE_INFINITY } = draft
  const expiresAt = Math.min(now + lifetime, authorization?.expiresAt ?? notAfter, notAfter)
  const { resources, scopes } = draft
  const choices = await choicesFor(server, draft)
  const context = withChoices(draft, choices)
  const details = tokenDetails(server, {
    client: client.metadata,
    resources,
    details: authorization?.details,
    context,
  })
  const authorizationDetails = [...details, ...choiceDetails(server.options.choices, scopes, choices)]
  const issued = await formats[format].issue(
    server,
    { ...draft, context },
    { now, expiresAt, authorizationDetails },
  )
  // The token is for the API, which must know what was chosen. Only the response is for the client.
  return client.metadata.token_response_choices === false
    ? { ...issued, authorizationDetails: details }
    : issued
}

/** The things that a new token is for: those of its authorization or of its own context that the user may still give. */
const choicesFor = async (server: AuthorizationServer, draft: AccessTokenDraft): Promise<Choices> => {
  const { user, authorization, client, scopes, context } = draft
  if (server.options.choices.length === 0) return {}
  if (user === undefined) return client.metadata.owned_by?.choices ?? {}
  const { choices = {}, details } = authorization
  const granted = context?.choices === undefined ? choices : intersectChoices(choices, context.choices)
  const about = { user, client, organization: details.organization }
  return issuedChoices(server.options.choices, about, scopes, granted)
}

/** Fewer things than those of its authorization are stored with a token. */
const withChoices = (
  { authorization, context }: AccessTokenDraft,
  choices: Choices,
): TokenContext | undefined =>
  isWithinChoices(authorization?.choices ?? {}, choices) ? context : { ...context, choices }

/** The writes that store an access token: none for a format that is not stored. */
export const storeAccessToken = ({ row }: IssuedAccessToken): Write[] => (row ? [createAccessToken(row)] : [])

/**
 * The client of a stored token that is valid.
 *
 * @throws OAuthError `invalid_token`, with the same description for every reason (RFC 6750 §3.1)
 */
const clientOfValid = (
  { clientId, subject, resources, revokedAt, expiresAt, client }: AccessToken,
  resource: string | undefined,
  now: number,
): ClientMetadata => {
  const owner = { clientId, subject }
  if (!isFor(resources, resource)) {
    const explanation = { expected: resource ?? 'no resource', received: listed(resources) }
    throw refusal('token_of_other_resource', { ...owner, explanation })
  }
  if (client === undefined) throw refusal('token_without_client', owner)
  if (revokedAt !== null) throw refusal('token_ended', owner)
  if (expiresAt <= now)
    throw refusal('token_expired', { ...owner, explanation: lateExplanation(expiresAt, now) })
  return client
}

const isFor = (resources: readonly string[], resource: string | undefined): boolean =>
  resource === 'any' || (resource === undefined ? resources.length === 0 : resources.includes(resource))

const findToken = async (server: AuthorizationServer, value: string): Promise<AccessToken | undefined> => {
  for (const format of Object.values(formats)) {
    const stored = await format.verify(server, value)
    if (stored) return stored
  }
  return undefined
}

/** The user allowed single claims to the client of the request alone, and not to one that exchanged its token. */
const withoutClaims = ({ claims: _, ...details }: AuthorizationDetails): AuthorizationDetails => details

/**
 * The scopes of a token that the rules of features leave it now.
 *
 * @throws OAuthError `invalid_token` if they refuse it
 */
const scopesInUse = async (
  server: AuthorizationServer,
  token: Pick<VerifiedToken, 'clientId' | 'subject' | 'scopes' | 'organization'>,
  metadata: ClientMetadata,
): Promise<readonly string[]> => {
  const { clientId, subject, scopes, organization } = token
  const client = { clientId, metadata }
  const usable = await usableScopes(server, { client, subject, organization, scopes })
  if (usable === undefined) throw refusal('token_not_allowed', { clientId, subject })
  return usable
}

/**
 * Verifies an access token of any kind: it is neither expired nor revoked, its authorization and client
 * are still valid, its user is active and still belongs to its organization, and no rule of a feature refuses it.
 *
 * It does not check who sends the token: pass the binding to `assertSender()`.
 *
 * @param resource the resource that the token must be for (RFC 8707): an identifier, `'any'` for all tokens, and by default
 *   only tokens for no resource
 * @throws OAuthError `invalid_token`, with the same description for every reason (RFC 6750 §3.1)
 */
export const verifyAccessToken = async (
  server: AuthorizationServer,
  value: string,
  resource?: string,
): Promise<TokenWithUser> => {
  const kind = server.added(featureTokenKinds).find((each) => each.matches(value))
  if (kind) {
    const verified = await kind.verify(server, value)
    if (verified === undefined || !isFor([], resource)) throw refusal('token_unknown')
    if (!isRuled(server)) return verified
    const { token, client } = verified
    return { ...verified, token: { ...token, scopes: await scopesInUse(server, token, client) } }
  }
  const stored = await findToken(server, value)
  const now = server.now()
  if (stored === undefined) throw refusal('token_unknown')
  const owner = { clientId: stored.clientId, subject: stored.subject }
  const client = clientOfValid(stored, resource, now)
  const { clientId, resources, binding, issuedAt, expiresAt, family } = stored
  const allowed = allowedScopes({ metadata: client }).filter((scope) => !family?.removed?.includes(scope))
  const granted = intersectScopes(stored.scopes, allowed)
  const { subject, context } = stored
  const token = { subject, clientId, scopes: granted, resources, issuedAt, expiresAt, act: context?.act }
  if (subject === undefined) {
    const owned = client.owned_by && (await ownedPart(server, { ...token, context }, client, client.owned_by))
    return { token: { ...token, ...owned }, binding, user: undefined, client, details: undefined }
  }
  if (family === undefined || !isLive(family, now)) throw refusal('token_ended', owner)
  const details = stored.ownerId === clientId ? family.details : withoutClaims(family.details)
  const { organization } = details
  const user = await server.users.find(subject)
  if (
    user === undefined ||
    !(await belongsToOrganization(server.options.organizations, user, organization))
  ) {
    throw refusal('token_without_user', owner)
  }
  const scopes = isRuled(server) ? await scopesInUse(server, { ...token, organization }, client) : granted
  const choices =
    family.choices && context?.choices ? intersectChoices(family.choices, context.choices) : family.choices
  const authorizationDetails = [
    ...tokenDetails(server, { client, resources, details, context }),
    ...choiceDetails(server.options.choices, scopes, choices ?? {}),
  ]
  return {
    token: { ...token, scopes, organization, authorizationDetails, choices },
    binding,
    user,
    client,
    details,
  }
}

/**
 * The part of a client's own token that its organization lets it have now.
 *
 * @throws OAuthError `invalid_token` if the client has expired, or if one of its credentials was withdrawn since
 */
const ownedPart = async (
  server: AuthorizationServer,
  { context, ...token }: VerifiedToken & Pick<AccessToken, 'context'>,
  client: ClientMetadata,
  owner: OwningOrganization,
): Promise<Pick<VerifiedToken, 'scopes' | 'organization' | 'choices' | 'authorizationDetails'>> => {
  const { clientId } = token
  if (owner.until <= server.now() || context?.generation !== owner.generation)
    throw refusal('token_ended', { clientId })
  const owned = { ...token, organization: owner.id }
  const scopes = isRuled(server) ? await scopesInUse(server, owned, client) : token.scopes
  const { choices: granted = {} } = owner
  const choices = intersectChoices(granted, context.choices ?? granted)
  const authorizationDetails = choiceDetails(server.options.choices, scopes, choices)
  return { scopes, organization: owner.id, choices, authorizationDetails }
}

/** The facts that decide which objects of `authorization_details` a token has. */
export interface DetailedToken {
  readonly client: Pick<ClientMetadata, 'authorization_details_types'>
  readonly resources: readonly string[]
  /** Of the authorization; undefined if the client acts for itself. */
  readonly details: Pick<AuthorizationDetails, 'authorizationDetails'> | undefined
  readonly context?: TokenContext
}

/**
 * The objects of a token (RFC 9396 §7): those that its request named, or all of the authorization. A type that the host or
 * the client no longer has is left out, and one of another resource too.
 */
export const tokenDetails = (
  { options }: Pick<AuthorizationServer, 'options'>,
  { client, resources, details, context }: DetailedToken,
): readonly AuthorizationDetail[] => {
  const granted = context?.authorization_details ?? details?.authorizationDetails
  if (granted === undefined || granted.length === 0) return []
  const registered = client.authorization_details_types ?? []
  return granted.filter(({ type }) => {
    const detailType = Object.hasOwn(options.protocol.authorizationDetails, type)
      ? options.protocol.authorizationDetails[type]
      : undefined
    if (detailType === undefined || !registered.includes(type)) return false
    return detailType.resource === undefined || resources.includes(detailType.resource)
  })
}
