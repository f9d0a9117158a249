import { clientCard } from '../../oauth/authorization/consent.ts'
import { toDecide } from '../../oauth/authorization/context.ts'
import {
  answer,
  decideRequest,
  deniedPath,
  examineRequest,
  refusePending,
  signInAgain,
} from '../../oauth/authorization/continue.ts'
import { formTarget, loginLocation } from '../../oauth/authorization/login-location.ts'
import { requestParameter } from '../../oauth/authorization/pending-request.ts'
import { hostLink } from '../../protocol/links.ts'
import { refusal } from '../../protocol/refusal.ts'
import { ownPath } from '../http/urls.ts'
import { activeLogin } from '../sessions/login.ts'
import { switchUser } from './consent/consent.ts'
import { type PendingHandler, pendingForm, pendingPage } from './pending-page.ts'

/** The hidden field with the login that the page named: "Continue" means its account. A sid is not secret. */
const shownLogin = 'login'

/** Asks which account to use (`prompt=select_account`, OIDC Core §3.1.2.1). */
const show: PendingHandler = async (context, pending) => {
  const { server, language } = context
  const { client, request } = pending
  const active = await activeLogin(context, pending)
  if (active === undefined) return signInAgain(context, pending)
  const model = {
    ...pendingForm(context, pending, { [shownLogin]: active.login.sid }),
    client: clientCard(server, client, request.redirectUri, language),
    username: active.user.username,
  }
  return context.page('select-account', model, { redirectUri: request.redirectUri })
}

/** Applies the choice to this request only. "Another account" ends no login before the other user has logged in. */
const submit: PendingHandler = async (context, pending, form) => {
  const { server } = context
  const choice = form.required('decision')
  if (choice === 'another') {
    const location = loginLocation(server, pending.secret, pending.request, { asksAgain: true })
    return { redirectToPage: location }
  }
  if (choice !== 'continue')
    throw refusal('decision_unknown', { values: { decisions: 'continue or another' } })
  const active = await activeLogin(context, pending)
  // Another user has since logged in, in another tab. The request must not continue with an account that the page did not show.
  if (active?.login.sid !== form.optional(shownLogin)) {
    return { redirectToPage: ownPath(server, '/select-account', { [requestParameter]: pending.secret }) }
  }
  return { changes: { active, selectedSid: active?.login.sid } }
}

/** A request that must be confirmed has a page of its own: "Continue" on this one says less. */
const unlessConfirmed =
  (handle: PendingHandler): PendingHandler =>
  async (context, pending, parameters) =>
    pending.request.needsConfirmation === true ? { changes: {} } : handle(context, pending, parameters)

export const selectAccountEndpoint = pendingPage(
  '/select-account',
  unlessConfirmed(show),
  unlessConfirmed(submit),
)

/**
 * Says why the user cannot go on with a request: the host does not allow it (`access.allow`), or there is no organization for it.
 * The host is asked again: if it allows the request now, that goes on.
 */
const showDenied: PendingHandler = async (context, pending) => {
  const { server, language } = context
  const decided = await decideRequest(context, await examineRequest(context, toDecide(pending), {}))
  const { step } = decided
  if (step.step !== 'denied' && step.step !== 'no-organization') return answer(context, decided)
  const { client, request } = pending
  const model = {
    ...pendingForm(context, pending),
    client: clientCard(server, client, request.redirectUri, language),
    username: step.login.user.username,
    ...(step.step === 'denied'
      ? { reason: step.reason }
      : { lack: step.lack, homeUrl: hostLink(server.options.pages.home) }),
    ...(request.redirectUri === undefined && { device: true }),
  }
  return context.page('access-denied', model, {
    status: 403,
    redirectUri: formTarget(server, request.redirectUri),
  })
}

/** Leads back to the client, which learns that access was denied, or to the sign-in with another account. */
const submitDenied: PendingHandler = async (context, pending, form) => {
  const choice = form.required('decision')
  if (choice === 'back') return refusePending(context, pending)
  if (choice !== 'switch') throw refusal('decision_unknown', { values: { decisions: 'back or switch' } })
  const active = await activeLogin(context, pending)
  return active ? switchUser(context, { pending, login: active.login }) : signInAgain(context, pending)
}

export const accessDeniedEndpoint = pendingPage(deniedPath, showDenied, submitDenied)
