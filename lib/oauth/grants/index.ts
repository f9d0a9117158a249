import type { Client } from '../../protocol/clients/client.ts'
import type { GrantType } from '../../protocol/clients/client-metadata.ts'
import { listed, readable } from '../../protocol/explanation.ts'
import { refusal } from '../../protocol/refusal.ts'
import { invalidDetails } from '../../protocol/requests/authorization-details.ts'
import type { TokenRequest } from '../../protocol/tokens/token-request.ts'
import type { Database } from '../../storage/database/types.ts'
import { type ClientLookup, findClient } from '../../storage/repositories/index.ts'
import type { AuthorizationServer } from '../authorization-server.ts'
import { authorizationCode } from './authorization-code.ts'
import { clientCredentials } from './client-credentials.ts'
import { definedGrant } from './defined-grant.ts'
import { featureGrants, type Grant, type Presented } from './grant.ts'
import { refreshToken } from './refresh-token.ts'
import { tokenExchangeGrant } from './token-exchange.ts'

const all: readonly Grant[] = [authorizationCode, refreshToken, clientCredentials, tokenExchangeGrant]

type Configured = Pick<AuthorizationServer, 'options' | 'added'>

/** Every grant that the host has turned on or defined; discovery publishes their names. */
export const grantsOf = ({ options, added }: Configured): Grant[] => [
  ...all.filter((grant) => grant.isOn?.(options) ?? true),
  ...added(featureGrants),
  ...options.protocol.grants.map(definedGrant),
]

/** The grant that a token request names; undefined if the server has none of this name. */
export const findGrant = (server: Configured, { parameters }: TokenRequest): Grant | undefined =>
  grantsOf(server).find(({ grantType }) => grantType === parameters.first('grant_type'))

/** Reads the client of a token request, together with what the request presents to its grant, in one statement. */
export const findPresented = async (
  database: Database,
  grant: Grant | undefined,
  { parameters }: TokenRequest,
  lookup: ClientLookup,
): Promise<(Presented & { readonly client: Client }) | undefined> => {
  const presented = grant?.findPresented?.(database, parameters, lookup)
  if (presented) return presented
  const client = await findClient(database, lookup)
  return client && { client }
}

/**
 * The grant of a token request, for a client that has authenticated.
 *
 * @param found from {@link findGrant}
 * @throws OAuthError `invalid_request` if the request names none · `unsupported_grant_type` (RFC 6749 §5.2) ·
 *   `unauthorized_client` if the client is not registered for it · `invalid_authorization_details` for details that it does
 *   not read
 */
export const allowedGrant = (
  server: Configured,
  client: Client,
  request: TokenRequest,
  found: Grant | undefined,
): Grant => {
  const grantType = request.parameters.required('grant_type')
  if (found === undefined) {
    const supported = grantsOf(server).map((each) => each.grantType)
    throw refusal('grant_type_unsupported', {
      explanation: { expected: `one of: ${listed(supported)}`, received: readable(grantType) },
    })
  }
  assertGrantAllowed(client, found.grantType)
  assertDetailsAreRead(server, found, request)
  return found
}

/** @throws OAuthError `unauthorized_client` if the client is not registered for it */
export const assertGrantAllowed = ({ metadata }: Client, grantType: GrantType): void => {
  if (!metadata.grant_types.includes(grantType)) {
    throw refusal('grant_type_unregistered', {
      explanation: { expected: `one of: ${listed(metadata.grant_types)}`, received: grantType },
    })
  }
}

/**
 * A client must not believe that its token is limited to details that the grant does not read.
 *
 * @throws OAuthError `invalid_authorization_details`; none without the option `authorizationDetails`
 */
const assertDetailsAreRead = (
  { options }: Configured,
  { readsDetails }: Grant,
  { parameters }: TokenRequest,
): void => {
  const isOn = Object.keys(options.protocol.authorizationDetails).length > 0
  if (isOn && !readsDetails && parameters.has('authorization_details')) {
    throw invalidDetails('is not supported with this grant_type')
  }
}
