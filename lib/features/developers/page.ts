import { showAccountLogin, submitAccountLogin } from '../../endpoints/account/account-login.ts'
import { otherAccountPages } from '../../endpoints/account/account-pages.ts'
import type { PageContext } from '../../http/context.ts'
import { formParameters } from '../../http/form.ts'
import type { Endpoint } from '../../http/route.ts'
import { redirectToPage } from '../../http/send.ts'
import { ownPath } from '../../http/urls.ts'
import { OAuthError } from '../../protocol/errors.ts'
import { readableIdentifier } from '../../protocol/explanation.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import { type ClientRecord, findClientRecord } from '../../repositories/index.ts'
import { bindBrowser, boundBrowser } from '../../sessions/browser-binding.ts'
import { assertCsrf, csrfToken, type FormPurpose } from '../../sessions/csrf.ts'
import { type ActiveLogin, activeLogin, recentLogin } from '../../sessions/login.ts'
import { callHost } from '../../users/host-function.ts'
import type { DeveloperOption } from './option.ts'
import type { Developer } from './register.ts'
import { type ClientOwner, findClientOwner } from './table.ts'

/**
 * Seconds after a sign-in in which developers may change their clients. The forms are long, and a client alone opens
 * nothing: each user still decides whether to allow it.
 */
const hour = 3600

/** What the handler of a developer page gets. */
export interface DeveloperPageContext extends PageContext {
  readonly option: DeveloperOption
}

/** An endpoint for developers, as this option wants it. */
export const withOption = (
  option: DeveloperOption,
  { methods, ...endpoint }: Endpoint<DeveloperPageContext>,
): Endpoint<PageContext> => ({
  ...endpoint,
  methods: Object.fromEntries(
    Object.entries(methods).map(([method, handle]) => [
      method,
      (context: PageContext) => handle({ ...context, option }),
    ]),
  ),
})

/** A page of the developer area. */
export interface DeveloperPage {
  readonly path: string
  /** The client in its URL. */
  readonly clientId?: string | undefined
  /** Whether only a user who has signed in lately may open it. */
  readonly needsRecentLogin?: boolean
}

/** A user who may register clients, as the host says for this request. */
export interface SignedInDeveloper extends Developer {
  readonly active: ActiveLogin
}

/** A client of the user. */
export interface OwnClient {
  readonly owner: ClientOwner
  readonly client: ClientRecord
}

const queryOf = ({ clientId }: DeveloperPage): Record<string, string> =>
  clientId === undefined ? {} : { client_id: clientId }

export const developerUrl = ({ server }: DeveloperPageContext, page: DeveloperPage): string =>
  ownPath(server, page.path, queryOf(page))

const developerOf = async (
  { req, info, option }: DeveloperPageContext,
  active: ActiveLogin,
): Promise<SignedInDeveloper | undefined> => {
  const said: unknown = await callHost('features.developers.allow', () =>
    option.allow(active.user.record, { req }),
  )
  const { subject } = active.login
  return said === true || said === 'approval'
    ? { active, subject, needsApproval: said === 'approval', info }
    : undefined
}

const showForbidden = (context: DeveloperPageContext, { user }: ActiveLogin): void => {
  const { server } = context
  const signOutUrl = ownPath(server, '/logout')
  const otherPages = otherAccountPages(server, 'developer')
  const model = { username: user.username, clients: [], isForbidden: true, signOutUrl, otherPages }
  context.send('developer', model, { status: 403 })
}

/**
 * The user of a page, if the page is for them.
 *
 * @returns undefined when the request has been answered: with the sign-in form, or because the host does not allow the user
 */
const admit = async (
  context: DeveloperPageContext,
  page: DeveloperPage,
): Promise<SignedInDeveloper | undefined> => {
  const active = await activeLogin(context)
  const admitted = page.needsRecentLogin ? await recentLogin(context, active, hour) : active
  if (admitted === undefined) {
    if (context.req.method === 'POST') redirectToPage(context.res, developerUrl(context, page))
    else await showAccountLogin(context, page.path, active, queryOf(page))
    return undefined
  }
  const developer = await developerOf(context, admitted)
  if (developer === undefined) showForbidden(context, admitted)
  return developer
}

/** Shows a page to a developer; to others it shows the sign-in form, or that they must not register clients. */
export const showDeveloperPage = async (
  context: DeveloperPageContext,
  page: DeveloperPage,
  show: (developer: SignedInDeveloper) => void | Promise<void>,
): Promise<void> => {
  const developer = await admit(context, page)
  if (developer) await show(developer)
}

/** A form belongs to one user, one page and one client. */
const purposeOf = (
  { path, clientId = '' }: DeveloperPage,
  { subject }: Developer,
  browser: FormPurpose['browser'],
): FormPurpose => ({ action: 'account', about: JSON.stringify([path, subject, clientId]), browser })

/** The hidden fields of a form. */
export const developerFormFields = (
  context: DeveloperPageContext,
  page: DeveloperPage,
  developer: Developer,
): Record<string, string> => ({
  decision: 'submit',
  csrf_token: csrfToken(context.server, purposeOf(page, developer, bindBrowser(context))),
})

/**
 * Does what a form of a developer says. Without `decision` it is the sign-in form of the page.
 *
 * @throws OAuthError with status 403 for a form that was not given to this user, or is about another client
 */
export const submitDeveloperForm = async (
  context: DeveloperPageContext,
  page: DeveloperPage,
  act: (developer: SignedInDeveloper, form: Parameters) => Promise<void>,
): Promise<void> => {
  const form = formParameters(context.req)
  if (!form.has('decision')) return submitAccountLogin(context, page.path, queryOf(page))
  const developer = await admit(context, page)
  if (developer === undefined) return
  const browser = boundBrowser(context)
  assertCsrf(context, form, browser && purposeOf(page, developer, browser))
  await act(developer, form)
}

/**
 * A client of the user.
 *
 * @throws OAuthError with status 404, the same for an unknown client and one of another user
 */
export const findOwnClient = async (
  { server }: DeveloperPageContext,
  { subject }: Developer,
  clientId: string,
): Promise<OwnClient> => {
  const { database, now } = server
  const owner = await findClientOwner(database, { clientId })
  const client =
    owner?.subject === subject ? await findClientRecord(database, { clientId, now: now() }) : undefined
  if (owner && client) return { owner, client }
  const explanation = { expected: `a client of user ${subject}`, received: readableIdentifier(clientId) }
  throw new OAuthError('invalid_request', 'client_id is not that of a client of this user', {
    status: 404,
    explanation,
  })
}
