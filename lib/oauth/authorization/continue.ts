import { isStranger } from '../../protocol/clients/client.ts'
import { AuthorizationResponseError, type AuthorizationTarget, OAuthError } from '../../protocol/errors.ts'
import { type AuthorizationRequest, responseTarget } from '../../protocol/requests/authorization-request.ts'
import { EndedRequestError } from '../../protocol/requests/ended-request.ts'
import type { Login } from '../../protocol/requests/login.ts'
import {
  lacksLevel,
  type NextStep,
  nextStep,
  raisedRequest,
  unmetLevel,
  withSettledLevel,
} from '../../protocol/requests/next-step.ts'
import type { OrganizationLack } from '../../protocol/requests/organization.ts'
import {
  consumePendingRequest,
  decidePendingRequest,
  raisePendingRequest,
  selectLogin,
} from '../../storage/repositories/index.ts'
import type { User } from '../../users/users.ts'
import type { PageContext } from '../../web/http/context.ts'
import { redirectToPage } from '../../web/http/redirect.ts'
import { ownPath } from '../../web/http/urls.ts'
import { boundBrowser } from '../../web/sessions/browser-binding.ts'
import { leaveNotice } from '../../web/sessions/notice.ts'
import type { AuthorizationServer } from '../authorization-server.ts'
import { type AccessDecision, announceDenied, decideAccess } from '../tokens/allowed.ts'
import { endSurplus } from '../tokens/surplus.ts'
import { type AskedInBrowser, askedBefore, askedOf } from './access.ts'
import {
  authorizationContext,
  type Changes,
  type OpenedRequest,
  type PendingRequestKind,
  type RequestToDecide,
} from './context.ts'
import { issueAuthorizationResponse } from './issue.ts'
import { loginLocation } from './login-location.ts'
import { keepPending, type PendingRequest, requestParameter } from './pending-request.ts'
import { sendAuthorizationResponse } from './response.ts'

/** @throws OAuthError if the request has no redirect URI, and so was not made here */
const targetOf = ({ request, client }: Pick<RequestToDecide, 'request' | 'client'>): AuthorizationTarget => {
  const target = responseTarget(request, client)
  if (target === undefined) throw new OAuthError('invalid_request', 'redirect_uri is missing')
  return target
}

/** A request at the authorization endpoint (RFC 6749 §4.1, OIDC Core §3.1): its answer goes to the redirect URI. */
const authorizeKind: PendingRequestKind = {
  name: 'authorize',
  path: '/authorize',

  async grant(context, { client, request, pending }, { authorization, step, user }) {
    const { server, info } = context
    const { login, scopes, organization } = step
    const issued = await issueAuthorizationResponse(server, {
      ...step,
      context: authorization,
      user,
      pendingId: pending?.id,
    })
    if (issued === 'signed-out' || issued === 'withdrawn') return issued
    server.events.announce('authorization.issued', info, {
      authorizationId: issued.authorizationId,
      clientId: request.clientId,
      subject: login.subject,
      scopes,
      responseType: request.responseType,
      ...(organization !== undefined && { organization }),
    })
    await sendAuthorizationResponse(context, targetOf({ request, client }), issued.parameters)
    const offline = scopes.includes('offline_access')
    const { subject } = login
    if (server.isSurplusCheckDue()) endSurplus(server, { subject, clientId: request.clientId, offline }, info)
    return 'answered'
  },

  async refuse({ server }: PageContext, { client, request, pending }, { code, description }) {
    const now = server.now()
    if (pending && (await consumePendingRequest({ id: pending.id, now }).run(server.database)) === 0) {
      throw new EndedRequestError('finished', client)
    }
    // A request that has just arrived was refused before the user could do anything.
    const byLink = pending === undefined && isStranger(client) && !request.prompt.includes('none')
    const target = { ...targetOf({ request, client }), ...(byLink && { byLink }) }
    throw new AuthorizationResponseError(target, code, description, { clientId: request.clientId })
  },
}

/** Every kind of request that a user can be asked about. */
const kindsOf = ({ features }: AuthorizationServer): readonly PendingRequestKind[] => [
  authorizeKind,
  ...features.flatMap(({ requestKinds = [] }) => requestKinds),
]

/** A pending request, to be decided. */
export const toDecide = (pending: PendingRequest): RequestToDecide => ({
  client: pending.client,
  request: pending.request,
  known: pending.known,
  pending,
})

