import type { Request, RequestHandler, Response } from 'express'
import { authorizationContext } from '../authorization/context.ts'
import { ExpiredRequestError } from '../authorization/expired-request.ts'
import { issueAuthorizationResponse } from '../authorization/issue.ts'
import { loginLocation, returnedParameter } from '../authorization/login-location.ts'
import {
  createPending,
  type OpenPendingRequest,
  openPending,
  requestParameter,
} from '../authorization/pending-request.ts'
import { sendAuthorizationResponse } from '../authorization/response.ts'
import type { AuthorizationServer } from '../authorization-server.ts'
import { formParameters, queryParameters } from '../http/form.ts'
import type { Pages } from '../http/pages.ts'
import { requestInfo } from '../http/request-info.ts'
import { sendRedirect } from '../http/send.ts'
import { ownPath } from '../http/urls.ts'
import {
  type AuthorizationRequest,
  parseAuthorizationRequest,
  parseAuthorizationTarget,
} from '../protocol/authorization-request.ts'
import { claimsRequest, parseClaims } from '../protocol/claims-request.ts'
import type { Client } from '../protocol/client.ts'
import { responseTypes } from '../protocol/client-metadata.ts'
import {
  AuthorizationResponseError,
  type AuthorizationTarget,
  asAuthorizationError,
  OAuthError,
} from '../protocol/errors.ts'
import { type AuthorizationContext, type NextStep, nextStep } from '../protocol/next-step.ts'
import type { Parameters } from '../protocol/parameters.ts'
import { frontChannelResponseTypes } from '../protocol/response-type.ts'
import { type AuthorizeLookup, consumePendingRequest, findForAuthorize } from '../repositories/index.ts'
import { rememberedSid } from '../sessions/login.ts'
import { readIdTokenHint } from '../tokens/id-token-hint.ts'
import type { User } from '../users/users.ts'

/** An authorization request with its client: just received, or come back from login or consent. */
interface Pending {
  readonly client: Client
  readonly request: AuthorizationRequest
  readonly waiting?: OpenPendingRequest
  readonly lookup?: AuthorizeLookup
}

/** RFC 6749 §4.1.1 and OIDC Core §3.1.2: decides who and whether, and issues the code. */
export const authorizeEndpoint =
  (server: AuthorizationServer, pages: Pages): RequestHandler =>
  async (req, res) => {
    const parameters = queryParameters(req)
    const pending = isResumed(parameters)
      ? await returned(server, req, parameters)
      : await received(server, req, parameters)
    const { context, user } = await authorizationContext(server, req, pending)
    const step = nextStep(context)
    switch (step.step) {
      case 'login':
      case 'select-account': {
        if (parameters.has(returnedParameter)) return fail(server, pending, loginRequired)
        const secret = await keep(server, req, res, pending, context)
        // The host's own page is told to let the user choose.
        const isOurChoice = step.step === 'select-account' && server.options.login.url === undefined
        const choice = ownPath(server, '/select-account', { [requestParameter]: secret })
        return sendRedirect(res, isOurChoice ? choice : loginLocation(server, secret, pending.request))
      }
      case 'consent':
        return sendRedirect(
          res,
          ownPath(server, '/consent', {
            [requestParameter]: await keep(server, req, res, pending, context),
          }),
        )
      case 'issue':
        return issue(server, pages, req, res, { pending, context, user, step })
      case 'error':
        return fail(server, pending, step)
    }
  }

/** A cross-site form POST carries no Lax cookie: no session is read or set, the browser comes again by GET. */
export const authorizeFormEndpoint =
  (server: AuthorizationServer): RequestHandler =>
  (req, res) => {
    const query = new URLSearchParams(formParameters(req).pairs())
    sendRedirect(res, `${ownPath(server, '/authorize')}?${query}`)
  }

const loginRequired: Extract<NextStep, { step: 'error' }> = {
  step: 'error',
  code: 'login_required',
  description: 'the user did not sign in',
}

/** Every response type that is on; discovery publishes this very list. */
export const supportedResponseTypes = ({ options }: AuthorizationServer): readonly string[] => [
  ...responseTypes,
  ...(options.features.implicit ? frontChannelResponseTypes : []),
]

/** Our own pages name a waiting request; whoever sends a client_id starts a new one. */
const isResumed = (parameters: Parameters): boolean =>
  parameters.has(requestParameter) && !parameters.has('client_id')

