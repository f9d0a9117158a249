import { authenticateClient } from '../client-auth/index.ts'
import { assertDetailsAreRead, assertGrantAllowed, grantFor } from '../grants/index.ts'
import type { Context } from '../http/context.ts'
import { requestedBinding } from '../http/dpop.ts'
import { tokenRequest } from '../http/form.ts'
import type { Endpoint } from '../http/route.ts'
import { sendJson } from '../http/send.ts'
import { tokenBinding } from '../protocol/token-request.ts'

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
      const client = await authenticateClient(server, request, endpoint)
      const grant = grantFor(server, request.parameters.required('grant_type'))
      assertGrantAllowed(client, grant)
      assertDetailsAreRead(server, grant, request)
      const proved = { ...request, binding: await requestedBinding(context, client) }
      const bound = { ...proved, binding: tokenBinding(client, proved) }
      sendJson(res, await grant.exchange(server, client, bound), { headers: { Pragma: 'no-cache' } })
    },
  },
}
