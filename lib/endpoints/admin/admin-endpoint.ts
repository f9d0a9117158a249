import { type ClientAdministration, clientAdministration } from '../../clients/administration.ts'
import { maxClientForm } from '../../clients/client-form.ts'
import type { PageContext } from '../../http/context.ts'
import { formParameters } from '../../http/form.ts'
import type { Endpoint } from '../../http/route.ts'
import { sendPage } from '../../http/send-page.ts'
import { ownPath } from '../../http/urls.ts'
import type { AdminForm, AdminSection } from '../../pages/admin-page-models.ts'
import { OAuthError } from '../../protocol/errors.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import { type Browser, bindBrowser, boundBrowser } from '../../sessions/browser-binding.ts'
import { assertCsrf, csrfToken, type FormPurpose } from '../../sessions/csrf.ts'
import { leaveOutcome, type Outcome, takeOutcome } from '../../sessions/notice.ts'
import { callHost } from '../../users/host-function.ts'

/** What the handler of an admin page gets: the host allowed the request. */
export interface AdminContext extends PageContext {
  /** What the host said about the administrator; undefined if it said `true`. */
  readonly actor: string | undefined
}

type AdminHandler = (context: AdminContext) => void | Promise<void>

/** UTF-16 code units of an actor in events. */
const maxActor = 255

/**
 * Asks the host whether this request may use the admin pages.
 *
 * @throws OAuthError `access_denied` with status 403 unless the host allows it · TypeError if it returns something else
 */
const admitted = async (context: PageContext): Promise<AdminContext> => {
  const { server, req } = context
  const answer: unknown = await callHost('admin', () => server.options.admin?.(req))
  const isId = typeof answer === 'string' && answer !== ''
  if (!isId && answer !== true) {
    // Such as a user object: a mistake, which must not let anyone in.
    if (answer) throw new TypeError('latchkey: admin must return true, false or a string')
    const explanation = { expected: 'true, or the id of an administrator', received: String(answer) }
    throw new OAuthError('access_denied', 'the option admin refused this request', {
      status: 403,
      explanation,
    })
  }
  return {
    ...context,
    actor: isId ? answer.slice(0, maxActor) : undefined,
    language: 'en',
    send: (page, model, options) => sendPage(context, 'en', page, model, options),
  }
}

/**
 * An admin page. Each of its handlers runs only after the host has allowed the request.
 *
 * @example export const adminKeysEndpoint = adminEndpoint('/admin/keys', { GET: show, POST: rotate })
 */
export const adminEndpoint = (
  path: string,
  handlers: Readonly<Partial<Record<'GET' | 'POST', AdminHandler>>>,
): Endpoint<PageContext> => {
  const guarded = (handle: AdminHandler) => async (context: PageContext) => handle(await admitted(context))
  return {
    path,
    maxForm: maxClientForm,
    methods: Object.fromEntries(
      Object.entries(handlers).map(([method, handle]) => [method, guarded(handle)]),
    ),
  }
}

/** The clients, administered in the name of this administrator. */
export const clientsFor = ({ server, actor, info }: AdminContext): ClientAdministration =>
  clientAdministration({ ...server, logos: server, by: { actor, info } })

const paths = {
  clients: '/admin',
  requests: '/admin/requests',
  users: '/admin/users',
  keys: '/admin/keys',
  events: '/admin/events',
}

/** The links to the admin pages. */
export const sectionsOf = (
  { server }: AdminContext,
  present: AdminSection['kind'],
): readonly AdminSection[] =>
  (
    [
      'clients',
      ...(server.options.developers ? (['requests'] as const) : []),
      'users',
      'keys',
      'events',
    ] as const
  ).map((kind) => ({
    kind,
    url: ownPath(server, paths[kind]),
    isCurrent: kind === present,
  }))

type Fields = Readonly<Record<string, string>>

/** A form is for one act on one thing, by one administrator in one browser. */
const purposeOf = (
  { actor }: AdminContext,
  { path, act, about }: { readonly path: string; readonly act: string; readonly about: Fields },
  browser: Browser,
): FormPurpose => ({
  action: 'admin',
  about: JSON.stringify([path, act, Object.entries(about), actor ?? null]),
  browser,
})

/**
 * A form with a CSRF token for this act.
 *
 * @param about what the act is about, by field
 */
export const adminForm = (
  context: AdminContext,
  path: string,
  act: string,
  about: Fields = {},
): AdminForm => {
  const purpose = purposeOf(context, { path, act, about }, bindBrowser(context))
  return {
    action: ownPath(context.server, path),
    hidden: { act, ...about, csrf_token: csrfToken(context.server, purpose) },
  }
}

/** A form of an admin page that was sent by our own page. */
export interface AdminSubmission<Name extends string> {
  readonly act: string
  readonly about: Readonly<Partial<Record<Name, string>>>
  readonly form: Parameters
}

/**
 * Reads a form that {@link adminForm} made.
 *
 * @param names the fields that may say what the act is about, in the order in which the form was made
 * @throws OAuthError `invalid_request` with status 403 if it was not given to this administrator in this browser for this
 */
export const submittedForm = <Name extends string>(
  context: AdminContext,
  names: readonly Name[],
): AdminSubmission<Name> => {
  const form = formParameters(context.req)
  const act = form.optional('act') ?? ''
  const about = Object.fromEntries(
    names.flatMap((name): [string, string][] => {
      const value = form.optional(name)
      return value === undefined ? [] : [[name, value]]
    }),
  )
  const browser = boundBrowser(context)
  const { path } = context.endpoint
  assertCsrf(context, form, browser && purposeOf(context, { path, act, about }, browser))
  return { act, about: about as AdminSubmission<Name>['about'], form }
}

/** Notices are for one administrator, on one page. */
const outcomeKey = ({ actor }: AdminContext, about: string): string =>
  JSON.stringify(['admin', about, actor ?? null])

/** Leaves what an act has led to for the page that comes next. @param about the page */
export const leaveAdminOutcome = (context: AdminContext, about: string, outcome: Outcome): void =>
  leaveOutcome(context, outcomeKey(context, about), outcome)

/** Takes what was left for this page. */
export const takeAdminOutcome = (context: AdminContext, about: string): Outcome | undefined =>
  takeOutcome(context, outcomeKey(context, about))

/** One of these notices, if the outcome is one of them. */
export const noticeOf = <Notice extends string>(
  outcome: Outcome | undefined,
  notices: readonly Notice[],
): Notice | undefined => notices.find((notice) => notice === outcome?.act)
