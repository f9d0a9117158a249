import type { Request, RequestHandler, Response } from 'express'
import type { AuthorizationServer } from '../authorization-server.ts'
import { sendAuthorizationResponse } from '../http/authorization-response.ts'
import { ExpiredRequestError } from '../http/expired-request.ts'
import { formParameters, queryParameters } from '../http/form.ts'
import { rememberedSid } from '../http/login.ts'
import { loginLocation, returnedParameter } from '../http/login-location.ts'
import { ownPath } from '../http/names.ts'
import { occasionOf } from '../http/occasion.ts'
import type { Pages } from '../http/pages.ts'
import { sendRedirect } from '../http/send.ts'
import { situationOf } from '../http/situation.ts'
import { keepRequest, type OpenRequest, openRequest, requestParameter } from '../http/waiting-request.ts'
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
  OAuthError,
  towards,
} from '../protocol/errors.ts'
import { type NextStep, nextStep, type Situation } from '../protocol/next-step.ts'
import type { Parameters } from '../protocol/parameters.ts'
import { frontChannelResponseTypes } from '../protocol/response-type.ts'
import { type Arrival, consumeAuthorizationRequest, findArrival } from '../repositories/index.ts'
import { issueAuthorizationResponse } from '../tokens/authorization-response.ts'
import { readIdTokenHint } from '../tokens/id-token-hint.ts'
import { scopeClaims } from '../tokens/scope-claims.ts'
import type { User } from '../users/users.ts'

/** An authorization request with its client: just arrived, or come back from login or consent. */
interface Pending {
  readonly client: Client
  readonly request: AuthorizationRequest
  readonly waiting?: OpenRequest
  readonly arrival?: Arrival
}

/** RFC 6749 §4.1.1 and OIDC Core §3.1.2: decides who and whether, and issues the code. */
export const authorizeEndpoint =
  (server: AuthorizationServer, pages: Pages): RequestHandler =>
  async (req, res) => {
    const parameters = queryParameters(req)
    const pending = isOurs(parameters)
      ? await returned(server, req, parameters)
      : await arrived(server, req, parameters)
    const { situation, user } = await situationOf(server, req, pending)
    const step = nextStep(situation)
    switch (step.step) {
      case 'login':
      case 'select-account': {
        if (parameters.has(returnedParameter)) return fail(server, pending, loginRequired)
        const secret = await keep(server, req, res, pending, situation)
        // The host's own page is told to let the user choose.
        const isOurChoice = step.step === 'select-account' && server.options.login.url === undefined
        const choice = ownPath(server, '/select-account', { [requestParameter]: secret })
        return sendRedirect(res, isOurChoice ? choice : loginLocation(server, secret, pending.request))
      }
      case 'consent':
        return sendRedirect(
          res,
          ownPath(server, '/consent', {
            [requestParameter]: await keep(server, req, res, pending, situation),
          }),
        )
      case 'issue':
        return issue(server, pages, req, res, { pending, situation, user, step })
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
const isOurs = (parameters: Parameters): boolean =>
  parameters.has(requestParameter) && !parameters.has('client_id')

const arrived = async (
  server: AuthorizationServer,
  req: Request,
  parameters: Parameters,
): Promise<Pending> => {
  const clientId = parameters.required('client_id')
  const arrival = await findArrival(server.database, {
    clientId,
    sid: rememberedSid(server, req),
    now: server.now(),
  })
  const client = arrival?.client
  const { codeChallengeMethods } = server.options
  const types = supportedResponseTypes(server)
  const target = parseAuthorizationTarget(parameters, client, types)
  // The target is verified only with a client; this tells the compiler so.
  if (client === undefined) throw new OAuthError('unauthorized_client', 'client_id is unknown')
  const request = parseAuthorizationRequest(parameters, client, target, codeChallengeMethods, types)
  try {
    return { client, arrival, request: { ...request, ...(await particulars(server, parameters, request)) } }
  } catch (error) {
    throw towards(target, error)
  }
}

/** What takes the server's keys or options to understand: single claims, whom the answer must be about, a workspace. */
const particulars = async (
  server: AuthorizationServer,
  parameters: Parameters,
  { scopes }: AuthorizationRequest,
): Promise<Pick<AuthorizationRequest, 'claims' | 'hintedSubject' | 'tenant'>> => {
  const requested = parseClaims(parameters.optional('claims'))
  const hint = parameters.optional('id_token_hint')
  const hinted = hint === undefined ? undefined : await readIdTokenHint(server, hint)
  const hintedSubject = requested?.subject ?? hinted?.subject
  const tenant = server.options.tenants && parameters.optional('tenant')
  if (hinted && hinted.subject !== hintedSubject) {
    throw new OAuthError('login_required', 'id_token_hint and claims are about different users')
  }
  return {
    ...(requested && { claims: claimsRequest(requested, scopes, scopeClaims(server)) }),
    ...(hintedSubject !== undefined && { hintedSubject }),
    ...(tenant !== undefined && { tenant }),
  }
}

const returned = async (
  server: AuthorizationServer,
  req: Request,
  parameters: Parameters,
): Promise<Pending> => {
  const waiting = await openRequest(server, req, parameters)
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
  if (
    waiting &&
    !(await consumeAuthorizationRequest(server.database, { id: waiting.id, now: server.now() }))
  ) {
    throw new ExpiredRequestError()
  }
  throw new AuthorizationResponseError(targetOf(request), code, description)
}

/** The id under which the request waits; one that has just arrived begins to wait now. */
const keep = async (
  server: AuthorizationServer,
  req: Request,
  res: Response,
  { request, waiting }: Pending,
  { login }: Situation,
): Promise<string> => waiting?.secret ?? keepRequest(server, req, res, request, login?.sid)

interface Issue {
  readonly pending: Pending
  readonly situation: Situation
  readonly user: User | undefined
  readonly step: Extract<NextStep, { step: 'issue' }>
}

const issue = async (
  server: AuthorizationServer,
  pages: Pages,
  req: Request,
  res: Response,
  { pending: { request, waiting }, situation, user, step: { login, scopes, tenant } }: Issue,
): Promise<void> => {
  // There is no login without its user; this tells the compiler so.
  if (user === undefined) throw new ExpiredRequestError()
  const grant = { situation, login, user, scopes, tenant, requestId: waiting?.id }
  const outcome = await issueAuthorizationResponse(server, grant)
  if (outcome === 'gone') throw new ExpiredRequestError()
  if (outcome === 'withdrawn') {
    throw new AuthorizationResponseError(
      targetOf(request),
      'access_denied',
      'the user has just removed this client',
    )
  }
  const { clientId } = situation.client
  const { authorizationId, parameters } = outcome
  server.events.announce('authorization.issued', occasionOf(req), {
    authorizationId,
    clientId,
    subject: login.subject,
    scopes,
    responseType: request.responseType,
    ...(tenant !== undefined && { tenant }),
  })
  sendAuthorizationResponse(server, pages, res, targetOf(request), parameters)
}
