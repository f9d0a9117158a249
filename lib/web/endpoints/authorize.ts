import { explainingClient, isAboutClient } from '../../oauth/authorization/client-error.ts'
import { toDecide } from '../../oauth/authorization/context.ts'
import { continueRequest } from '../../oauth/authorization/continue.ts'
import { readIncomingRequest } from '../../oauth/authorization/incoming-request.ts'
import { returnedParameter } from '../../oauth/authorization/login-location.ts'
import { inItsLanguage, openPending, requestParameter } from '../../oauth/authorization/pending-request.ts'
import { type OpenedRequest, requestOpeners } from '../../oauth/authorization/request-kind.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import type { PageContext } from '../http/context.ts'
import type { Endpoint } from '../http/endpoint.ts'
import { formParameters, queryParameters } from '../http/form.ts'
import { repeatedForm, repeatForm, takesClientForms } from '../sessions/repeated-form.ts'

/** The request that the parameters name, or that they are. */
const openRequest = async (context: PageContext, parameters: Parameters): Promise<OpenedRequest> => {
  const { server, session, info } = context
  for (const open of server.added(requestOpeners)) {
    const opened = await open(context, parameters)
    if (opened) return opened
  }
  // Our own pages name a pending request; a request with a client_id is a new one.
  if (parameters.has(requestParameter) && !parameters.has('client_id')) {
    const pending = await openPending(context, parameters)
    return { request: toDecide(pending), changes: { returned: parameters.has(returnedParameter) } }
  }
  const incoming = await readIncomingRequest(server, parameters, { sessionHash: session.secretHash(), info })
  server.observe?.({ kind: 'request', info, clientId: incoming.client.clientId })
  return { request: { ...incoming, kind: 'authorize' }, changes: {} }
}

const authorize = (context: PageContext, parameters = queryParameters(context.req)): Promise<void> =>
  explainingClient(context, async () => {
    const { request, changes } = await openRequest(context, parameters)
    await inItsLanguage(context, request.request, (inner) => continueRequest(inner, request, changes))
  })

/** Where the answer to a valid request goes. An error about its client is shown later, to the person who is signed in. */
const redirectUriOf = async (
  { server, info }: PageContext,
  form: Parameters,
): Promise<string | undefined> => {
  try {
    return (await readIncomingRequest(server, form, { sessionHash: undefined, info })).request.redirectUri
  } catch (error) {
    if (isAboutClient(error)) return undefined
    throw error
  }
}

/** The form of a client's page is validated, and neither reads nor starts a session before our own page sends it again. */
const authorizeByPost = async (context: PageContext): Promise<void> => {
  const form = formParameters(context.req)
  const repeated = repeatedForm(context, form)
  if (repeated) return authorize(context, repeated)
  repeatForm(context, form, form.has('request_uri') ? undefined : await redirectUriOf(context, form))
}

/** RFC 6749 §3.1, OIDC Core §3.1.2. */
export const authorizeEndpoint: Endpoint<PageContext> = {
  path: '/authorize',
  metadataName: 'authorization_endpoint',
  methods: { GET: (context) => authorize(context), POST: authorizeByPost },
  ...takesClientForms,
}
