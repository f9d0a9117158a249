import { totpDigits } from '../../keys/totp.ts'
import { loginLocation, replacesParameter } from '../../oauth/authorization/login-location.ts'
import { requestParameter } from '../../oauth/authorization/pending-request.ts'
import type { PendingRequest } from '../../oauth/authorization/request-kind.ts'
import { OAuthError } from '../../protocol/errors.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import type { User } from '../../users/users.ts'
import { accountSignIn, namedAccountPage } from '../../web/endpoints/account/account-login.ts'
import { type PendingOutcome, withPending } from '../../web/endpoints/pending-page.ts'
import type { Outcome, PageContext } from '../../web/http/context.ts'
import type { Endpoint } from '../../web/http/endpoint.ts'
import { reportServerError } from '../../web/http/errors.ts'
import { formParameters, queryParameters } from '../../web/http/form.ts'
import { ownPath } from '../../web/http/urls.ts'
import { formToken, submittedForm } from '../../web/sessions/csrf.ts'
import { type ActiveLogin, activeLogin } from '../../web/sessions/login.ts'
import { completeLogin } from '../../web/sessions/login-attempt.ts'
import { clearNotice, leaveNotice, type Notice, readNotice } from '../../web/sessions/notice.ts'
import { findSecondFactor, typedCode } from './find.ts'
import type { SecondFactor, SecondFactorOption } from './option.ts'
import { attemptCode, codeNotices, codePath, openPendingLogin, sendCode } from './pending-login.ts'
import type { PendingLogin } from './pending-logins-table.ts'

/** The hidden field with the password attempt that the form belongs to. It is not secret. */
const attemptField = 'attempt'
/** Set on the page and the form for recovery codes. */
const recoveryParameter = 'recovery'

/** The page or request for which the user signs in. */
interface Place<Finish extends PendingOutcome = PendingOutcome> {
  /** As in `LoginPage`. */
  readonly topic: string
  /** Names it in URLs and forms. */
  readonly parameters: Readonly<Record<string, string>>
  /** The login page; it goes on if the user is signed in. */
  readonly loginUrl: string
  /** Shows the form of the login page, also to a user who is signed in. */
  readonly formUrl: string
  readonly acrValues: readonly string[]
  readonly redirectUri?: string
  readonly clientId?: string
  /** Goes on with the login. */
  readonly finish: (active: ActiveLogin) => Finish
}

const placeOfRequest = async (context: PageContext, pending: PendingRequest): Promise<Place> => {
  const { server } = context
  const { id, secret, request, client } = pending
  const active = await activeLogin(context, pending)
  return {
    topic: id,
    parameters: { [requestParameter]: secret },
    loginUrl: loginLocation(server, secret, request),
    formUrl: loginLocation(server, secret, request, { replaces: active?.login.sid }),
    acrValues: request.acrValues ?? [],
    redirectUri: request.redirectUri,
    clientId: client.clientId,
    finish: (login) => ({ changes: { active: login } }),
  }
}

const placeOfAccount = async (
  context: PageContext,
  { path, query }: ReturnType<typeof namedAccountPage>,
): Promise<Place<Outcome>> => {
  const { server } = context
  const active = await activeLogin(context)
  const loginUrl = ownPath(server, path, query)
  return {
    ...accountSignIn(server, path, query),
    loginUrl,
    formUrl: ownPath(server, path, { ...query, ...(active && { [replacesParameter]: active.login.sid }) }),
    finish: () => ({ redirectToPage: loginUrl }),
  }
}

/** A sign-in that waits for its code, with its user and the second factor as they are now. */
interface Waiting {
  readonly pending: PendingLogin
  readonly user: User
  readonly factor: SecondFactor
}

/** Undefined if this browser has no such sign-in, or if its user is disabled or no longer has a second factor. */
const openWaiting = async (
  context: PageContext,
  option: SecondFactorOption,
  place: Place,
): Promise<Waiting | undefined> => {
  const pending = await openPendingLogin(context, place.topic)
  const user = pending && (await context.server.users.find(pending.subject))
  const factor = user && (await findSecondFactor(context, option, user, place.acrValues))
  return pending && user && factor && { pending, user, factor }
}

type Handler = <Finish extends PendingOutcome>(
  context: PageContext,
  option: SecondFactorOption,
  place: Place<Finish>,
  parameters: Parameters,
) => Promise<Outcome | Finish>

const statuses = { wrong: 400, 'not-sent': 429, unavailable: 503 }

const errorOf = (notice: Notice | undefined): keyof typeof statuses | undefined => {
  const kind = notice?.kind
  return kind === 'wrong' || kind === 'not-sent' || kind === 'unavailable' ? kind : undefined
}

const pageUrl = ({ server }: PageContext, { parameters }: Place, isRecovery: boolean): string =>
  ownPath(server, codePath, { ...parameters, ...(isRecovery && { [recoveryParameter]: '1' }) })

