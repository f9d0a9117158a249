import { authenticateClient } from '../../oauth/client-authentication/index.ts'
import type { Client } from '../../protocol/clients/client.ts'
import type { TokenRequest } from '../../protocol/tokens/token-request.ts'
import type { Context } from '../http/context.ts'
import { tokenRequest } from '../http/form.ts'
import type { Endpoint } from '../http/route.ts'

interface ClientEndpoint extends Pick<Endpoint<Context>, 'path' | 'metadataName' | 'cors' | 'limit'> {
  answer(context: Context, client: Client, request: TokenRequest): Promise<void>
}

/** An endpoint to which a client posts a form. It answers only a client that has authenticated. */
export const clientEndpoint = ({ answer, ...endpoint }: ClientEndpoint): Endpoint<Context> => ({
  ...endpoint,
  authenticatesClient: true,
  methods: {
    async POST(context) {
      const request = tokenRequest(context)
      await answer(context, await authenticateClient(context.server, request, context.endpoint), request)
    },
  },
})
