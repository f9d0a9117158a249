import type { Client } from '../../protocol/clients/client.ts'
import { OAuthError } from '../../protocol/errors.ts'
import { listed, readable } from '../../protocol/explanation.ts'
import { invalidDetails } from '../../protocol/requests/authorization-details.ts'
import type { TokenRequest } from '../../protocol/tokens/token-request.ts'
import type { Database } from '../../storage/database/types.ts'
import { type ClientLookup, findClient } from '../../storage/repositories/index.ts'
import type { AuthorizationServer } from '../authorization-server.ts'
import { authorizationCode } from './authorization-code.ts'
import { clientCredentials } from './client-credentials.ts'
import { definedGrant } from './defined-grant.ts'
import type { Grant, Presented } from './grant.ts'
import { jwtBearer } from './jwt-bearer.ts'
import { refreshToken } from './refresh-token.ts'
import { tokenExchange } from './token-exchange.ts'

const all: readonly Grant[] = [authorizationCode, refreshToken, clientCredentials, jwtBearer, tokenExchange]

type Configured = Pick<AuthorizationServer, 'options' | 'features'>

/** Every grant that the host has turned on or defined; discovery publishes their names. */
export const grantsOf = ({ options, features }: Configured): Grant[] => [
  ...all.filter((grant) => grant.isOn?.(options) ?? true),
  ...features.flatMap(({ grants = [] }) => grants),
  ...options.features.grants.map(definedGrant),
]

/** @throws OAuthError `unsupported_grant_type` (RFC 6749 §5.2) */
export const grantFor = (server: AuthorizationServer, grantType: string): Grant => {
  const supported = grantsOf(server)
  const grant = supported.find((each) => each.grantType === grantType)
  if (grant) return grant
  throw new OAuthError('unsupported_grant_type', 'grant_type is not supported', {
    explanation: {
      expected: `one of: ${listed(supported.map((each) => each.grantType))}`,
      received: readable(grantType),
    },
  })
}

/** Reads the client of a token request, together with what the request presents to its grant. */
export const findTokenClient = async (
  database: Database,
  { parameters }: TokenRequest,
  lookup: ClientLookup,
): Promise<(Presented & { readonly client: Client }) | undefined> => {
  const grant = all.find(({ grantType }) => grantType === parameters.first('grant_type'))
  const presented = grant?.findPresented?.(database, parameters, lookup)
  if (presented) return presented
  const client = await findClient(database, lookup)
  return client && { client }
}

/** Whether a token request may introduce a client that describes itself elsewhere. */
export const introducesClient = (server: AuthorizationServer, { parameters }: TokenRequest): boolean =>
  grantsOf(server).some(
    (grant) => grant.introducesClient === true && grant.grantType === parameters.first('grant_type'),
  )

/** @throws OAuthError `unauthorized_client` if the client is not registered for it */
export const assertGrantAllowed = (client: Client, grant: Grant): void => {
  if (!client.metadata.grant_types.includes(grant.grantType)) {
    throw new OAuthError('unauthorized_client', 'grant_type is not registered for this client', {
      explanation: { expected: `one of: ${listed(client.metadata.grant_types)}`, received: grant.grantType },
    })
  }
}

/**
 * A client must not believe that its token is limited to details that the grant does not read.
 *
 * @throws OAuthError `invalid_authorization_details`; none without the option `authorizationDetails`
 */
export const assertDetailsAreRead = (
  { options }: Pick<AuthorizationServer, 'options'>,
  { readsDetails }: Grant,
  { parameters }: TokenRequest,
): void => {
  const isOn = Object.keys(options.features.authorizationDetails).length > 0
  if (isOn && !readsDetails && parameters.has('authorization_details')) {
    throw invalidDetails('is not supported with this grant_type')
  }
}
