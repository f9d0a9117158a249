import { readPushedRequest } from '../../oauth/authorization/incoming-request.ts'
import { consumeProof } from '../../oauth/grants/exchange.ts'
import { isPublic } from '../../protocol/clients/client.ts'
import { withProvedKey } from '../../protocol/requests/authorization-request.ts'
import { clientEndpoint } from '../../web/endpoints/client-endpoint.ts'
import type { Context } from '../../web/http/context.ts'
import type { Endpoint } from '../../web/http/endpoint.ts'
import { provedKey } from '../../web/http/own-proofs.ts'
import { sendJson } from '../../web/http/send.ts'
import type { PushedRequestOption } from './option.ts'
import { keepPushed } from './requests.ts'
import { assertPushable } from './rules.ts'

/** RFC 9126 §2: a client sends its authorization request here, and the browser only carries a reference to it. */
export const parEndpoint = (option: PushedRequestOption): Endpoint<Context> =>
  clientEndpoint({
    path: '/par',
    metadataName: 'pushed_authorization_request_endpoint',
    cors: true,
    limit: 'par',
    async answer(context, client, { parameters }) {
      const { server, res, info } = context
      assertPushable(parameters)
      const { request } = await readPushedRequest(server, parameters, client, info)
      const proved = provedKey(context, client)
      const bound = withProvedKey(request, proved?.key)
      if (isPublic(client))
        await server.throttle.takeQuota([{ name: 'pushedRequest', address: info.address }])
      await consumeProof(server, { proof: proved?.proof })
      sendJson(res, await keepPushed(server, option, client, bound), { status: 201 })
    },
  })
