import {
  type DecidedStep,
  decide,
  decideUnissued,
  decideWith,
  type HostQuestion,
  type HostRefusal,
  loginNotRenewed,
  notAllowed,
  type Refusal,
  type RequestFacts,
  type WaitingStep,
} from '../../protocol/requests/decide.ts'
import { EndedRequestError } from '../../protocol/requests/ended-request.ts'
import { reasonOfLack, withSettledLevel } from '../../protocol/requests/next-step.ts'
import { decidePendingRequest, raisePendingRequest, selectLogin } from '../../storage/repositories/index.ts'
import type { Outcome, PageContext } from '../../web/http/context.ts'
import { ownPath } from '../../web/http/urls.ts'
import { boundBrowser } from '../../web/sessions/browser-binding.ts'
import { leaveNotice } from '../../web/sessions/notice.ts'
import type { AuthorizationServer } from '../authorization-server.ts'
import { type AllowedUser, type AskedAccess, announceDenied, decideAccess } from '../tokens/allowed.ts'
import { authorizeKind } from './authorize-kind.ts'
import { readFacts, scopeOptions, toDecide } from './context.ts'
import { loginLocation } from './login-location.ts'
import { keepPending, requestParameter } from './pending-request.ts'
import {
  type Changes,
  featureRequestKinds,
  type PendingRequest,
  type PendingRequestKind,
  type RequestToDecide,
  type UserLogin,
} from './request-kind.ts'

/** The page where the user chooses an organization. */
export const organizationPath = '/organization'

/** The page that says why the user cannot go on with a request. */
export const deniedPath = '/access-denied'

/**
 * Takes the next step of a request: the login page, the choice of an account, the consent page, or what was granted. Every
 * page that changes something about a request ends here.
 *
 * @param changes what the form has just changed
 */
export const continueRequest = async (
  context: PageContext,
  request: RequestToDecide,
  changes: Changes,
): Promise<Outcome> => {
  const examined = await examineRequest(context, request, changes)
  const decided = await decideRequest(context, examined)
  return answer(context, decided)
}

/** A request with everything that is known of it, and the step that follows from this. */
export interface ExaminedRequest {
  readonly incoming: RequestToDecide
  readonly changes: Changes
  readonly kind: PendingRequestKind
  readonly facts: RequestFacts<UserLogin>
  readonly step: ReturnType<typeof decide<UserLogin>>
}

/** A request with the step that follows from everything that is known and from the answer of the host. */
export interface DecidedRequest extends Omit<ExaminedRequest, 'step'> {
  /** The question to the host, if it was asked. */
  readonly question?: AskedAccess
  readonly step: DecidedStep<UserLogin, AllowedUser>
}

/**
 * The kind of a request that a user can be asked about.
 *
 * @throws EndedRequestError for a kind that this version does not know: a newer process stored it
 */
const kindNamed = ({ added }: AuthorizationServer, name: string): PendingRequestKind => {
  const kind = [authorizeKind, ...added(featureRequestKinds)].find((each) => each.name === name)
  if (kind === undefined) throw new EndedRequestError('unknown')
  return kind
}

/** Reads what a request depends on, and decides it as far as it can be decided without the host. */
export const examineRequest = async (
  context: PageContext,
  request: RequestToDecide,
  changes: Changes,
): Promise<ExaminedRequest> => {
  const kind = kindNamed(context.server, request.kind)
  const incoming = {
    ...request,
    request: withSettledLevel(request.request, changes.returned === true),
    knownLogin: changes.signedOut ? undefined : request.knownLogin,
  }
  const facts = await readFacts(context, incoming, changes)
  return { incoming, changes, kind, facts, step: decide(facts) }
}

/** The question to the host about a login: before the user has consented, for the scopes that they cannot untick. */
const accessQuestion = (
  { server, req }: PageContext,
  { incoming: { client, request }, kind }: Pick<ExaminedRequest, 'incoming' | 'kind'>,
  { user, acr }: UserLogin,
  { organization, ifAllowed }: Partial<HostQuestion> = {},
): AskedAccess => {
  const certain = request.scopes.filter((scope) => scopeOptions(server, scope)?.optional !== true)
  const scopes = ifAllowed?.step === 'issue' ? ifAllowed.scopes : certain
  return { user, client, scopes, organization, acr, step: kind.name, req }
}

