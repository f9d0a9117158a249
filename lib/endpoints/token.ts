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
  find: () => Promise<unknown>,
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
    await find(),
  )
}

/** Seconds for which a read counts that came before the client was authenticated. */
const maxAge = 1

/**
 * Starts to read what the request presents, so that it is read together with the client. If authentication takes long,
 * because another server has the keys of the client, it is read again.
 *
 * @returns a function that returns what was read, and throws its error
 */
const startFinding = ({ server }: Context, request: TokenRequest): (() => Promise<unknown>) => {
  const startedAt = server.now()
  const found = presentedTo(server, request)
  found.catch(() => {})
  return () => (server.now() - startedAt <= maxAge ? found : presentedTo(server, request))
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
      const find = startFinding(context, request)
      const client = await authenticateClient(server, request, endpoint)
      try {
        sendJson(res, await exchange(context, client, request, find), { headers: { Pragma: 'no-cache' } })
      } catch (error) {
        throw aboutClient(error, client.clientId)
      }
    },
  },
}
