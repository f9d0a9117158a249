import type { Client } from '../../protocol/clients/client.ts'
import { HostError } from '../../protocol/problem.ts'
import { type AuthorizationDetail, assertDetailTypes } from '../../protocol/requests/authorization-details.ts'
import { askHost } from '../../users/host-function.ts'
import type { AuthorizationServer } from '../authorization-server.ts'

/** Lets the host check an object, which may return another one. */
const acceptedDetail = async (
  { options }: AuthorizationServer,
  { clientId, metadata }: Client,
  detail: AuthorizationDetail,
): Promise<AuthorizationDetail> => {
  const type = options.protocol.authorizationDetails[detail.type]
  if (type?.parse === undefined) return detail
  const client = { client_id: clientId, ...metadata }
  const parsed = await askHost('protocol.authorizationDetails.parse', () => type.parse?.(detail, { client }))
  if (parsed === undefined || parsed === null) return detail
  if (parsed.type !== detail.type) {
    throw new HostError(`parse of authorizationDetails['${detail.type}'] must return an object of this type`)
  }
  return parsed
}

/**
 * The objects of a request or an assertion, as the host's types accept them (RFC 9396 §5).
 *
 * @throws OAuthError `invalid_authorization_details` for a type that is unknown or not registered for the client, or as the
 *   host refuses it
 */
export const acceptedDetails = async (
  server: AuthorizationServer,
  client: Client,
  details: readonly AuthorizationDetail[],
): Promise<readonly AuthorizationDetail[]> => {
  const types = Object.keys(server.options.protocol.authorizationDetails)
  assertDetailTypes(details, types, client.metadata.authorization_details_types)
  const accepted: AuthorizationDetail[] = []
  for (const detail of details) accepted.push(await acceptedDetail(server, client, detail))
  return accepted
}
