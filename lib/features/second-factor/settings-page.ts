import { accountModel } from '../../endpoints/account/account-pages.ts'
import { iso } from '../../endpoints/page-values.ts'
import { accountPage, type SignedContext, type SignedInUser } from '../../endpoints/signed-page.ts'
import type { PageContext } from '../../http/context.ts'
import type { Endpoint } from '../../http/route.ts'
import { totpUri } from '../../keys/totp.ts'
import type { PageModels } from '../../pages/page-models.ts'
import { OAuthError } from '../../protocol/errors.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import type { ActiveLogin } from '../../sessions/login.ts'
import type { Notice } from '../../sessions/notice.ts'
import { checkCode, typedCode } from './find.ts'
import type { AuthenticatorOption } from './option.ts'
import { qrCode } from './qr-code.ts'
import { countRecoveryCodes, findSecondFactorRecord, removeSecondFactor } from './second-factors-table.ts'
import { confirmEnrolment, openEnrolment, readableSecret, storedSecondFactor } from './stored-totp.ts'

/** The page where users set up the second factor that Latchkey keeps. */
export const settingsPath = '/account/second-factor'

type Model = PageModels['second-factor-settings']

const wrong: Notice = { kind: 'wrong' }

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

/** What the user can set up, or has. */
const show = async (context: SignedContext<SignedInUser>): Promise<void> => {
  const { server, person, notice } = context
  const codes = notice?.kind === 'recovery-codes' ? notice.codes : undefined
  const state = codes ? { codes } : await stateOf(context, person)
  if (state === undefined) {
    // Only the database of a request that changes nothing forgets what was just begun, or another secret is in use.
    throw new OAuthError('temporarily_unavailable', 'the second factor cannot be set up now')
  }
  const said = saidBy(notice, server.now())
  const model = {
    ...context.form(),
    ...accountModel(server, person.user, 'second-factor-settings'),
    ...state,
    ...said,
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
  if (codes === undefined) return wrong
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
  if (result.outcome === 'failed') return wrong
  if (result.outcome === 'refused') return { kind: 'throttled', retryAt: server.now() + result.retryAfter }
  await removeSecondFactor(server.database, { subject })
  server.events.announce('second_factor.removed', info, { subject })
  return { kind: 'removed' }
}

/** The page where users set up and remove the second factor that Latchkey keeps (`features.authenticatorApps`). */
export const settingsPage = (totp: AuthenticatorOption): Endpoint<PageContext> => {
  const act =
    (run: (context: PageContext, active: ActiveLogin, code: string) => Promise<Notice | undefined>) =>
    async (context: SignedContext<SignedInUser>, form: Parameters) => {
      const code = typedCode(form)
      return { notice: code === undefined ? wrong : await run(context, context.person, code) }
    }
  return accountPage({
    path: settingsPath,
    recent: 600,
    changesSignIn: true,
    // New recovery codes stay until the user has saved them.
    keepsNotice: true,
    show,
    acts: {
      confirm: act(confirm),
      remove: act((context, active, code) => remove(context, totp, active, code)),
      saved: () => ({}),
    },
  })
}
