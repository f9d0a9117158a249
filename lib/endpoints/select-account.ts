import { clientCard } from '../authorization/consent.ts'
import { continueRequest, signInAgain, toDecide } from '../authorization/continue.ts'
import { loginLocation } from '../authorization/login-location.ts'
import { type PendingRequest, requestParameter, withPending } from '../authorization/pending-request.ts'
import type { PageContext } from '../http/context.ts'
import { formParameters, queryParameters } from '../http/form.ts'
import type { Endpoint } from '../http/route.ts'
import { redirectToPage } from '../http/send.ts'
import { ownPath } from '../http/urls.ts'
import { OAuthError } from '../protocol/errors.ts'
import type { Parameters } from '../protocol/parameters.ts'
import { formToken, submittedForm } from '../sessions/csrf.ts'
import { type ActiveLogin, activeLogin } from '../sessions/login.ts'

/** The hidden field with the login that the page named: "Continue" means its account. A sid is not secret. */
const shownLogin = 'login'

const showPage = (context: PageContext, pending: PendingRequest, active: ActiveLogin | undefined): void => {
  const { server, language } = context
  const { client, request, secret } = pending
  if (active === undefined) {
    signInAgain(context, pending)
    return
  }
  const model = {
    action: ownPath(server, '/select-account'),
    hidden: {
      [requestParameter]: secret,
      [shownLogin]: active.login.sid,
      csrf_token: formToken(context, [pending.id]),
    },
    client: clientCard(server, client, request.redirectUri, language),
    username: active.user.username,
  }
  context.send('select-account', model, { redirectUri: request.redirectUri })
}

/** Asks which account to use (`prompt=select_account`, OIDC Core §3.1.2.1). */
const show = async (context: PageContext, pending: PendingRequest): Promise<void> => {
  showPage(context, pending, await activeLogin(context, pending))
}

/** Applies the choice to this request only. "Another account" ends no login before the other user has logged in. */
const submit = async (context: PageContext, pending: PendingRequest, form: Parameters): Promise<void> => {
  const { server, res } = context
  submittedForm(context, [pending.id])
  const choice = form.required('decision')
  if (choice === 'another') return redirectToPage(res, loginLocation(server, pending.secret, pending.request))
  if (choice !== 'continue') throw new OAuthError('invalid_request', 'decision must be continue or another')
  const active = await activeLogin(context, pending)
  // Another user has since logged in, in another tab. The request must not continue with an account that the page did not show.
  if (active?.login.sid !== form.optional(shownLogin)) {
    return redirectToPage(res, ownPath(server, '/select-account', { [requestParameter]: pending.secret }))
  }
  await continueRequest(context, toDecide(pending), { active, selectedSid: active?.login.sid })
}

export const selectAccountEndpoint: Endpoint<PageContext> = {
  path: '/select-account',
  methods: {
    GET: (context) => withPending(context, queryParameters(context.req), show),
    POST: (context) => {
      const form = formParameters(context.req)
      return withPending(context, form, (about, pending) => submit(about, pending, form))
    },
  },
}