type Refusal = Extract<NextStep, { step: 'error' }>

const loginRequired: Refusal = {
  step: 'error',
  code: 'login_required',
  description: 'the user did not sign in',
}

const withdrawn: Refusal = {
  step: 'error',
  code: 'access_denied',
  description: 'the user has just removed this client',
}

const loginNotRenewed: Refusal = {
  step: 'error',
  code: 'login_required',
  description: 'the user is signed in, but no new login was reported',
}

const notAllowed: Refusal = {
  step: 'error',
  code: 'access_denied',
  description: 'the user may not use this client',
}

/** The error if the browser comes back from the host's login page without what the request needs. */
const unanswered = (
  server: AuthorizationServer,
  request: AuthorizationRequest,
  login: Login | undefined,
): Refusal => {
  if (login === undefined) return loginRequired
  if (lacksLevel(request, login)) return unmetLevel
  if (!server.options.production)
    server.warnOnce(
      'login.url sent the browser back with an earlier login, although the client asked for a new one; if prompt contains login, the page must ask for the password again and login.current must report the new authTime',
    )
  return loginNotRenewed
}

/** Stores what a form has changed, when a further page has to be shown. */
const storeChanges = async (
  { server: { database } }: PageContext,
  { pending }: RequestToDecide,
  { decision, selectedSid }: Changes,
): Promise<void> => {
  if (pending && decision) await decidePendingRequest(database, { id: pending.id, decision })
  if (pending && selectedSid !== undefined) await selectLogin(database, { id: pending.id, sid: selectedSid })
}

/** The secret id of the request; one that has just arrived is stored now. */
const keep = async (
  context: PageContext,
  { kind, request, pending }: RequestToDecide & { kind: string },
  sid: string | undefined,
): Promise<string> => pending?.secret ?? keepPending(context, kind, request, sid)

type Denied = Exclude<AccessDecision, { outcome: 'allowed' }>

/**
 * Answers a request that the host does not allow: asks for a login of another level, or shows the page that says why. The
 * request waits meanwhile. A client that wants no page gets the error.
 */
const answerDenied = async (
  context: PageContext,
  kind: PendingRequestKind,
  { asked, changes }: OpenedRequest,
  { asking, denied, showDenied }: { asking: AskedInBrowser; denied: Denied } & ContinueOptions,
): Promise<void> => {
  const { server, info } = context
  const { request, pending } = asked
  const silent = request.prompt.includes('none')
  const { user, login } = asking
  const { sid } = login
  const levels = denied.outcome === 'step-up' ? denied.acrValues : []
  const raised = raisedRequest(request, levels, server.options.acrValues)
  if (raised) {
    if (silent) return kind.refuse(context, asked, loginRequired)
    if (pending) await raisePendingRequest(server.database, { id: pending.id, request: raised, sid })
    const secret = await keep(context, { ...asked, request: raised, kind: kind.name }, sid)
    return redirectToPage(context, loginLocation(server, secret, raised))
  }
  if (denied.outcome === 'denied' && showDenied) return showDenied({ user, reason: denied.reason })
  announceDenied(server, info, asking, denied)
  if (denied.outcome === 'step-up') return kind.refuse(context, asked, unmetLevel)
  if (silent) return kind.refuse(context, asked, notAllowed)
  await storeChanges(context, asked, changes)
  const secret = await keep(context, { ...asked, kind: kind.name }, sid)
  redirectToPage(context, ownPath(server, deniedPath, { [requestParameter]: secret }))
}

/** Redirects to the sign-in page, which says that the login has ended. */
export const signInAgain = (context: PageContext, { id, secret, request }: PendingRequest): void => {
  leaveNotice(context, id, { kind: 'signed-out' })
  redirectToPage(context, loginLocation(context.server, secret, request))
}

/** The page where the user chooses an organization. */
export const organizationPath = '/organization'

/** The page that says why the user cannot go on with a request. */
export const deniedPath = '/access-denied'

/** Why a user cannot go on with a request, until the host says otherwise. */
export interface Denial {
  readonly user: User
  /** What the host says. */
  readonly reason?: string | undefined
  /** There is no organization for the request. */
  readonly lack?: OrganizationLack
}