const received = async (
  server: AuthorizationServer,
  req: Request,
  parameters: Parameters,
): Promise<Pending> => {
  const clientId = parameters.required('client_id')
  const lookup = await findForAuthorize(server.database, {
    clientId,
    sid: rememberedSid(server, req),
    now: server.now(),
  })
  const { codeChallengeMethods } = server.options
  const types = supportedResponseTypes(server)
  const verified = parseAuthorizationTarget(parameters, lookup?.client, types)
  const { client, target } = verified
  const request = parseAuthorizationRequest(parameters, verified, codeChallengeMethods, types)
  try {
    return {
      client,
      lookup,
      request: { ...request, ...(await serverSideParameters(server, parameters, request)) },
    }
  } catch (error) {
    throw asAuthorizationError(target, error)
  }
}

/** What takes the server's keys or options to understand: single claims, whom the answer must be about, a workspace. */
const serverSideParameters = async (
  server: AuthorizationServer,
  parameters: Parameters,
  { scopes }: AuthorizationRequest,
): Promise<Pick<AuthorizationRequest, 'claims' | 'hintedSubject' | 'organization'>> => {
  const requested = parseClaims(parameters.optional('claims'))
  const hint = parameters.optional('id_token_hint')
  const hinted = hint === undefined ? undefined : await readIdTokenHint(server, hint)
  const hintedSubject = requested?.subject ?? hinted?.subject
  const organization = server.options.organizations && parameters.optional('organization')
  if (hinted && hinted.subject !== hintedSubject) {
    throw new OAuthError('login_required', 'id_token_hint and claims are about different users')
  }
  return {
    ...(requested && { claims: claimsRequest(requested, scopes, server.scopeClaims) }),
    ...(hintedSubject !== undefined && { hintedSubject }),
    ...(organization !== undefined && { organization }),
  }
}

const returned = async (
  server: AuthorizationServer,
  req: Request,
  parameters: Parameters,
): Promise<Pending> => {
  const waiting = await openPending(server, req, parameters)
  return { client: waiting.client, request: waiting.request, waiting }
}

const targetOf = ({ redirectUri, state, responseMode }: AuthorizationRequest): AuthorizationTarget => ({
  redirectUri,
  state,
  responseMode,
})

/** Answers the client with an error; the request is used up by it. */
const fail = async (
  server: AuthorizationServer,
  { request, waiting }: Pending,
  { code, description }: Extract<NextStep, { step: 'error' }>,
): Promise<never> => {
  if (waiting && !(await consumePendingRequest(server.database, { id: waiting.id, now: server.now() }))) {
    throw new ExpiredRequestError()
  }
  throw new AuthorizationResponseError(targetOf(request), code, description)
}

/** The id under which the request waits; one that has just received begins to wait now. */
const keep = async (
  server: AuthorizationServer,
  req: Request,
  res: Response,
  { request, waiting }: Pending,
  { login }: AuthorizationContext,
): Promise<string> => waiting?.secret ?? createPending(server, req, res, request, login?.sid)

interface Issue {
  readonly pending: Pending
  readonly context: AuthorizationContext
  readonly user: User | undefined
  readonly step: Extract<NextStep, { step: 'issue' }>
}

const issue = async (
  server: AuthorizationServer,
  pages: Pages,
  req: Request,
  res: Response,
  { pending: { request, waiting }, context, user, step: { login, scopes, organization } }: Issue,
): Promise<void> => {
  // There is no login without its user; this tells the compiler so.
  if (user === undefined) throw new ExpiredRequestError()
  const grant = { context, login, user, scopes, organization, pendingId: waiting?.id }
  const outcome = await issueAuthorizationResponse(server, grant)
  if (outcome === 'gone') throw new ExpiredRequestError()
  if (outcome === 'withdrawn') {
    throw new AuthorizationResponseError(
      targetOf(request),
      'access_denied',
      'the user has just removed this client',
    )
  }
  const { clientId } = context.client
  const { authorizationId, parameters } = outcome
  server.events.announce('authorization.issued', requestInfo(req), {
    authorizationId,
    clientId,
    subject: login.subject,
    scopes,
    responseType: request.responseType,
    ...(organization !== undefined && { organization }),
  })
  sendAuthorizationResponse(server, pages, res, targetOf(request), parameters)
}
