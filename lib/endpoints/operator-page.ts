import type { PageContext } from '../http/context.ts'
import { formParameters } from '../http/form.ts'
import { ownPath } from '../http/urls.ts'
import type { OperatorForm, OperatorSection } from '../pages/operator-page-model.ts'
import type { Parameters } from '../protocol/parameters.ts'
import { type Browser, bindBrowser, boundBrowser } from '../sessions/browser-binding.ts'
import { assertCsrf, csrfToken, type FormPurpose } from '../sessions/csrf.ts'
import { leaveOutcome, type Outcome, takeOutcome } from '../sessions/notice.ts'

// Pages for the people who operate the server, in English. Features describe them; the feature that decides who is an
// operator serves them all.

/** What a page for operators gets. */
export interface OperatorContext extends PageContext {
  /** What the host calls the operator; undefined if it did not say. */
  readonly actor: string | undefined
  /** The links to the other sections. */
  readonly sections: readonly OperatorSection[]
  /** The page about a client. */
  clientUrl(clientId: string): string
  /** The page about a user. */
  userUrl(subject: string): string
}

type OperatorHandler = (context: OperatorContext) => void | Promise<void>

/** A page for operators. Its handlers run only for those who may open it. */
export interface OperatorPage {
  /** Path below the mount. */
  readonly path: string
  /** Its section; the first page of a section is the one that others link to, with the text `operator.<section>`. */
  readonly section: string
  readonly GET?: OperatorHandler
  readonly POST?: OperatorHandler
}

type Fields = Readonly<Record<string, string>>

/** A form is for one act on one thing, by one operator in one browser. */
const purposeOf = (
  { actor }: OperatorContext,
  { path, act, about }: { readonly path: string; readonly act: string; readonly about: Fields },
  browser: Browser,
): FormPurpose => ({
  action: 'operator',
  about: JSON.stringify([path, act, Object.entries(about), actor ?? null]),
  browser,
})

/**
 * A form with a CSRF token for this act.
 *
 * @param about what the act is about, by field
 */
export const operatorForm = (
  context: OperatorContext,
  path: string,
  act: string,
  about: Fields = {},
): OperatorForm => {
  const purpose = purposeOf(context, { path, act, about }, bindBrowser(context))
  return {
    action: ownPath(context.server, path),
    hidden: { act, ...about, csrf_token: csrfToken(context.server, purpose) },
  }
}

/** A form that was sent by our own page. */
export interface OperatorSubmission<Name extends string> {
  readonly act: string
  readonly about: Readonly<Partial<Record<Name, string>>>
  readonly form: Parameters
}

/**
 * Reads a form that {@link operatorForm} made.
 *
 * @param names the fields that may say what the act is about, in the order in which the form was made
 * @throws OAuthError `invalid_request` with status 403 if it was not given to this operator in this browser for this
 */
export const submittedForm = <Name extends string>(
  context: OperatorContext,
  names: readonly Name[],
): OperatorSubmission<Name> => {
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
  return { act, about: about as OperatorSubmission<Name>['about'], form }
}

/** Notices are for one operator, on one page. */
const outcomeKey = ({ actor }: OperatorContext, about: string): string =>
  JSON.stringify(['operator', about, actor ?? null])

/** Leaves what an act has led to for the page that comes next. @param about the page */
export const leaveOperatorOutcome = (context: OperatorContext, about: string, outcome: Outcome): void =>
  leaveOutcome(context, outcomeKey(context, about), outcome)

/** Takes what was left for this page. */
export const takeOperatorOutcome = (context: OperatorContext, about: string): Outcome | undefined =>
  takeOutcome(context, outcomeKey(context, about))

/** One of these notices, if the outcome is one of them. */
export const noticeOf = <Notice extends string>(
  outcome: Outcome | undefined,
  notices: readonly Notice[],
): Notice | undefined => notices.find((notice) => notice === outcome?.act)
