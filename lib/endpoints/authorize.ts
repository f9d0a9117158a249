import { explainingClient } from '../authorization/client-error.ts'
import { continueRequest, toDecide } from '../authorization/continue.ts'
import { readIncomingRequest } from '../authorization/incoming-request.ts'
import { returnedParameter } from '../authorization/login-location.ts'
import { inItsLanguage, requestParameter, withPending } from '../authorization/pending-request.ts'
import type { PageContext } from '../http/context.ts'
import { formParameters, queryParameters } from '../http/form.ts'
import { redirectToPage } from '../http/redirect.ts'
import type { Endpoint } from '../http/route.ts'
import { ownPath } from '../http/urls.ts'
import type { Parameters } from '../protocol/parameters.ts'

/** Our own pages name a pending request; a request with a client_id is a new one. */
const isResumed = (parameters: Parameters): boolean =>
  parameters.has(requestParameter) && !parameters.has('client_id')

const open = async (context: PageContext): Promise<void> => {
  const { server, req, session, info } = context
  const parameters = queryParameters(req)
  for (const { openRequest } of server.features) {
    const opened = await openRequest?.(context, parameters)
    if (opened === undefined) continue
    const { asked, changes } = opened
    return inItsLanguage(context, asked.request, (about) => continueRequest(about, asked, changes))
  }
  if (!isResumed(parameters)) {
    const sessionHash = session.secretHash()
    const incoming = await readIncomingRequest(server, parameters, { sessionHash, info })
    server.observe?.({ kind: 'request', info, clientId: incoming.client.clientId })
    return continueRequest(context, incoming)
  }
  const returned = parameters.has(returnedParameter)
  await withPending(context, parameters, (about, pending) =>
    continueRequest(about, toDecide(pending), {}, { returned }),
  )
}

const authorize = (context: PageContext): Promise<void> => explainingClient(context, () => open(context))

/** A form of another site carries no Lax cookie. It neither reads nor starts a session: the browser comes again by GET. */
const authorizeByPost = (context: PageContext): void => {
  const { server, req } = context
  const query = new URLSearchParams(formParameters(req).pairs())
  redirectToPage(context, `${ownPath(server, '/authorize')}?${query}`)
}

/** RFC 6749 §3.1, OIDC Core §3.1.2. */
export const authorizeEndpoint: Endpoint<PageContext> = {
  path: '/authorize',
  metadataName: 'authorization_endpoint',
  methods: { GET: authorize, POST: authorizeByPost },
  usesSession: ({ method }) => method !== 'POST',
}
