import { explainingClient, isAboutClient } from '../../oauth/authorization/client-error.ts'
import { continueRequest, toDecide } from '../../oauth/authorization/continue.ts'
import { readIncomingRequest } from '../../oauth/authorization/incoming-request.ts'
import { returnedParameter } from '../../oauth/authorization/login-location.ts'
import { inItsLanguage, requestParameter, withPending } from '../../oauth/authorization/pending-request.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import type { PageContext } from '../http/context.ts'
import { formParameters, queryParameters } from '../http/form.ts'
import type { Endpoint } from '../http/route.ts'
import { repeatedForm, repeatForm, takesClientForms } from '../sessions/repeated-form.ts'

/** Our own pages name a pending request; a request with a client_id is a new one. */
const isResumed = (parameters: Parameters): boolean =>
  parameters.has(requestParameter) && !parameters.has('client_id')

const open = async (context: PageContext, parameters: Parameters): Promise<void> => {
  const { server, session, info } = context
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

const authorize = (context: PageContext, parameters = queryParameters(context.req)): Promise<void> =>
  explainingClient(context, () => open(context, parameters))

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
