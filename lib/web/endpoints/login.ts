import { clientCard } from '../../oauth/authorization/consent.ts'
import { toDecide } from '../../oauth/authorization/context.ts'
import { answer, decideRequest, examineRequest } from '../../oauth/authorization/continue.ts'
import {
  loginLocation,
  replacesParameter,
  returnedParameter,
} from '../../oauth/authorization/login-location.ts'
import { requestParameter } from '../../oauth/authorization/pending-request.ts'
import type { PendingRequest } from '../../oauth/authorization/request-kind.ts'
import { subjectFor } from '../../oauth/tokens/user-claims.ts'
import { mayGoOn } from '../../protocol/requests/decide.ts'
import type { PageContext } from '../http/context.ts'
import { ownPath } from '../http/urls.ts'
import { type ActiveLogin, activeLogin } from '../sessions/login.ts'
import { hasTypedNames, type LoginPage, logIn, loginPage, methodPrompts } from './login-form.ts'
import { type PendingHandler, pendingForm, pendingPage } from './pending-page.ts'

/**
 * The account that must log in again, if the request asks for a renewed login and for no other account.
 */
const accountToConfirm = (
  { server }: PageContext,
  { request, client, sid }: PendingRequest,
  active: ActiveLogin | undefined,
): ActiveLogin['user'] | undefined => {
  if (request.prompt.includes('select_account') || !hasTypedNames(server)) return undefined
  if (active === undefined || active.login.sid !== sid) return undefined
  const { hintedSubject } = request
  const isOther =
    hintedSubject !== undefined && hintedSubject !== subjectFor(server, client, active.user.subject)
  return isOther ? undefined : active.user
}

/**
 * The form for this request.
 *
 * @param replaced the login that the user wants to replace, as the URL or the form names it
 */
const pageFor = (
  context: PageContext,
  pending: PendingRequest,
  active: ActiveLogin | undefined,
  replaced: string | undefined,
): LoginPage => {
  const { server, language } = context
  const { id, client, request, secret } = pending
  const isReplacing = replaced !== undefined && replaced === active?.login.sid
  const account = isReplacing ? undefined : accountToConfirm(context, pending, active)
  const loginUrl = (replaces?: string): string => loginLocation(server, secret, request, { replaces })
  return {
    form: () => ({
      ...pendingForm(context, pending, isReplacing ? { [replacesParameter]: replaced } : {}),
      client: clientCard(server, client, request.redirectUri, language),
      ...(account !== undefined && { switchUrl: loginUrl(active?.login.sid) }),
    }),
    topic: id,
    browser: pending.browser,
    returnPath: ownPath(server, '/login', { [requestParameter]: secret, [returnedParameter]: '1' }),
    // After a failure a user who is signed in must read why, and not go on with a login that they did not ask for.
    url: loginUrl(account === undefined ? active?.login.sid : undefined),
    parameters: { [requestParameter]: secret },
    acrValues: request.acrValues,
    redirectUri: request.redirectUri,
    clientId: client.clientId,
    account,
  }
}

/**
 * The login page. A user who is signed in and need not sign in again goes on, unless they want to replace their login:
 * then the form is shown with a link that keeps it.
 * A browser that returns from a page of the host goes on from a page of Latchkey: the Content-Security-Policy of a form
 * of the host would apply to the redirect to the client.
 */
const show: PendingHandler = async (context, pending, query) => {
  const { server } = context
  const isHostPage = server.options.login.url !== undefined
  if (isHostPage || query.has(returnedParameter)) {
    const returned: Record<string, string> = isHostPage ? { [returnedParameter]: '1' } : {}
    const url = ownPath(server, '/authorize', { [requestParameter]: pending.secret, ...returned })
    return context.page('return', { url }, { redirectUri: pending.request.redirectUri })
  }
  const active = await activeLogin(context, pending)
  const replaced = query.optional(replacesParameter)
  const page = pageFor(context, pending, active, replaced)
  const methods = await methodPrompts(context, page)
  const examined = active && (await examineRequest(context, toDecide(pending), { active }))
  const isEnough = examined !== undefined && mayGoOn(examined.step)
  if (isEnough && active?.login.sid !== replaced)
    return answer(context, await decideRequest(context, examined))
  const url = loginLocation(server, pending.secret, pending.request)
  const signedIn = isEnough && active ? { username: active.user.username, url } : undefined
  const form = () => ({ ...page.form(), methods, signedIn })
  return loginPage(context, { ...page, form }, pending.request.loginHint)
}

/** Checks the password, records the login, and continues the request; or goes on to a further step. */
const submit: PendingHandler = async (context, pending, form) => {
  const before = await activeLogin(context, pending)
  const page = pageFor(context, pending, before, form.optional(replacesParameter))
  const result = await logIn(context, form, page, pending.since)
  return 'login' in result ? { changes: { active: result } } : result
}

export const loginEndpoint = pendingPage('/login', show, submit)
