import type { AuthorizationServer } from '../authorization-server.ts'
import {
  type AuthorizationDetail,
  assertDetailTypes,
  parseAuthorizationDetails,
} from '../protocol/authorization-details.ts'
import type { AuthorizationRequest } from '../protocol/authorization-request.ts'
import type { Client } from '../protocol/client.ts'
import type { Parameters } from '../protocol/parameters.ts'
import { callHost } from '../users/host-function.ts'

/** Lets the host check an object, which may return another one. */
const checkedDetail = async (
  { options: { authorizationDetails: types } }: AuthorizationServer,
  { clientId, metadata }: Client,
  detail: AuthorizationDetail,
): Promise<AuthorizationDetail> => {
  const type = types[detail.type]
  if (type?.parse === undefined) return detail
  const client = { client_id: clientId, ...metadata }
  const parsed = await callHost('authorizationDetails.parse', () => type.parse?.(detail, { client }))
  if (parsed === undefined || parsed === null) return detail
  if (parsed.type !== detail.type) {
    throw new Error(
      `latchkey: parse of authorizationDetails['${detail.type}'] must return an object of this type`,
    )
  }
  return parsed
}

/**
 * The parameter `authorization_details` of an authorization request (RFC 9396 §3), as the host's types accept it. Without
 * types it is ignored.
 *
 * @throws OAuthError `invalid_authorization_details`
 */
export const requestedDetails = async (
  server: AuthorizationServer,
  parameters: Parameters,
  client: Client,
): Promise<Pick<AuthorizationRequest, 'authorizationDetails' | 'alwaysAsks'>> => {
  const types = server.options.authorizationDetails
  const known = Object.keys(types)
  const json = known.length > 0 ? parameters.optional('authorization_details') : undefined
  if (json === undefined) return {}
  const requested = parseAuthorizationDetails(json)
  assertDetailTypes(requested, known, client.metadata.authorization_details_types)
  const details: AuthorizationDetail[] = []
  for (const detail of requested) details.push(await checkedDetail(server, client, detail))
  const alwaysAsks = details.some(({ type }) => types[type]?.remember !== true)
  return { authorizationDetails: details, ...(alwaysAsks && { alwaysAsks }) }
}
