import type { AuthorizationServer } from '../../authorization-server.ts'
import { accountSignIn, showAccountLogin, submitAccountLogin } from '../../endpoints/account/account-login.ts'
import { otherAccountPages } from '../../endpoints/account/account-pages.ts'
import { needsStep } from '../../endpoints/login-form.ts'
import { iso } from '../../endpoints/page-values.ts'
import type { PageContext } from '../../http/context.ts'
import { formParameters, queryParameters } from '../../http/form.ts'
import type { Endpoint } from '../../http/route.ts'
import { redirectToPage } from '../../http/send.ts'
import { ownPath } from '../../http/urls.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import { bindBrowser, boundBrowser } from '../../sessions/browser-binding.ts'
import { assertCsrf, csrfToken, type FormPurpose } from '../../sessions/csrf.ts'
import { type ActiveLogin, activeLogin, recentLogin } from '../../sessions/login.ts'
import { leaveNotice, takeNotice } from '../../sessions/notice.ts'
import { addPasskey, passkeyCreation } from './add.ts'
import type { PasskeyCard, PasskeysNotice } from './models.ts'
import type { PasskeyOption } from './option.ts'
import { type Passkey, passkeyName } from './rules.ts'
import { listPasskeys, removePasskey, renamePasskey } from './table.ts'

/** The list of a user's passkeys. */
export const passkeysPath = '/account/passkeys'
/** What notices for this page are about; those of its sign-in form are about its path. */
const about = 'passkeys'
/** Characters of what the script sends; a form is not longer. */
const maxResponseLength = 16_384
const maxTypedName = 255

const purposeOf = ({ login }: ActiveLogin, browser: FormPurpose['browser']): FormPurpose => ({
  action: 'account',
  about: JSON.stringify(['passkeys', login.subject]),
  browser,
})

/**
 * The login, if it is good enough to add a passkey, which signs in without anything else from then on. It must be recent,
 * because an abandoned session would get a passkey that outlasts it. And it must not be by the password alone if the user
 * must prove more than that to sign in.
 */
const strongLogin = async (context: PageContext, active: ActiveLogin): Promise<ActiveLogin | undefined> => {
  const { server } = context
  const { amr } = active.login
  if ((await recentLogin(context, active)) === undefined) return undefined
  const isPasswordOnly = amr.every((method) => method === 'pwd')
  const { acrValues } = accountSignIn(server, passkeysPath)
  return isPasswordOnly && (await needsStep(context, active.user, acrValues)) ? undefined : active
}

const cardOf = (
  server: AuthorizationServer,
  { hash, name, createdAt, lastUsedAt }: Passkey,
): PasskeyCard => ({
  name,
  created: iso(createdAt),
  ...(lastUsedAt !== null && { lastUsed: iso(lastUsedAt) }),
  url: ownPath(server, passkeysPath, { id: hash }),
})

const kinds = ['added', 'not-added', 'renamed', 'removed'] as const

const noticeFor = (context: PageContext): PasskeysNotice | undefined => {
  const kind = takeNotice(context, about)?.kind
  return kinds.find((each) => each === kind)
}

const showPasskeys = (
  context: PageContext,
  option: PasskeyOption,
  active: ActiveLogin,
  known: readonly Passkey[],
): void => {
  const { server } = context
  const { user } = active
  const browser = bindBrowser(context)
  const [options, notice] = [passkeyCreation(server, option, user, known, browser), noticeFor(context)]
  context.send('passkeys', {
    action: ownPath(server, passkeysPath),
    hidden: { decision: 'add', csrf_token: csrfToken(server, purposeOf(active, browser)) },
    username: user.username,
    passkeys: known.map((passkey) => cardOf(server, passkey)),
    ...(options !== undefined && { options }),
    ...(notice && { notice }),
    otherPages: otherAccountPages(server, 'passkeys'),
  })
}

const showPasskey = (context: PageContext, active: ActiveLogin, passkey: Passkey): void => {
  const { server } = context
  context.send('passkey', {
    action: ownPath(server, passkeysPath),
    hidden: { id: passkey.hash, csrf_token: csrfToken(server, purposeOf(active, bindBrowser(context))) },
    passkey: cardOf(server, passkey),
    username: active.user.username,
    cancelUrl: ownPath(server, passkeysPath),
  })
}

/** The user's passkeys; with `id` the page that renames or removes one. */
const show = async (context: PageContext, option: PasskeyOption): Promise<void> => {
  const active = await activeLogin(context)
  const signedIn = active && (await strongLogin(context, active))
  if (signedIn === undefined) return showAccountLogin(context, passkeysPath, active)
  const known = await listPasskeys(context.server.database, { subject: signedIn.login.subject })
  const id = queryParameters(context.req).optional('id')
  const passkey = known.find(({ hash }) => hash === id)
  if (passkey) showPasskey(context, signedIn, passkey)
  else showPasskeys(context, option, signedIn, known)
}

/** Does what the form says. A passkey that is gone is shown to be gone by the list. */
const change = async (
  context: PageContext,
  option: PasskeyOption,
  { user, login }: ActiveLogin,
  form: Parameters,
  browser: FormPurpose['browser'],
): Promise<PasskeysNotice | undefined> => {
  const { server, info } = context
  const { database } = server
  const { subject } = login
  const decision = form.required('decision')
  const name = form.optional('name', maxTypedName)
  if (decision === 'add') {
    const response = form.verbatim('passkey', maxResponseLength) ?? ''
    return (await addPasskey(context, option, { user, browser, response, name })) ? 'added' : 'not-added'
  }
  const hash = form.required('id')
  if (decision === 'rename') {
    return (await renamePasskey(database, { hash, subject, name: passkeyName(name) ?? '' }))
      ? 'renamed'
      : undefined
  }
  if (decision !== 'remove' || !(await removePasskey(database, { hash, subject }))) return undefined
  server.events.announce('passkey.removed', info, { subject })
  return 'removed'
}

/** A change to the passkeys; without `decision` the sign-in form. */
const submit = async (context: PageContext, option: PasskeyOption): Promise<void> => {
  const { server, req, res } = context
  const form = formParameters(req)
  if (!form.has('decision')) return submitAccountLogin(context, passkeysPath)
  const active = await activeLogin(context)
  const browser = boundBrowser(context)
  const signedIn = active && (await strongLogin(context, active))
  if (signedIn) {
    assertCsrf(context, form, browser && purposeOf(signedIn, browser))
    const notice = browser && (await change(context, option, signedIn, form, browser))
    if (notice) leaveNotice(context, about, { kind: notice })
  }
  redirectToPage(res, ownPath(server, passkeysPath))
}

/** The list of a user's passkeys, with the page that renames or removes one. */
export const passkeysPage = (option: PasskeyOption): Endpoint<PageContext> => ({
  path: passkeysPath,
  methods: { GET: (context) => show(context, option), POST: (context) => submit(context, option) },
})
