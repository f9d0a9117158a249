import { admitAttempt, authenticate, lookupFor } from '../../oauth/client-authentication/index.ts'
import type { Client } from '../../protocol/clients/client.ts'
import type { TokenRequest } from '../../protocol/tokens/token-request.ts'
import { findClient } from '../../storage/repositories/index.ts'
import type { Context } from '../http/context.ts'
import type { Endpoint } from '../http/endpoint.ts'
import { tokenRequest } from '../http/form.ts'

interface ClientEndpoint extends Pick<Endpoint<Context>, 'path' | 'metadataName' | 'cors' | 'limit'> {
  answer(context: Context, client: Client, request: TokenRequest): Promise<void>
}

/** An endpoint to which a client posts a form. It answers only a client that has authenticated. */
export const clientEndpoint = ({ answer, ...endpoint }: ClientEndpoint): Endpoint<Context> => ({
  ...endpoint,
  authenticatesClient: true,
  methods: {
    async POST(context) {
      const { server, endpoint } = context
      const request = tokenRequest(context)
      const attempt = await admitAttempt(server, request, endpoint)
      const lookup = await lookupFor(server, attempt)
      const found = lookup && (await findClient(server.database, lookup))
      const client = await authenticate(server, attempt, found)
      await answer(context, client, request)
    },
  },
})