/** Asks the host about the user, if the step depends on it. */
export const decideRequest = async (
  context: PageContext,
  examined: ExaminedRequest,
): Promise<DecidedRequest> => {
  const { step, ...request } = examined
  if (step.step !== 'ask-host') return { ...request, step }
  const { server } = context
  const question = accessQuestion(context, request, step.ifAllowed.login, step)
  const answer = await decideAccess(server, question)
  return { ...request, question, step: decideWith(request.facts, step, answer, server.options.acrValues) }
}

/** Answers a request as it was decided. */
export const answer = async (context: PageContext, decided: DecidedRequest): Promise<Outcome> => {
  const { incoming, kind, facts, step } = decided
  if (step.step === 'error') return refuse(context, decided, step)
  if (step.step !== 'issue') return leadOn(context, decided, step)
  const issued = await kind.grant(context, incoming, facts, step)
  if (typeof issued !== 'string') return issued
  const unissued = decideUnissued(facts, issued)
  return unissued.step === 'error'
    ? refuse(context, decided, unissued)
    : leadOn(context, { ...decided, changes: {}, facts: { ...facts, login: undefined } }, unissued)
}

/** Ends a request with an error. */
const refuse = (context: PageContext, decided: DecidedRequest, refusal: Refusal): Promise<Outcome> => {
  const { server } = context
  if (refusal === loginNotRenewed && !server.options.production)
    server.warnOnce(
      'login.url sent the browser back with an earlier login, although the client asked for a new one; if prompt contains login, the page must ask for the password again and login.current must report the new authTime',
    )
  announceRefusal(context, decided, refusal.hostRefusal)
  return decided.kind.refuse(context, decided.incoming, refusal)
}

/** Announces that the host refused the user. */
const announceRefusal = (context: PageContext, decided: DecidedRequest, refusal?: HostRefusal): void => {
  const { login } = decided.facts
  if (refusal === undefined || login === undefined) return
  const { question = accessQuestion(context, decided, login) } = decided
  announceDenied(context.server, context.info, question, refusal)
}

/** Leads to the page that the request needs next. It waits meanwhile; one that has just arrived is stored now. */
const leadOn = async (
  context: PageContext,
  decided: DecidedRequest,
  step: WaitingStep<UserLogin>,
): Promise<Outcome> => {
  const { server } = context
  const { incoming, kind, facts, changes } = decided
  const { pending } = incoming
  const sid = facts.login?.sid
  if (step.step === 'denied') announceRefusal(context, decided, { outcome: 'denied', reason: step.reason })
  if (step.step === 'signed-out' && pending) return signInAgain(context, pending)
  const request = step.step === 'step-up' ? step.request : incoming.request
  if (step.step !== 'step-up') await storeChanges(context, incoming, changes)
  else if (pending)
    await raisePendingRequest(server.database, { id: pending.id, request, sid: step.login.sid })
  const secret = pending?.secret ?? (await keepPending(context, kind.name, request, sid))
  const ofFeature = step.step === 'denied' ? step.page : undefined
  const path = step.step === 'confirm' ? kind.path : (ofFeature ?? pagePaths[step.step])
  if (path !== undefined) return { redirectToPage: ownPath(server, path, { [requestParameter]: secret }) }
  const isFirstVisit = boundBrowser(context) === undefined
  return { redirectToPage: loginLocation(server, secret, request, { isFirstVisit }) }
}

/** The paths of our own pages for steps. At all other steps the user signs in, here or on a page of the host. */
const pagePaths: Readonly<Partial<Record<WaitingStep['step'], string>>> = {
  // Also with a login page of the host: it would send a user who is signed in straight back, or away.
  'select-account': '/select-account',
  organization: organizationPath,
  consent: '/consent',
  'no-organization': deniedPath,
  denied: deniedPath,
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

/** Leads to the sign-in page, which says that the login has ended. */
export const signInAgain = (context: PageContext, { id, secret, request }: PendingRequest): Outcome => {
  leaveNotice(context, id, { kind: 'signed-out' })
  return { redirectToPage: loginLocation(context.server, secret, request) }
}

/** Ends a pending request with which the user cannot go on: the client gets the error. */
export const refusePending = async (context: PageContext, pending: PendingRequest): Promise<Outcome> => {
  const { kind, incoming, step } = await examineRequest(context, toDecide(pending), {})
  const refusal =
    step.step === 'no-organization' ? { ...notAllowed, reason: reasonOfLack[step.lack] } : notAllowed
  return kind.refuse(context, incoming, refusal)
}
