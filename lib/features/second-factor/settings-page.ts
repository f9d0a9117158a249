import { totpUri } from '../../keys/totp.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import { refusal } from '../../protocol/refusal.ts'
import { accountModel } from '../../web/endpoints/account/account-pages.ts'
import { iso } from '../../web/endpoints/page-values.ts'
import { accountPage, type SignedContext, type SignedInUser } from '../../web/endpoints/signed-page.ts'
import type { PageContext } from '../../web/http/context.ts'
import type { Endpoint } from '../../web/http/endpoint.ts'
import type { PageModels } from '../../web/pages/page-models.ts'
import type { ActiveLogin } from '../../web/sessions/login.ts'
import type { Notice } from '../../web/sessions/notice.ts'
import { checkCode, typedCode } from './find.ts'
import type { AuthenticatorOption } from './option.ts'
import { qrCode } from './qr-code.ts'
import {
  countRecoveryCodes,
  findSecondFactorRecord,
  removeOwnSecondFactor,
  type SecondFactorRecord,
  setNextSecret,
} from './second-factors-table.ts'
import {
  beginReplacement,
  confirmEnrolment,
  confirmReplacement,
  type Enrolment,
  factorOf,
  openEnrolment,
  openReplacement,
  readableSecret,
  renewRecoveryCodes,
} from './stored-totp.ts'

/** The page where users set up the second factor that Latchkey keeps. */
export const settingsPath = '/account/second-factor'

type Model = PageModels['second-factor-settings']

const wrong: Notice = { kind: 'wrong' }

const said = ['on', 'removed', 'replaced'] as const

/** The page's message about the last form. A lock that is over is not mentioned. */
const saidBy = (notice: Notice | undefined, now: number): Pick<Model, 'error' | 'retryAfter' | 'notice'> => {
  if (notice?.kind === 'wrong') return { error: 'wrong' }
  const done = said.find((kind) => kind === notice?.kind)
  if (done !== undefined) return { notice: done }
  const retryAfter = notice?.kind === 'throttled' ? (notice.retryAt ?? now) - now : 0
  return retryAfter > 0 ? { error: 'throttled', retryAfter } : {}
}

/** The secret for an authenticator app, as the page shows it. */
const setUpOf = (
  { server }: PageContext,
  { secret }: Enrolment,
  username: string,
): NonNullable<Model['setUp']> => {
  const uri = totpUri(secret, server.options.pages.name, username)
  return { qr: qrCode(uri), secret: readableSecret(secret), uri }
}

/** The secret for an authenticator app, or the second factor that the user has. */
const stateOf = async (
  context: PageContext,
  { login: { subject, sid }, user }: ActiveLogin,
): Promise<Pick<Model, 'setUp' | 'since' | 'codesLeft'> | undefined> => {
  const { server } = context
  const { database } = server
  const enrolment = await openEnrolment(server, { subject, sid })
  if (enrolment) return { setUp: setUpOf(context, enrolment, user.username) }
  const record = await findSecondFactorRecord(database, { subject })
  if (record === undefined || record.expiresAt !== null) return undefined
  const since = iso(record.createdAt)
  const replacement = openReplacement(server, record, sid)
  if (replacement) return { setUp: setUpOf(context, replacement, user.username), since }
  return { since, codesLeft: await countRecoveryCodes(database, { subject }) }
}

/** Shows the second factor that the user can set up, or has. */
const show = async (context: SignedContext<SignedInUser>): Promise<void> => {
  const { server, person, notice } = context
  const codes = notice?.kind === 'recovery-codes' ? notice.codes : undefined
  const state = codes
    ? { codes, product: server.options.pages.name, madeAt: iso(server.now()) }
    : await stateOf(context, person)
  if (state === undefined) {
    // Only the database of a request that changes nothing forgets what was just begun, or another secret is in use.
    throw refusal('second_factor_unavailable')
  }
  const message = saidBy(notice, server.now())
  const model = {
    ...context.form(),
    ...(await accountModel(context, person.user, 'second-factor-settings')),
    ...state,
    ...message,
  }
  const statuses = { wrong: 400, throttled: 429 }
  context.send('second-factor-settings', model, {
    status: message.error === undefined ? 200 : statuses[message.error],
    headers: message.retryAfter === undefined ? {} : { 'Retry-After': String(message.retryAfter) },
  })
}

/** The first code of an authenticator app turns the second factor on, or replaces the app in use. */
const confirm = async (
  { server, info }: PageContext,
  { login: { subject, sid } }: ActiveLogin,
  code: string,
): Promise<Notice | undefined> => {
  const enrolment = await openEnrolment(server, { subject, sid })
  if (enrolment) {
    const codes = await confirmEnrolment(server, enrolment, code)
    if (codes === undefined) return wrong
    server.events.announce('second_factor.added', info, { subject })
    return { kind: 'recovery-codes', codes }
  }
  const record = await findSecondFactorRecord(server.database, { subject })
  const replacement = record && openReplacement(server, record, sid)
  if (replacement === undefined) return undefined
  if (!(await confirmReplacement(server, replacement, code))) return wrong
  server.events.announce('second_factor.replaced', info, { subject })
  return { kind: 'replaced' }
}

/** @param record of the second factor whose code was right */
type Change = (
  context: PageContext,
  active: ActiveLogin,
  record: SecondFactorRecord,
) => Promise<Notice | undefined>

/** Only who has the second factor, or a recovery code, changes it: an open session is not enough. */
const withCode =
  (totp: AuthenticatorOption, change: Change) =>
  async (context: PageContext, active: ActiveLogin, code: string): Promise<Notice | undefined> => {
    const { user } = active
    const record = await findSecondFactorRecord(context.server.database, user)
    if (record?.expiresAt !== null) return undefined
    const factor = factorOf(context, totp, record)
    const result = await checkCode(context, { user, factor, code, username: user.username })
    if (result.outcome === 'failed') return wrong
    if (result.outcome === 'refused')
      return { kind: 'throttled', retryAt: context.server.now() + result.retryAfter }
    return change(context, active, record)
  }

const remove: Change = async ({ server, info }, { login: { sid } }, { subject, createdAt }) => {
  const allowed = { subject, sid, createdAt, now: server.now() }
  if (!(await removeOwnSecondFactor(server.database, allowed))) return undefined
  server.events.announce('second_factor.removed', info, { subject })
  return { kind: 'removed' }
}

const renew: Change = async ({ server, info }, { login: { sid } }, record) => {
  const codes = await renewRecoveryCodes(server, record, sid)
  if (codes === undefined) return undefined
  server.events.announce('second_factor.recovery_codes_renewed', info, { subject: record.subject })
  return { kind: 'recovery-codes', codes }
}

const replace: Change = async ({ server }, { login: { subject, sid } }) => {
  await beginReplacement(server, { subject, sid })
  return undefined
}

/** The app in use stays. */
const keep = async ({ server }: PageContext, { login: { subject } }: ActiveLogin): Promise<void> => {
  await setNextSecret(server.database, { subject, next: null, expiresAt: null })
}

/** The page where users set up and remove the second factor that Latchkey keeps (`authenticatorApps()`). */
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
      remove: act(withCode(totp, remove)),
      renew: act(withCode(totp, renew)),
      replace: act(withCode(totp, replace)),
      keep: async (context) => {
        await keep(context, context.person)
        return {}
      },
      async saved({ server, person }) {
        const record = await findSecondFactorRecord(server.database, { subject: person.id })
        return record?.expiresAt === null ? { notice: { kind: 'on' } } : {}
      },
    },
  })
}
