import { createSecret, hashSecret, randomId } from '../../keys/secrets.ts'
import type { AuthorizationServer } from '../../oauth/authorization-server.ts'
import { issueAccessToken, storeAccessToken } from '../../oauth/tokens/access-token.ts'
import { allowedUser } from '../../oauth/tokens/allowed.ts'
import { knownScopes } from '../../options/scopes.ts'
import { isUserMapping } from '../../options/users.ts'
import type { Choices } from '../../protocol/choices.ts'
import { allowedScopes, type Client } from '../../protocol/clients/client.ts'
import type { AuthorizationDetails } from '../../protocol/requests/authorization.ts'
import type { AuthorizationDetail } from '../../protocol/requests/authorization-details.ts'
import type { Login } from '../../protocol/requests/login.ts'
import { isAmong } from '../../protocol/requests/organization.ts'
import { scopesByResource } from '../../protocol/requests/resource.ts'
import { bearer } from '../../protocol/tokens/token-binding.ts'
import type { AuthRouter } from '../../router.ts'
import { transaction, writeAll } from '../../storage/database/transaction.ts'
import { createAuthorization, createLogin, type NewAuthorization } from '../../storage/repositories/index.ts'
import { findOrganizations, type User } from '../../users/users.ts'
import {
  type ActingAs,
  acting,
  lifetime,
  listOf,
  refuseMisuse,
  resourcesOf,
  type Scopes,
  serverOf,
} from './acting.ts'
import { clientForTests, existingClient } from './test-client.ts'

/** A user by id, or a row or object that holds the id where the option `users` says it is. */
export type ActingUser = string | number | object

/** Refuses unknown scopes, because a typing error could make a test pass or fail for the wrong reason. */
const checkedScopes = (scopes: Scopes, allowed: readonly string[], whose: string): string[] => {
  const asked = listOf(scopes)
  const unknown = asked.filter((scope) => !allowed.includes(scope))
  return unknown.length > 0 ? refuseMisuse(`${unknown.join(' ')} is not a scope ${whose}`) : asked
}

const activeUser = async ({ options, users }: AuthorizationServer, user: ActingUser): Promise<User> => {
  const mapped = options.users && isUserMapping(options.users) ? options.users.columns.id : 'id'
  // seedUsers() returns the id as `subject`.
  const field =
    options.users === undefined && typeof user === 'object' && !('id' in user) ? 'subject' : mapped
  const id: unknown = typeof user === 'object' ? Reflect.get(user, field) : user
  const found = await users.find(String(id))
  return found ?? refuseMisuse(`there is no active user whose ${field} is ${String(id)}`)
}

/** The requested organization, or the user's only one. */
const organizationFor = async (
  { options }: AuthorizationServer,
  user: User,
  asked: string | undefined,
): Promise<string | undefined> => {
  const organizations = await findOrganizations(options.organizations, user)
  if (organizations === undefined) {
    return asked === undefined ? undefined : refuseMisuse('organization requires the option organizations')
  }
  const [only, another] = organizations
  if (only === undefined) return refuseMisuse('the user belongs to no organization')
  if (asked === undefined && another !== undefined) {
    return refuseMisuse('the user belongs to several organizations; choose one with { organization }')
  }
  const organization = asked ?? only.id
  return isAmong(organizations, organization)
    ? organization
    : refuseMisuse(`the user does not belong to the organization ${organization}`)
}

/** The authorization that the user would create by signing in and allowing the client. */
const authorizationOf = (
  client: Client,
  login: Login,
  {
    scopes,
    choices,
    ...granted
  }: { scopes: readonly string[]; choices: Choices | undefined } & Pick<
    AuthorizationDetails,
    'organization' | 'resources' | 'authorizationDetails'
  >,
): NewAuthorization => {
  const { clientId } = client
  const { subject, sid, authTime: now, amr, acr } = login
  return {
    id: randomId(),
    clientId,
    subject,
    sid,
    scopes,
    offline: false,
    // An unknown code that is already expired.
    codeHash: hashSecret(createSecret('authorizationCode')),
    codeExpiresAt: now,
    now,
    expiresAt: now + lifetime,
    details: { ...granted, authTime: now, amr, acr },
    ...(choices && { choices }),
  }
}

