import { showAccountLogin, submitAccountLogin } from '../../endpoints/account/account-login.ts'
import { otherAccountPages } from '../../endpoints/account/account-pages.ts'
import { iso } from '../../endpoints/page-values.ts'
import type { PageContext } from '../../http/context.ts'
import { formParameters } from '../../http/form.ts'
import type { Endpoint } from '../../http/route.ts'
import { redirectToPage } from '../../http/send.ts'
import { ownPath } from '../../http/urls.ts'
import { totpUri } from '../../keys/totp.ts'
import type { PageModels } from '../../pages/page-models.ts'
import { OAuthError } from '../../protocol/errors.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import { bindBrowser, boundBrowser } from '../../sessions/browser-binding.ts'
import { assertCsrf, csrfToken, type FormPurpose } from '../../sessions/csrf.ts'
import { type ActiveLogin, activeLogin, recentLogin } from '../../sessions/login.ts'
import { clearNotice, leaveNotice, type Notice, readNotice } from '../../sessions/notice.ts'
import { checkCode } from './find.ts'
import type { AuthenticatorOption } from './option.ts'
import { qrCode } from './qr-code.ts'
import { countRecoveryCodes, findSecondFactorRecord, removeSecondFactor } from './second-factors-table.ts'
import { confirmEnrolment, openEnrolment, readableSecret, storedSecondFactor } from './stored-totp.ts'

/** The page where users set up the second factor that Latchkey keeps. */
export const settingsPath = '/account/second-factor'
/**
 * What notices for this page are about: the codes are for one user, and another one may sign in in the same browser. Those of
 * its sign-in form are about its path.
 */
const aboutOf = ({ login }: ActiveLogin): string => JSON.stringify(['second-factor-settings', login.subject])
/** Characters; more cannot be a code. */
const maxCode = 64

type Model = PageModels['second-factor-settings']

const purposeOf = ({ login }: ActiveLogin, browser: FormPurpose['browser']): FormPurpose => ({
  action: 'account',
  about: JSON.stringify(['second-factor', login.subject]),
  browser,
})

/** What the page says about the last form. A lock that is over is not mentioned. */
const saidBy = (notice: Notice | undefined, now: number): Pick<Model, 'error' | 'retryAfter' | 'notice'> => {
  if (notice?.kind === 'wrong') return { error: 'wrong' }
  if (notice?.kind === 'removed') return { notice: 'removed' }
  const retryAfter = notice?.kind === 'throttled' ? (notice.retryAt ?? now) - now : 0
  return retryAfter > 0 ? { error: 'throttled', retryAfter } : {}
}

/** What an authenticator app needs, or what the user has. */
const stateOf = async (
  { server }: PageContext,
  { login: { subject, sid }, user }: ActiveLogin,
): Promise<Pick<Model, 'setUp' | 'since' | 'codesLeft'> | undefined> => {
  const { database, options } = server
  const enrolment = await openEnrolment(server, { subject, sid })
  if (enrolment) {
    const uri = totpUri(enrolment.secret, options.pages.name, user.username)
    return { setUp: { qr: qrCode(uri), secret: readableSecret(enrolment.secret) } }
  }
  const record = await findSecondFactorRecord(database, { subject })
  if (record === undefined || record.expiresAt !== null) return undefined
  return { since: iso(record.createdAt), codesLeft: await countRecoveryCodes(database, { subject }) }
}

