import type { Parameters } from '../../protocol/parameters.ts'
import { refusal } from '../../protocol/refusal.ts'
import type { PageContext } from '../http/context.ts'
import type { Endpoint } from '../http/endpoint.ts'
import { formParameters, queryParameters } from '../http/form.ts'
import { redirectToPage } from '../http/redirect.ts'
import { pagesIn } from '../http/send-page.ts'
import { ownPath } from '../http/urls.ts'
import type { PageForm } from '../pages/page-parts.ts'
import { boundBrowser } from '../sessions/browser-binding.ts'
import { assertOwnPage, formToken, submittedForm } from '../sessions/csrf.ts'
import { type ActiveLogin, activeLogin, recentLogin } from '../sessions/login.ts'
import { clearNotice, leaveNotice, type Notice, readNotice } from '../sessions/notice.ts'
import { accountSignIn, showAccountLogin, submitAccountLogin } from './account/account-login.ts'
import { strongerProof } from './login-form.ts'
import { fieldsIn, type NamedParameters } from './page-values.ts'

/** The person who uses a signed page: a user who is signed in, or an administrator. */
export interface Person {
  /** Forms and notices of one person are worthless to another in the same browser. */
  readonly id: string
}

/** A signed page as its handlers see it. */
export interface SignedContext<P extends Person> extends PageContext {
  readonly person: P
  /** The notice that the last act left for this page. */
  readonly notice: Notice | undefined
  /**
   * A form that the page shows. Unless the form has one act only, its buttons have the name `decision` and the name of an
   * act as value.
   *
   * @param fields what the form is about: named by `fields` of the page
   * @param decision the only act of the form
   */
  form(fields?: NamedParameters, decision?: string): PageForm
}

/** Where an act leads: to a page, with a notice for it. Undefined if the act has answered the request. */
export interface ActResult {
  /** Below the mount. @default the same page */
  readonly path?: string
  /** Of a notice for a page that is about something: the `fields` of that page. */
  readonly query?: NamedParameters
  readonly notice?: Notice | undefined
}

/** The act of a button. */
export type Act<P extends Person> = (
  context: SignedContext<P>,
  form: Parameters,
) => Promise<ActResult | undefined> | ActResult | undefined

/** A page on which a person presses buttons: each is checked to come from the page that this person saw. */
export interface SignedPage<P extends Person> {
  /** Below the mount. */
  readonly path: string
  /** The parameters that say what the page is about, in URLs and forms. @default none */
  readonly fields?: readonly string[]
  /** The most bytes of a form. @default 16384 */
  readonly maxForm?: number
  /** The only language of the page. @default that of the browser */
  readonly language?: string
  /** Whether a notice stays until the next act, so that a reload shows it again. @default it is shown once */
  readonly keepsNotice?: boolean
  /** Whether a form of a browser that has lost its cookies leads to the page, on which its user signs in. @default it is refused */
  readonly restarts?: boolean
  /** Lets the person in, or answers the request and returns undefined. */
  admit(context: PageContext, fields: NamedParameters): Promise<P | undefined>
  show(context: SignedContext<P>, query: Parameters): Promise<void> | void
  /** The acts of the buttons, by the value of `decision`; what stands there after a colon is for the act. */
  readonly acts?: Readonly<Record<string, Act<P>>>
  /** Handles a form without `decision`. @default it is refused */
  signIn?(context: PageContext, fields: NamedParameters): Promise<void>
}

/** Notices are for one person, on one page about one thing. */
const noticesOf = (path: string, { id }: Person, fields: NamedParameters): string =>
  JSON.stringify([path, id, Object.entries(fields)])

/**
 * An endpoint with a page and the forms on it.
 *
 * @example
 * signedPage({ path: '/admin/keys', admit, show, acts: { rotate: async (context) => ({ notice: { kind: 'rotated' } }) } })
 */
