import { admitAttempt, authenticate, lookupFor } from '../../oauth/client-authentication/index.ts'
import { allowedGrant, findGrant, findPresented } from '../../oauth/grants/index.ts'
import type { Client } from '../../protocol/clients/client.ts'
import { aboutClient } from '../../protocol/errors.ts'
import { type TokenRequest, tokenBinding } from '../../protocol/tokens/token-request.ts'
import type { Context } from '../http/context.ts'
import type { Endpoint } from '../http/endpoint.ts'
import { tokenRequest } from '../http/form.ts'
import { provedKey } from '../http/own-proofs.ts'
import { sendJson } from '../http/send.ts'

/** The request with the key that its tokens are bound to. */
const boundRequest = (context: Context, client: Client, request: TokenRequest): TokenRequest => {
  const proved = provedKey(context, client)
  return {
    ...request,
    binding: tokenBinding(client, request, proved?.key),
    ...(proved && { proof: proved.proof }),
  }
}

/** RFC 6749 §3.2. */
export const tokenEndpoint: Endpoint<Context> = {
  path: '/token',
  metadataName: 'token_endpoint',
  authenticatesClient: true,
  cors: true,
  limit: 'token',
  methods: {
    async POST(context) {
      const { server, endpoint, res, info } = context
      const request = tokenRequest(context)
      const named = findGrant(server, request)
      const attempt = await admitAttempt(server, request, endpoint)
      const lookup = await lookupFor(server, attempt, named?.introducesClient && { address: info.address })
      const found = lookup && (await findPresented(server.database, named, request, lookup))
      const client = await authenticate(server, attempt, found?.client)
      try {
        const grant = allowedGrant(server, client, request, named)
        const bound = boundRequest(context, client, request)
        const response = await grant.exchange(server, client, bound, found ?? {})
        sendJson(res, response, { headers: { Pragma: 'no-cache' } })
      } catch (error) {
        throw aboutClient(error, client.clientId)
      }
    },
  },
}