export interface ContinueOptions {
  /** The kind of a request that has just arrived. @default 'authorize' */
  readonly kind?: string
  /** Whether the browser comes back from the host's own login page. @default false */
  readonly returned?: boolean
  /**
   * Shows the sign-in form, unless the request goes on with the login that there is. The page of the form passes it.
   *
   * @param mayContinue whether that login is enough for the request
   * @returns whether the form has been shown
   */
  readonly showLogin?: (mayContinue: boolean) => boolean
  /** Shows why the user cannot go on. The page that says it passes it. */
  readonly showDenied?: (denial: Denial) => void
}

/** @throws EndedRequestError for a kind that this version does not know: a newer process stored it */
const kindNamed = (server: AuthorizationServer, name: string): PendingRequestKind => {
  const kind = kindsOf(server).find((each) => each.name === name)
  if (kind === undefined) throw new EndedRequestError('unknown')
  return kind
}

/** Ends a pending request with which the user cannot go on: the client gets the error. */
export const refusePending = async (context: PageContext, pending: PendingRequest): Promise<void> => {
  const asked = toDecide(pending)
  const step = nextStep(await authorizationContext(context, asked, {}))
  const refusal =
    step.step === 'no-organization' ? { ...notAllowed, description: step.description } : notAllowed
  return kindNamed(context.server, pending.kind).refuse(context, asked, refusal)
}

/**
 * Takes the next step of a request and answers: with the login page, the choice of an account, the consent page, or
 * what was granted. Every endpoint that changes something about a request ends here.
 *
 * @param changes what the current form has just changed
 */
export const continueRequest = async (
  context: PageContext,
  incoming: RequestToDecide,
  changes: Changes = {},
  options: ContinueOptions = {},
): Promise<void> => {
  const { server } = context
  const { returned = false, showLogin } = options
  const asked = { ...incoming, request: withSettledLevel(incoming.request, returned) }
  const name = asked.pending?.kind ?? options.kind ?? 'authorize'
  const kind = kindNamed(server, name)
  const authorization = await authorizationContext(context, asked, changes)
  const next = nextStep(authorization)
  if (showLogin?.(['confirm', 'organization', 'consent', 'issue'].includes(next.step))) return
  const { login } = authorization
  const step = returned && next.step === 'login' ? unanswered(server, asked.request, login) : next
  const asking = askedBefore(context, kind, asked, authorization, step)
  const access = asking && (await decideAccess(server, asking))
  if (asking && access !== undefined && access.outcome !== 'allowed')
    return answerDenied(context, kind, { asked, changes }, { ...options, asking, denied: access })
  if (step.step === 'issue' && access?.outcome === 'allowed') {
    const outcome = await kind.grant(context, asked, { authorization, step, user: access.user })
    if (outcome === 'answered') return
    if (outcome === 'withdrawn') return kind.refuse(context, asked, withdrawn)
    if (asked.pending) return signInAgain(context, asked.pending)
    return continueRequest(context, { ...asked, known: undefined }, {}, options)
  }
  if (step.step === 'error') {
    if (asked.request.acrIsRaised && step.code === unmetLevel.code && login)
      announceDenied(server, context.info, askedOf(context, kind, asked, login), {
        outcome: 'step-up',
        acrValues: asked.request.acrValues ?? [],
      })
    return kind.refuse(context, asked, step)
  }

  if (step.step === 'no-organization' && options.showDenied)
    return options.showDenied({ user: step.login.user, lack: step.lack })
  await storeChanges(context, asked, changes)
  const secret = await keep(context, { ...asked, kind: name }, authorization.login?.sid)
  const named = { [requestParameter]: secret }
  if (step.step === 'no-organization') return redirectToPage(context, ownPath(server, deniedPath, named))
  if (step.step === 'consent') return redirectToPage(context, ownPath(server, '/consent', named))
  if (step.step === 'organization') return redirectToPage(context, ownPath(server, organizationPath, named))
  if (step.step === 'confirm') return redirectToPage(context, ownPath(server, kind.path, named))
  // Also with a login page of the host: it would send a user who is signed in straight back, or away.
  if (step.step === 'select-account')
    return redirectToPage(context, ownPath(server, '/select-account', named))
  const isFirstVisit = boundBrowser(context) === undefined
  redirectToPage(context, loginLocation(server, secret, asked.request, { isFirstVisit }))
}