export const signedPage = <P extends Person>(page: SignedPage<P>): Endpoint<PageContext> => {
  const {
    path,
    fields: names = [],
    acts = {},
    maxForm,
    language,
    keepsNotice,
    restarts,
    admit,
    show,
    signIn,
  } = page
  const aboutOf = ({ id }: P, fields: NamedParameters, decision?: string): string[] => [
    id,
    ...Object.entries(fields).flat(),
    ...(decision === undefined ? [] : [decision]),
  ]

  const signed = (context: PageContext, person: P, notice?: Notice): SignedContext<P> => ({
    ...context,
    ...(language !== undefined && pagesIn(context, language)),
    person,
    notice,
    form: (fields = {}, decision?: string) => ({
      action: ownPath(context.server, path),
      hidden: {
        ...fields,
        ...(decision !== undefined && { decision }),
        csrf_token: formToken(context, aboutOf(person, fields, decision)),
      },
    }),
  })

  const get = async (context: PageContext): Promise<void> => {
    const query = queryParameters(context.req)
    const fields = fieldsIn(query, names)
    const person = await admit(context, fields)
    if (person === undefined) return
    const notice = readNotice(context, noticesOf(path, person, fields))
    if (notice && !keepsNotice) clearNotice(context)
    await show(signed(context, person, notice), query)
  }

  const post = async (context: PageContext): Promise<void> => {
    const { server, req } = context
    const form = formParameters(req)
    const fields = fieldsIn(form, names)
    if (signIn && !form.has('decision')) return signIn(context, fieldsIn(queryParameters(req), names))
    // Who is signed in is looked up after this: that can store a login and give the browser a new cookie.
    assertOwnPage(context)
    if (restarts && boundBrowser(context) === undefined)
      return redirectToPage(context, ownPath(server, path, fields))
    const person = await admit(context, fields)
    if (person === undefined) return
    const decision = form.optional('decision') ?? ''
    // A form has the token of its only act, or that of all acts.
    submittedForm(context, aboutOf(person, fields, decision), aboutOf(person, fields))
    const [name = ''] = decision.split(':')
    const act = Object.hasOwn(acts, name) ? acts[name] : undefined
    if (act === undefined)
      throw refusal('decision_unknown', { values: { decisions: `one of: ${Object.keys(acts).join(', ')}` } })
    const result = await act(signed(context, person), form)
    if (result === undefined) return
    const { path: next = path, query = {}, notice } = result
    if (notice) leaveNotice(context, noticesOf(next, person, query), notice)
    else clearNotice(context)
    redirectToPage(context, ownPath(server, next, query))
  }

  return {
    path,
    maxForm,
    ...(signIn && { signInParameters: names }),
    methods: { GET: get, ...((page.acts || signIn) && { POST: post }) },
  }
}

/** A user who is signed in. */
export interface SignedInUser extends Person, ActiveLogin {}

/** Which users a page of the account lets in. */
interface AccountAccess {
  readonly path: string
  /** Seconds: only a user who has signed in within them may use the page. @default any login will do */
  readonly recent?: number
  /**
   * Whether the page changes how the user signs in. Who can prove more than the password must then have done so: otherwise the
   * password alone would be enough for everything that is added there. @default false
   */
  readonly changesSignIn?: boolean
  /** Lets a user in whose login is good enough otherwise. @default everyone */
  allows?(context: PageContext, user: ActiveLogin): Promise<boolean>
}

/** A page of the user's account. */
export interface SignedAccountPage<P extends Person>
  extends AccountAccess,
    Omit<SignedPage<P>, 'admit' | 'restarts' | 'signIn'> {}

const isPasswordOnly = ({ login }: ActiveLogin): boolean => login.amr.every((method) => method === 'pwd')

/**
 * The proof that the user of a page still lacks, or must give at the sign-in there. What they set up after they had signed in
 * asks nothing more of that login.
 *
 * @param current the login, if it is recent enough for the page
 */
const missingProof = async (
  context: PageContext,
  { path, changesSignIn = false }: AccountAccess,
  active: ActiveLogin | undefined,
  current: ActiveLogin | undefined,
): ReturnType<typeof strongerProof> => {
  if (!changesSignIn || active === undefined || (current && !isPasswordOnly(current))) return undefined
  const { server } = context
  const { acrValues } = accountSignIn(server, path)
  return strongerProof(context, active.user, { time: current?.login.authTime ?? server.now(), acrValues })
}

/** Lets in a user who is signed in. Others see the form to sign in, and go on from it. */
const admitUser = async (
  context: PageContext,
  page: AccountAccess,
  fields: NamedParameters,
): Promise<SignedInUser | undefined> => {
  const { path, recent, allows } = page
  const { server, req } = context
  const active = await activeLogin(context)
  const current = recent === undefined ? active : recentLogin(context, active, recent)
  const proof = await missingProof(context, page, active, current)
  if (current && proof === undefined && ((await allows?.(context, current)) ?? true))
    return { ...current, id: current.login.subject }
  if (req.method === 'POST') redirectToPage(context, ownPath(server, path, fields))
  else await showAccountLogin(context, path, active, fields, proof === 'step' ? undefined : proof?.method)
  return undefined
}

/**
 * A page of the account for users whom the feature lets in.
 *
 * @param admit lets the user in as the person of the page, or answers the request and returns undefined
 */
export const accountPageFor = <P extends Person>(
  page: SignedAccountPage<P>,
  admit: (context: PageContext, user: SignedInUser) => Promise<P | undefined>,
): Endpoint<PageContext> =>
  signedPage<P>({
    ...page,
    restarts: true,
    async admit(context, fields) {
      const user = await admitUser(context, page, fields)
      return user && admit(context, user)
    },
    signIn: (context, fields) => submitAccountLogin(context, page.path, fields),
  })

/**
 * A page of the user's account. Others see the form to sign in there, and go on from it.
 *
 * @example accountPage({ path: '/account/tokens/new', recent: 600, show, acts: { create } })
 */
export const accountPage = (page: SignedAccountPage<SignedInUser>): Endpoint<PageContext> =>
  accountPageFor(page, async (_, user) => user)
