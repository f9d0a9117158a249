import type { RequestHandler } from 'express'
import type { AuthorizationServer } from '../authorization-server.ts'
import { authenticateClient } from '../client-auth/index.ts'
import { assertGrantAllowed, grantFor } from '../grants/index.ts'
import { sendJson } from '../http/send.ts'
import { tokenRequest } from '../http/token-request.ts'

/** RFC 6749 §3.2. */
export const tokenEndpoint =
  (server: AuthorizationServer): RequestHandler =>
  async (req, res) => {
    const request = tokenRequest(req)
    const client = await authenticateClient(server, request, 'token')
    const grant = grantFor(request.parameters.required('grant_type'))
    assertGrantAllowed(client, grant)
    sendJson(res, await grant.exchange(server, client, request), { headers: { Pragma: 'no-cache' } })
  }