/** The form for the code. Without a sign-in that waits for one, the login page. */
const show: Handler = async (context, option, place, query) => {
  const { server } = context
  const waiting = await openWaiting(context, option, place)
  if (waiting === undefined) return { redirectToPage: place.loginUrl }
  const { pending, user, factor } = waiting
  const { topic, parameters, redirectUri } = place
  const isRecovery = factor.recoveryCodes === true && query.has(recoveryParameter)
  const notice = readNotice(context, codeNotices(topic, isRecovery))
  const error = errorOf(notice)
  const model = {
    action: ownPath(server, codePath),
    hidden: {
      ...parameters,
      ...(isRecovery && { [recoveryParameter]: '1' }),
      [attemptField]: pending.attempt,
      csrf_token: formToken(context, [topic]),
    },
    username: user.username,
    isSent: factor.send !== undefined,
    sentTo: factor.send && factor.to,
    digits: option.apps && !isRecovery ? totpDigits : undefined,
    isRecovery,
    error,
    isLastTry: notice?.isLastTry,
    errorId: notice?.errorId,
    notice: notice?.kind === 'sent' ? ('sent' as const) : undefined,
    otherCodeUrl: factor.recoveryCodes ? pageUrl(context, place, !isRecovery) : undefined,
    switchUrl: place.formUrl,
  }
  return context.page('second-factor', model, {
    redirectUri,
    status: error === undefined ? 200 : statuses[error],
    headers: error === 'unavailable' ? { 'Retry-After': '1' } : {},
  })
}

/** Leads to a page that says what has happened. */
const say = (context: PageContext, topic: string, notice: Notice, url: string): Outcome => {
  leaveNotice(context, topic, notice)
  return { redirectToPage: url }
}

/** Runs what needs the database or the host. If one of them is unavailable, the answer leads to the page with that error. */
const orUnavailable = async <T>(
  context: PageContext,
  { topic, url }: { topic: string; url: string },
  work: () => Promise<T>,
): Promise<T | Outcome> => {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof OAuthError) || error.status !== 503) throw error
    reportServerError(context, error)
    return say(context, topic, { kind: 'unavailable', errorId: context.info.requestId }, url)
  }
}

/** Starts again with the password. */
const startAgain = (
  context: PageContext,
  { topic, formUrl }: Place,
  { username }: PendingLogin,
  retryAfter: number | undefined,
): Outcome => {
  const why: Notice =
    retryAfter === undefined
      ? { kind: 'start-again' }
      : { kind: 'throttled', retryAt: context.server.now() + retryAfter }
  return say(context, topic, { ...why, username }, formUrl)
}

/** Checks the code and records the login. @returns the answer if the user is not signed in yet */
const enter = async (
  context: PageContext,
  place: Place,
  { pending, user, factor }: Waiting,
  form: Parameters,
  codePage: { topic: string; url: string },
): Promise<ActiveLogin | Outcome> => {
  const { clientId } = place
  const wrong = (isLastTry = false): Outcome =>
    say(context, codePage.topic, { kind: 'wrong', isLastTry }, codePage.url)
  const code = typedCode(form)
  if (code === undefined) return wrong()
  const attempt = { user, factor, code, clientId }
  const result = await orUnavailable(context, codePage, () => attemptCode(context, pending, attempt))
  if (!('outcome' in result)) return result
  if (result.outcome === 'wrong') return wrong(result.isLastTry)
  if (result.outcome === 'ended') return startAgain(context, place, pending, result.retryAfter)
  const { username, since } = pending
  const proof = { amr: factor.amr ?? ['pwd', 'otp', 'mfa'], acr: factor.acr }
  // The code has been used: the user can only start again.
  return orUnavailable(context, { topic: place.topic, url: place.formUrl }, async () => {
    const active = await completeLogin(context, { username, clientId, user, proof, since })
    return active ?? startAgain(context, place, pending, undefined)
  })
}

const submit: Handler = async (context, option, place, form) => {
  const isRecovery = form.has(recoveryParameter)
  const url = pageUrl(context, place, isRecovery)
  const codePage = { topic: codeNotices(place.topic, isRecovery), url }
  const waiting = await openWaiting(context, option, place)
  // It has ended.
  if (waiting === undefined) return say(context, place.topic, { kind: 'start-again' }, place.loginUrl)
  const { pending, factor } = waiting
  // This tab shows the form of an earlier password.
  if (pending.attempt !== form.optional(attemptField)) return { redirectToPage: url }
  if (form.has('send')) {
    return orUnavailable(context, codePage, async () => {
      const isSent = await sendCode(context, pending, factor)
      return say(context, codePage.topic, { kind: isSent ? 'sent' : 'not-sent' }, url)
    })
  }
  const entered = await enter(context, place, waiting, form, codePage)
  if (!('login' in entered)) return entered
  clearNotice(context)
  return place.finish(entered)
}

const at = async (
  context: PageContext,
  option: SecondFactorOption,
  parameters: Parameters,
  handle: Handler,
): Promise<void> => {
  if (parameters.has(requestParameter)) {
    return withPending(context, parameters, async (inner, pending) =>
      handle(inner, option, await placeOfRequest(inner, pending), parameters),
    )
  }
  const page = namedAccountPage(context.server, parameters)
  // Who is signed in is looked up after this: that can give the browser a new cookie.
  if (context.req.method === 'POST')
    submittedForm(context, [accountSignIn(context.server, page.path, page.query).topic])
  const place = await placeOfAccount(context, page)
  context.deliver(context, await handle(context, option, place, parameters))
}

/** Asks for the code of a second factor between the password and the login. */
export const codePage = (option: SecondFactorOption): Endpoint<PageContext> => ({
  path: codePath,
  isInteraction: true,
  methods: {
    GET: (context) => at(context, option, queryParameters(context.req), show),
    POST: (context) => at(context, option, formParameters(context.req), submit),
  },
})
