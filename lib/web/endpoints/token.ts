import { authenticateClientWith } from '../../oauth/client-authentication/index.ts'
import type { Presented } from '../../oauth/grants/grant.ts'
import {
  assertDetailsAreRead,
  assertGrantAllowed,
  findTokenClient,
  grantFor,
  introducesClient,
} from '../../oauth/grants/index.ts'
import type { Client } from '../../protocol/clients/client.ts'
import { aboutClient } from '../../protocol/errors.ts'
import { tokenBinding } from '../../protocol/tokens/token-binding.ts'
import type { TokenRequest, TokenResponse } from '../../protocol/tokens/token-request.ts'
import type { ClientLookup } from '../../storage/repositories/index.ts'
import type { Context } from '../http/context.ts'
import { tokenRequest } from '../http/form.ts'
import { provedKey } from '../http/own-proofs.ts'
import type { Endpoint } from '../http/route.ts'
import { sendJson } from '../http/send.ts'

const exchange = async (
  context: Context,
  request: TokenRequest,
  { client, ...presented }: Presented & { readonly client: Client },
): Promise<TokenResponse> => {
  const { server } = context
  const grant = grantFor(server, request.parameters.required('grant_type'))
  assertGrantAllowed(client, grant)
  assertDetailsAreRead(server, grant, request)
  const proved = provedKey(context, client)
  const bound = {
    ...request,
    binding: tokenBinding(client, request, proved?.key),
    ...(proved && { proof: proved.proof }),
  }
  return grant.exchange(server, client, bound, presented)
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
      const { server, endpoint, res } = context
      const request = tokenRequest(context)
      const from = introducesClient(server, request) ? { address: request.info.address } : {}
      const find = (lookup: ClientLookup) => findTokenClient(server.database, request, lookup)
      const found = await authenticateClientWith(server, request, endpoint, find, from)
      try {
        sendJson(res, await exchange(context, request, found), { headers: { Pragma: 'no-cache' } })
      } catch (error) {
        throw aboutClient(error, found.client.clientId)
      }
    },
  },
}
