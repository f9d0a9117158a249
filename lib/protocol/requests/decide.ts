import type { AuthorizationRequest } from './authorization-request.ts'
import type { Login } from './login.ts'
import {
  type AuthorizationContext,
  failure,
  lacksLevel,
  type NextStep,
  nextStep,
  raisedRequest,
  unmetLevel,
} from './next-step.ts'

/** Everything that a request is decided by, before the host is asked. */
export interface RequestFacts<UserLogin extends Login = Login> extends AuthorizationContext<UserLogin> {
  /** Whether the browser comes back from the login page of the host. */
  readonly returned: boolean
}

type Named<L extends Login, Name extends NextStep['step']> = Extract<NextStep<L>, { readonly step: Name }>

/** The host is asked whether the user may have the next step. */
export interface HostQuestion<UserLogin extends Login = Login> {
  readonly step: 'ask-host'
  readonly organization: string | undefined
  /** The step of a user who may. */
  readonly ifAllowed: Named<UserLogin, 'consent'> | Named<UserLogin, 'issue'>
}

/** The answer of the host. */
export type HostAnswer<AllowedUser> =
  | {
      readonly outcome: 'allowed'
      readonly user: AllowedUser
      /** The scopes among those asked about that the user may have. */
      readonly scopes: readonly string[]
    }
  | HostRefusal

export type HostRefusal =
  | { readonly outcome: 'denied'; readonly reason: string | undefined; readonly page?: string }
  /** The login has none of these levels. */
  | { readonly outcome: 'step-up'; readonly acrValues: readonly string[] }

/** The client gets an error. */
export type Refusal = Named<Login, 'error'> & {
  /** Present if the host refused the user, and the user has not read it on a page. */
  readonly hostRefusal?: HostRefusal
}

/** A user whom the host allows it gets what was asked for. */
export type IssueStep<UserLogin extends Login, AllowedUser> = Named<UserLogin, 'issue'> & {
  readonly user: AllowedUser
}

/** A step for which nothing more has to be known. */
export type WaitingStep<UserLogin extends Login = Login> =
  | Exclude<NextStep<UserLogin>, { readonly step: 'issue' | 'error' }>
  /** The user learns that it is not allowed, on a page of a feature if it names one. */
  | {
      readonly step: 'denied'
      readonly login: UserLogin
      readonly reason: string | undefined
      readonly page?: string
    }
  /** The user signs in again, at a level that the host asks for. */
  | { readonly step: 'step-up'; readonly login: UserLogin; readonly request: AuthorizationRequest }
  /** The login ended a moment ago. */
  | { readonly step: 'signed-out' }

/** The step of a request after which it waits for the user, or is answered. */
export type DecidedStep<UserLogin extends Login, AllowedUser> =
  | WaitingStep<UserLogin>
  | IssueStep<UserLogin, AllowedUser>
  | Refusal

/** The reason why nothing could be issued: the login has ended, or the consent was removed. */
export type Obstacle = 'signed-out' | 'withdrawn'

/**
 * Decides a request as far as it can be decided without the host: the host is asked before something is issued, and before
 * the consent page, so that no user consents in vain. If the user has to choose an organization, it is asked afterwards.
 *
 * @example decide({ request, client, login: undefined, returned: false, … }) // { step: 'login' }
 */
export const decide = <UserLogin extends Login>(
  facts: RequestFacts<UserLogin>,
): WaitingStep<UserLogin> | HostQuestion<UserLogin> | Refusal => {
  const { request, login, organization: choice, returned } = facts
  const first = nextStep(facts)
  const next = first.step === 'login' && returned ? unanswered(request, login) : first
  const { organization } = choice?.outcome === 'settled' ? choice : {}
  if (next.step === 'issue' || (next.step === 'consent' && choice?.outcome !== 'open'))
    return { step: 'ask-host', organization, ifAllowed: next }
  if (next !== unmetLevel || !request.acrIsRaised) return next
  return { ...unmetLevel, hostRefusal: { outcome: 'step-up', acrValues: request.acrValues ?? [] } }
}

/**
 * Decides a request with the answer of the host.
 *
 * @param supported the option `acrValues`
 * @example decideWith({ request }, question, { outcome: 'allowed', user, scopes }, []) // { step: 'issue', user, … }
 */
export const decideWith = <UserLogin extends Login, AllowedUser>(
  { request }: Pick<RequestFacts<UserLogin>, 'request'>,
  { ifAllowed }: HostQuestion<UserLogin>,
  answer: HostAnswer<AllowedUser>,
  supported: readonly string[],
): DecidedStep<UserLogin, AllowedUser> => {
  const silent = request.prompt.includes('none')
  const { login } = ifAllowed
  if (answer.outcome === 'allowed') {
    const { user, scopes } = answer
    return ifAllowed.step === 'issue' ? { ...ifAllowed, user, scopes } : ifAllowed
  }
  if (answer.outcome === 'denied') {
    const { reason, page } = answer
    if (silent) return { ...notAllowed, hostRefusal: answer }
    return { step: 'denied', login, reason, ...(page !== undefined && { page }) }
  }
  const raised = raisedRequest(request, answer.acrValues, supported)
  if (raised === undefined) return { ...unmetLevel, hostRefusal: answer }
  return silent ? loginRequired : { step: 'step-up', login, request: raised }
}

/** Decides a request for which nothing could be issued. */
export const decideUnissued = (
  { request }: Pick<RequestFacts, 'request'>,
  obstacle: Obstacle,
): Refusal | { readonly step: 'signed-out' } => {
  if (obstacle === 'withdrawn') return withdrawn
  return request.prompt.includes('none') ? loginRequired : { step: 'signed-out' }
}

/** Whether the user need not sign in: the request can go on with the login that there is. */
export const mayGoOn = ({ step }: ReturnType<typeof decide>): boolean =>
  ['confirm', 'organization', 'consent', 'ask-host'].includes(step)

/** The error if the browser comes back from the login page of the host without what the request needs. */
const unanswered = (request: AuthorizationRequest, login: Login | undefined): Refusal => {
  if (login === undefined) return loginRequired
  return lacksLevel(request, login) ? unmetLevel : loginNotRenewed
}

const loginRequired = failure('login_not_made')

/** The host reported an earlier login, although the request needs a new one. */
export const loginNotRenewed = failure('login_not_renewed')

const withdrawn = failure('user_removed_client')

/** The host does not let this user use the client. */
export const notAllowed = failure('user_not_allowed')
