import { openUnder, sealUnder } from '../../keys/secrets.ts'
import { networkOf } from '../../limits/network.ts'
import { clientCard } from '../../oauth/authorization/consent.ts'
import { continueRequest, signInAgain } from '../../oauth/authorization/continue.ts'
import { formTarget } from '../../oauth/authorization/login-location.ts'
import { requestParameter } from '../../oauth/authorization/pending-request.ts'
import { refusal } from '../../protocol/refusal.ts'
import { showAccountLogin, submitAccountLogin } from '../../web/endpoints/account/account-login.ts'
import { switchUser } from '../../web/endpoints/consent/consent.ts'
import { fieldsIn } from '../../web/endpoints/page-values.ts'
import { type PendingHandler, pendingForm, withPending } from '../../web/endpoints/pending-page.ts'
import type { PageContext } from '../../web/http/context.ts'
import type { Endpoint } from '../../web/http/endpoint.ts'
import { formParameters, queryParameters } from '../../web/http/form.ts'
import { redirectToPage } from '../../web/http/redirect.ts'
import { ownPath } from '../../web/http/urls.ts'
import { bindBrowser } from '../../web/sessions/browser-binding.ts'
import { formToken, submittedForm } from '../../web/sessions/csrf.ts'
import { type ActiveLogin, activeLogin } from '../../web/sessions/login.ts'
import type { UserCodeError } from './declarations.ts'
import { waitingDevice } from './kind.ts'
import { formatUserCode, parseUserCode } from './rules.ts'
import { findWaitingDevice, guesserOf, type WaitingDevice } from './waiting.ts'

/** The hidden field with the login that the page named: "Continue" means its account. A sid is not secret. */
const shownLogin = 'login'

/** In URLs of the page: who is not signed in signs in there first. */
const signInParameter = 'sign_in'
const signInParameters = ['user_code', signInParameter]

/** The values that sign the form for the user code. */
const codeForm = ['code']

interface Refused {
  readonly error?: UserCodeError
  readonly retryAfter?: number
}

/** The form for the user code, filled in as the URL or the user says. */
const showForm = (context: PageContext, userCode: string, refused: Refused = {}): void => {
  const { server } = context
  const { error, retryAfter } = refused
  const model = {
    action: ownPath(server, '/device'),
    hidden: { csrf_token: formToken(context, codeForm) },
    userCode,
    ...refused,
  }
  context.send('device', model, {
    redirectUri: formTarget(server),
    ...(error && { status: error === 'throttled' ? 429 : 400 }),
    ...(retryAfter !== undefined && { headers: { 'Retry-After': String(retryAfter) } }),
  })
}

/** Starts a pending request for the device, in this browser. */
const openDevice = async (
  context: PageContext,
  { device, client }: WaitingDevice,
  userCode: string,
  active: ActiveLogin | undefined,
): Promise<void> => {
  const { hash, address, createdAt, expiresAt } = device
  const sealedUserCode = sealUnder(bindBrowser(context).secret, userCode, 'user code')
  const request = {
    ...device.request,
    needsConfirmation: true,
    device: { hash, address, createdAt, expiresAt, sealedUserCode },
  } as const
  const incoming = { kind: 'device', client, request, knownLogin: undefined }
  context.deliver(context, await continueRequest(context, incoming, { active }))
}

/**
 * Looks up the typed code. Malformed codes are typos, not guesses, and do not count. Where everyone has guessed too often, only
 * users who are signed in may guess, each up to a limit of their own.
 */
const submitCode = async (context: PageContext): Promise<void> => {
  const { server, info } = context
  const form = submittedForm(context, codeForm)
  const typed = form.optional('user_code') ?? ''
  const userCode = parseUserCode(typed)
  if (userCode === undefined) return showForm(context, typed, { error: 'wrong' })
  const active = await activeLogin(context)
  const subject = active?.login.subject
  const guesser = guesserOf(info.address, subject)
  const result = await server.throttle.guess(guesser, () => findWaitingDevice(server, userCode))
  if (result.outcome === 'found') return openDevice(context, result.found, userCode, active)
  server.events.announce('device.code_refused', info, subject === undefined ? {} : { subject })
  if (result.outcome === 'wrong') showForm(context, typed, { error: 'wrong' })
  else if (subject !== undefined)
    showForm(context, typed, { error: 'throttled', retryAfter: result.retryAfter })
  else {
    const query = { user_code: formatUserCode(userCode), [signInParameter]: '1' }
    redirectToPage(context, ownPath(server, '/device', query))
  }
}

/** Asks whether the device is the user's own: someone else may have sent them the code (RFC 8628 §5.4). */
const showConfirm: PendingHandler = async (context, pending) => {
  const { server, info, language } = context
  const { client, request, browser } = pending
  const device = waitingDevice(request, server.now())
  const active = await activeLogin(context, pending)
  if (active === undefined) return signInAgain(context, pending)
  const model = {
    ...pendingForm(context, pending, { [shownLogin]: active.login.sid }),
    client: clientCard(server, client, request.redirectUri, language),
    username: active.user.username,
    userCode: formatUserCode(openUnder(browser.secret, device.sealedUserCode, 'user code')),
    requestedAgo: server.now() - device.createdAt,
    address: device.address,
    sameNetwork: networkOf(device.address) === networkOf(info.address),
  }
  return context.page('device-confirm', model, { redirectUri: formTarget(server) })
}

const submitConfirm: PendingHandler = async (context, pending, form) => {
  const { server } = context
  waitingDevice(pending.request, server.now())
  const active = await activeLogin(context, pending)
  if (active === undefined) return signInAgain(context, pending)
  const { sid } = active.login
  // Another user has since logged in, in another tab: the page showed another account.
  if (sid !== form.optional(shownLogin)) {
    return { redirectToPage: ownPath(server, '/device', { [requestParameter]: pending.secret }) }
  }
  const choice = form.required('decision')
  if (choice === 'switch') return switchUser(context, { pending, login: active.login })
  if (choice !== 'allow' && choice !== 'deny') {
    throw refusal('decision_unknown', { values: { decisions: 'allow, deny or switch' } })
  }
  const decision = { allowed: false, sid, scopes: [] }
  const change = choice === 'deny' ? { decision } : { selectedSid: sid }
  return { changes: { active, ...change } }
}

/** RFC 8628 §3.3: the page for the user code, and the question whether the device is the user's own. */
export const devicePage: Endpoint<PageContext> = {
  path: '/device',
  isInteraction: true,
  signInParameters,
  methods: {
    GET: async (context) => {
      const query = queryParameters(context.req)
      if (query.has(requestParameter)) return withPending(context, query, showConfirm)
      if (query.has(signInParameter) && (await activeLogin(context)) === undefined)
        return showAccountLogin(context, '/device', undefined, fieldsIn(query, signInParameters))
      // From a link or a QR code of the device (RFC 8628 §3.3.1).
      const userCode = parseUserCode(query.first('user_code') ?? '')
      return showForm(context, userCode === undefined ? '' : formatUserCode(userCode))
    },
    POST: (context) => {
      const form = formParameters(context.req)
      if (form.has(requestParameter)) return withPending(context, form, submitConfirm)
      if (form.has('user_code')) return submitCode(context)
      const query = fieldsIn(queryParameters(context.req), signInParameters)
      return submitAccountLogin(context, '/device', query)
    },
  },
}