/** The contents of the user's token; everything is optional. */
export interface ActingAsOptions {
  /** The registered client of the token. @default a client for tests that can do nothing else */
  readonly client?: string
  /** The organization of the token, with the option `organizations`. @default the user's only one */
  readonly organization?: string
  /** The resource that the token is for. @default none */
  readonly resource?: string
  /** The authentication level of the login, one of the option `acrValues`. @default none */
  readonly acr?: string
  /** Authorization details of the token (RFC 9396). @default nothing */
  readonly authorizationDetails?: readonly AuthorizationDetail[]
  /** The things that the user chose, by kind, with the option `choices`: `{ project: ['p1'] }`. @default nothing */
  readonly choices?: Choices
}

/**
 * Creates an access token of a user for tests of the host's API. The token is real, stored like any other token, and
 * valid for five minutes. `oauth.users.revokeAll(id)` ends it, UserInfo and introspection accept it.
 *
 * @param oauth the router that `authRouter()` returned
 * @param user the id, or a row or object that contains it
 * @param scopes separated by spaces, or a list
 * @param options what else the token is about
 * @throws Error with NODE_ENV=production, for an unknown user or scope, for an organization that the user does not belong
 *   to, and for a user whom `access.allow` refuses
 * @example
 * const { headers } = await actingAs(oauth, ada, 'orders:read')
 * await request(app).get('/api/orders').set(headers).expect(200)
 */
export const actingAs = async (
  oauth: AuthRouter,
  user: ActingUser,
  scopes: Scopes = [],
  {
    client: clientId,
    organization: asked,
    resource,
    acr,
    authorizationDetails,
    choices,
  }: ActingAsOptions = {},
): Promise<ActingAs> => {
  const server = await serverOf(oauth).ready()
  const found = await activeUser(server, user)
  const { subject } = found
  const resources = resourcesOf(server, resource)
  const organization = await organizationFor(server, found, asked)
  const client =
    clientId === undefined ? await clientForTests(server) : await existingClient(server, clientId)
  const granted =
    clientId === undefined
      ? checkedScopes(scopes, knownScopes(server.options), 'that the option scopes names')
      : checkedScopes(scopes, allowedScopes(client), `of the client ${clientId}`)
  if (acr !== undefined && !server.options.acrValues.includes(acr))
    refuseMisuse(`${acr} is not in the option acrValues`)
  const types = client.metadata.authorization_details_types ?? []
  const unknown = authorizationDetails?.find(({ type }) => !types.includes(type))
  if (unknown)
    refuseMisuse(`${unknown.type} is not a type of authorization details that the client may request`)
  const kind = Object.keys(choices ?? {}).find(
    (name) => !server.options.choices.some((each) => each.kind === name),
  )
  if (kind !== undefined) refuseMisuse(`${kind} is not in the option choices`)
  const wanted = { user: found, client, scopes: granted, organization, acr, step: 'code' } as const
  const access = await allowedUser(server, undefined, wanted)
  const login = { sid: randomId(), subject, authTime: server.now(), amr: ['pwd'], acr }
  const authorization = authorizationOf(client, login, {
    scopes: granted,
    choices,
    organization,
    authorizationDetails,
    resources: scopesByResource(granted, resources, server.resources),
  })
  const accessToken = await issueAccessToken(server, {
    client,
    ...access,
    resources,
    authorization,
    binding: bearer,
  })
  await transaction(server.database, async (tx) => {
    await createLogin(tx, { ...login, expiresAt: authorization.expiresAt })
    await writeAll(tx, [createAuthorization(authorization), ...storeAccessToken(accessToken)])
  })
  return acting(accessToken.value)
}
