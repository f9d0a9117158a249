import { clientCard } from '../authorization/consent.ts'
import { continueRequest, toDecide } from '../authorization/continue.ts'
import { returnedParameter } from '../authorization/login-location.ts'
import { type PendingRequest, requestParameter, withPending } from '../authorization/pending-request.ts'
import type { PageContext } from '../http/context.ts'
import { formParameters, queryParameters } from '../http/form.ts'
import type { Endpoint } from '../http/route.ts'
import { ownPath } from '../http/urls.ts'
import { isUserMapping } from '../options/users.ts'
import type { Parameters } from '../protocol/parameters.ts'
import { assertCsrf, csrfToken, type FormPurpose } from '../sessions/csrf.ts'
import { activeLogin } from '../sessions/login.ts'
import { subjectFor } from '../tokens/subject.ts'
import { type LoginPage, logIn, showLogin } from './login-form.ts'

const purposeOf = ({ id, browser }: PendingRequest): FormPurpose => ({ action: 'login', about: id, browser })

const pageFor = ({ server, language }: PageContext, pending: PendingRequest): LoginPage => ({
  form: {
    action: ownPath(server, '/login'),
    hidden: { [requestParameter]: pending.secret, csrf_token: csrfToken(server, purposeOf(pending)) },
    client: clientCard(server, pending.client, pending.request.redirectUri, language),
  },
  returnPath: ownPath(server, '/login', { [requestParameter]: pending.secret, [returnedParameter]: '1' }),
  redirectUri: pending.request.redirectUri,
  clientId: pending.client.clientId,
  isFirstLogin: !pending.browserHasLogins,
})

/**
 * The account that must log in again, if the request asks for a renewed login and for no other account. With users
 * behind functions, the name that we show need not be the one that the user types, so the field stays open.
 */
const accountToConfirm = async (
  context: PageContext,
  { request, client, sid, known }: PendingRequest,
): Promise<string | undefined> => {
  const { server } = context
  const { users } = server.options
  if (request.prompt.includes('select_account') || (users && !isUserMapping(users))) return undefined
  const active = await activeLogin(context, { login: known?.login })
  if (active === undefined || active.login.sid !== sid) return undefined
  const { hintedSubject } = request
  const isOther =
    hintedSubject !== undefined && hintedSubject !== subjectFor(server, client, active.user.subject)
  return isOther ? undefined : active.user.username
}

/**
 * The login page. A browser that returns from a page of the host goes on from a page of Latchkey: the
 * Content-Security-Policy of a form of the host would apply to the redirect to the client.
 */
const show = async (context: PageContext, pending: PendingRequest): Promise<void> => {
  const { server, req } = context
  const isHostPage = server.options.login.url !== undefined
  if (isHostPage || queryParameters(req).has(returnedParameter)) {
    const returned: Record<string, string> = isHostPage ? { [returnedParameter]: '1' } : {}
    const url = ownPath(server, '/authorize', { [requestParameter]: pending.secret, ...returned })
    return context.send('return', { url }, { redirectUri: pending.request.redirectUri })
  }
  const account = await accountToConfirm(context, pending)
  const username = account ?? pending.request.loginHint ?? ''
  showLogin(context, pageFor(context, pending), { username, confirm: account !== undefined })
}

/** Checks the password, records the login, and continues the request. */
const submit = async (context: PageContext, pending: PendingRequest, form: Parameters): Promise<void> => {
  assertCsrf(context, form, purposeOf(pending))
  const account = await accountToConfirm(context, pending)
  const active = await logIn(context, form, { ...pageFor(context, pending), account })
  if (active) await continueRequest(context, toDecide(pending), { active })
}

export const loginEndpoint: Endpoint<PageContext> = {
  path: '/login',
  methods: {
    GET: (context) => withPending(context, queryParameters(context.req), show),
    POST: (context) => {
      const form = formParameters(context.req)
      return withPending(context, form, (about, pending) => submit(about, pending, form))
    },
  },
}
