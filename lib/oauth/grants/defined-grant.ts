import type { GrantDecision, GrantDefinition, GrantRequest } from '../../options/grants.ts'
import { allowedScopes, type Client } from '../../protocol/clients/client.ts'
import { definedResources, definedScopes } from '../../protocol/clients/defined-grant.ts'
import { isObject } from '../../protocol/json.ts'
import { lengths } from '../../protocol/lengths.ts'
import { HostError } from '../../protocol/problem.ts'
import { refusal } from '../../protocol/refusal.ts'
import { isLoginTime, unknownTime } from '../../protocol/requests/login.ts'
import { parseResources, scopesWithin } from '../../protocol/requests/resource.ts'
import { isStandardScope, parseScope } from '../../protocol/scope.ts'
import type { TokenRequest, TokenResponse } from '../../protocol/tokens/token-request.ts'
import { countRevocations } from '../../storage/repositories/index.ts'
import { askHost } from '../../users/host-function.ts'
import type { AuthorizationServer } from '../authorization-server.ts'
import { tokensForClient, tokensForUser } from './direct.ts'
import { existingUser } from './exchange.ts'
import type { Grant } from './grant.ts'
import { requestedResources } from './target.ts'

/** Parameters that only concern Latchkey, or that the request has as lists. */
const withheld = [
  'client_secret',
  'client_assertion',
  'client_assertion_type',
  'grant_type',
  'scope',
  'resource',
]

const grantRequest = (
  server: AuthorizationServer,
  { clientId, metadata }: Client,
  { parameters, info }: TokenRequest,
): GrantRequest => {
  const names = parameters.names().filter((name) => !withheld.includes(name))
  return {
    client: { client_id: clientId, ...metadata },
    parameters: Object.fromEntries(
      names.map((name) => [name, parameters.optional(name, lengths.token) ?? '']),
    ),
    scopes: parseScope(parameters.optional('scope')),
    resources: requestedResources(server, { parameters }),
    address: info.address,
  }
}

const isListOfStrings = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string')

/** The decision that the host returned. Its mistakes are not the client's. */
const checkedDecision = (name: string, decision: unknown, now: number): GrantDecision | undefined => {
  if (decision === undefined || decision === null || decision === false) return undefined
  const isValid =
    isObject(decision) &&
    isListOfStrings(decision.scopes) &&
    isListOfStrings(decision.resources ?? []) &&
    isListOfStrings(decision.amr ?? []) &&
    ['string', 'number', 'undefined'].includes(typeof decision.subject) &&
    decision.subject !== '' &&
    ['string', 'undefined'].includes(typeof decision.organization)
  if (!isValid) throw new HostError(`the grant ${name} must return { subject, scopes, … } or undefined`)
  if (decision.authTime !== undefined && !isLoginTime(decision.authTime, now)) {
    throw new HostError(
      `the grant ${name} must return authTime in epoch seconds, not in the future, or leave it out`,
    )
  }
  return decision as unknown as GrantDecision
}

/** Without a user there is no scope of OpenID Connect. */
const allowedFor = (client: Client, { subject }: GrantDecision): readonly string[] =>
  subject === undefined
    ? allowedScopes(client).filter((scope) => !isStandardScope(scope))
    : allowedScopes(client)

/** A grant of the host: its function decides, and the rest is as with every grant. */
export const definedGrant = ({ grantType, exchange }: GrantDefinition): Grant => ({
  grantType,
  readsDetails: true,
  async exchange(server, client, request): Promise<TokenResponse> {
    const hostRequest = grantRequest(server, client, request)
    const since = await countRevocations(server.database)
    const decision = checkedDecision(
      grantType,
      await askHost(`the grant ${grantType}`, () => exchange(hostRequest)),
      server.now(),
    )
    if (decision === undefined) throw refusal('grant_invalid')
    const hostResources = server.resources
    const granted = decision.resources && parseResources(decision.resources, hostResources)
    const resources = definedResources(hostRequest.resources, granted)
    const allowed = scopesWithin(allowedFor(client, decision), resources, hostResources)
    const scopes = definedScopes(hostRequest.scopes, decision.scopes, allowed)
    const target = { grantType, scopes, resources }
    const { subject, organization, refreshToken } = decision
    if (subject === undefined) return tokensForClient(server, client, request, target)
    const login = { authTime: Math.floor(decision.authTime ?? unknownTime), amr: decision.amr ?? [] }
    const user = await existingUser(server, String(subject))
    const forUser = {
      ...target,
      step: 'grant' as const,
      user,
      login,
      organization,
      since,
      refreshes: refreshToken === true,
    }
    return tokensForUser(server, client, request, forUser)
  },
})
