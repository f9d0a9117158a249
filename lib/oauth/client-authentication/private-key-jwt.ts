import { openClientAssertion } from '../../keys/client-assertion.ts'
import { hashSecret } from '../../keys/secrets.ts'
import { openWithKeys } from '../../outbound/client-jwks.ts'
import { reachOf } from '../../outbound/reach.ts'
import { type Client, describedAt } from '../../protocol/clients/client.ts'
import {
  algorithmsOf,
  assertClientAssertion,
  claimedClientId,
  clientAssertionType,
} from '../../protocol/clients/client-assertion.ts'
import { profileAlgorithms } from '../../protocol/clients/security-profile.ts'
import { refusal } from '../../protocol/refusal.ts'
import type { RequestInfo } from '../../protocol/requests/request-info.ts'
import { createReplay } from '../../storage/repositories/index.ts'
import type { AuthorizationServer, EndpointDescription } from '../authorization-server.ts'
import type { ClientAuthMethod } from './client-auth-method.ts'

/**
 * The URLs that may stand for the issuer as the audience. A client with a metadata document writes its assertions for every
 * server alike, and ChatGPT names the endpoint that it calls (RFC 7523 §3). Such a client can use no other endpoint with it.
 */
const audiencesBeside = (
  { endpoints, issuer }: AuthorizationServer,
  client: Client,
  called: EndpointDescription,
): string[] => {
  const { require_issuer_audience: issuerOnly } = client.metadata
  const all = issuerOnly === false ? endpoints.filter(({ authenticatesClient }) => authenticatesClient) : []
  const accepted = issuerOnly === undefined && describedAt(client) !== undefined ? [called] : all
  return accepted.map(({ path }) => `${issuer}${path}`)
}

const verifyAssertion = async (
  server: AuthorizationServer,
  client: Client,
  jwt: string,
  { address }: RequestInfo,
  called: EndpointDescription,
): Promise<boolean> => {
  const { jwks, jwks_uri: jwksUri, token_endpoint_auth_signing_alg: algorithm } = client.metadata
  const claims = await openWithKeys(reachOf(server, client, address).jwks, { jwks, jwksUri }, (keys) =>
    openClientAssertion(keys, jwt, profileAlgorithms(client.metadata, algorithmsOf(algorithm))),
  )
  if (claims === undefined) return false
  const { id, expiresAt } = assertClientAssertion(claims, {
    clientId: client.clientId,
    issuer: server.issuer,
    endpoints: audiencesBeside(server, client, called),
    issuerOnly: client.metadata.require_issuer_audience,
    now: server.now(),
  })
  // Last, so that only a valid assertion is consumed (RFC 7523 §3, `jti`).
  const hash = hashSecret(JSON.stringify(['client_assertion', client.clientId, id]))
  if (await createReplay(server.database, { hash, expiresAt })) return true
  throw refusal('client_assertion_used')
}

/**
 * RFC 7523 §2.2, OIDC Core §9: a JWT that the client signed with its private key. `client_secret_jwt` is not supported:
 * verifying an HMAC needs the secret itself, and the server stores only its hash.
 */
export const privateKeyJwt: ClientAuthMethod = {
  name: 'private_key_jwt',
  isUsed: ({ parameters }) => parameters.has('client_assertion') || parameters.has('client_assertion_type'),
  credentials: ({ parameters, info }) => {
    const type = parameters.required('client_assertion_type')
    const jwt = parameters.required('client_assertion')
    const clientId = type === clientAssertionType ? claimedClientId(jwt) : undefined
    const bodyId = parameters.optional('client_id')
    // RFC 7521 §4.2: client_id is optional, and must name the same client.
    if (clientId !== undefined && bodyId !== undefined && bodyId !== clientId) {
      throw refusal('parameter_invalid', {
        values: { parameter: 'client_id', problem: 'differs from the one in client_assertion' },
      })
    }
    return {
      clientId,
      verify: (client, server, called) => verifyAssertion(server, client, jwt, info, called),
    }
  },
}
