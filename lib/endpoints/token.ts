import { authenticateClient } from '../client-auth/index.ts'
import { assertDetailsAreRead, assertGrantAllowed, grantFor, presentedTo } from '../grants/index.ts'
import type { Context } from '../http/context.ts'
import { provedKey } from '../http/dpop.ts'
import { tokenRequest } from '../http/form.ts'
import type { Endpoint } from '../http/route.ts'
import { sendJson } from '../http/send.ts'
import type { Client } from '../protocol/client.ts'
import { aboutClient } from '../protocol/errors.ts'
import { tokenBinding } from '../protocol/token-binding.ts'
import type { TokenRequest, TokenResponse } from '../protocol/token-request.ts'

const exchange = async (
  context: Context,
  client: Client,
  request: TokenRequest,
  found: Promise<unknown> | undefined,
): Promise<TokenResponse> => {
  const { server } = context
  const grant = grantFor(server, request.parameters.required('grant_type'))
  assertGrantAllowed(client, grant)
  assertDetailsAreRead(server, grant, request)
  const key = server.options.features.dpop && (await provedKey(context, client))
  return grant.exchange(
    server,
    client,
    { ...request, binding: tokenBinding(client, request, key) },
    await (found ?? presentedTo(server, request)),
  )
}

/**
 * Reads what the request presents while its client is read. An error is thrown where the result is awaited. To verify an
 * assertion may take as long as another server needs to answer; then what was read before would be too old.
 */
const findPresented = ({ server }: Context, request: TokenRequest): Promise<unknown> | undefined => {
  if (request.parameters.has('client_assertion')) return undefined
  const found = presentedTo(server, request)
  found.catch(() => {})
  return found
}

/** RFC 6749 §3.2. */
export const tokenEndpoint: Endpoint<Context> = {
  path: '/token',
  metadataName: 'token_endpoint',
  authenticatesClient: true,
  cors: true,
  limit: { failures: 30, seconds: 60 },
  methods: {
    async POST(context) {
      const { server, endpoint, res } = context
      const request = tokenRequest(context)
      const found = findPresented(context, request)
      const client = await authenticateClient(server, request, endpoint)
      try {
        sendJson(res, await exchange(context, client, request, found), { headers: { Pragma: 'no-cache' } })
      } catch (error) {
        throw aboutClient(error, client.clientId)
      }
    },
  },
}