/** What the user can set up, or has; new recovery codes stay until the user has saved them. */
const show = async (context: PageContext): Promise<void> => {
  const { server } = context
  const active = await activeLogin(context)
  const signedIn = await recentLogin(context, active)
  if (signedIn === undefined) return showAccountLogin(context, settingsPath, active)
  const notice = readNotice(context, aboutOf(signedIn))
  const codes = notice?.kind === 'recovery-codes' ? notice.codes : undefined
  const state = codes ? { codes } : await stateOf(context, signedIn)
  if (state === undefined) {
    // Only the database of a request that changes nothing forgets what was just begun, or another secret is in use.
    throw new OAuthError('temporarily_unavailable', 'the second factor cannot be set up now')
  }
  const said = saidBy(notice, server.now())
  const model = {
    action: ownPath(server, settingsPath),
    hidden: { csrf_token: csrfToken(server, purposeOf(signedIn, bindBrowser(context))) },
    username: signedIn.user.username,
    ...state,
    ...said,
    otherPages: otherAccountPages(server, 'second-factor-settings'),
  }
  const statuses = { wrong: 400, throttled: 429 }
  context.send('second-factor-settings', model, {
    status: said.error === undefined ? 200 : statuses[said.error],
    headers: said.retryAfter === undefined ? {} : { 'Retry-After': String(said.retryAfter) },
  })
}

/** The first code of an authenticator app turns the second factor on. */
const confirm = async (
  { server, info }: PageContext,
  { login: { subject, sid } }: ActiveLogin,
  code: string,
): Promise<Notice | undefined> => {
  const enrolment = await openEnrolment(server, { subject, sid })
  if (enrolment === undefined) return undefined
  const codes = await confirmEnrolment(server, enrolment, code)
  if (codes === undefined) return { kind: 'wrong' }
  server.events.announce('second_factor.added', info, { subject })
  return { kind: 'recovery-codes', codes }
}

/** Only who has the second factor, or a recovery code, removes it: an open session is not enough. */
const remove = async (
  context: PageContext,
  totp: AuthenticatorOption,
  { user }: ActiveLogin,
  code: string,
): Promise<Notice | undefined> => {
  const { server, info } = context
  const { subject, username } = user
  const factor = await storedSecondFactor(context, totp, { subject })
  if (factor === undefined) return undefined
  const result = await checkCode(context, { user, factor, code, username })
  if (result.outcome === 'failed') return { kind: 'wrong' }
  if (result.outcome === 'refused') return { kind: 'throttled', retryAt: server.now() + result.retryAfter }
  await removeSecondFactor(server.database, { subject })
  server.events.announce('second_factor.removed', info, { subject })
  return { kind: 'removed' }
}

const change = async (
  context: PageContext,
  totp: AuthenticatorOption,
  active: ActiveLogin,
  form: Parameters,
): Promise<Notice | undefined> => {
  const decision = form.required('decision')
  if (decision === 'saved') return undefined
  if (decision !== 'confirm' && decision !== 'remove')
    throw new OAuthError('invalid_request', 'decision must be confirm, remove or saved')
  const code = (form.verbatim('code', 16_384) ?? '').replace(/\s/g, '')
  if (code === '' || code.length > maxCode) return { kind: 'wrong' }
  return decision === 'confirm' ? confirm(context, active, code) : remove(context, totp, active, code)
}

/** A change to the second factor; without `decision` the sign-in form. */
const submit = async (context: PageContext, totp: AuthenticatorOption): Promise<void> => {
  const { server, req, res } = context
  const form = formParameters(req)
  if (!form.has('decision')) return submitAccountLogin(context, settingsPath)
  const active = await activeLogin(context)
  const browser = boundBrowser(context)
  const signedIn = await recentLogin(context, active)
  if (signedIn) {
    assertCsrf(context, form, browser && purposeOf(signedIn, browser))
    const notice = await change(context, totp, signedIn, form)
    if (notice) leaveNotice(context, aboutOf(signedIn), notice)
    else clearNotice(context)
  }
  redirectToPage(res, ownPath(server, settingsPath))
}

/** The page where users set up and remove the second factor that Latchkey keeps (`features.authenticatorApps`). */
export const settingsPage = (totp: AuthenticatorOption): Endpoint<PageContext> => ({
  path: settingsPath,
  methods: { GET: show, POST: (context) => submit(context, totp) },
})
