import { explainingClient } from '../../oauth/authorization/client-error.ts'
import { toDecide } from '../../oauth/authorization/context.ts'
import { continueRequest } from '../../oauth/authorization/continue.ts'
import { inItsLanguage, openPending, requestParameter } from '../../oauth/authorization/pending-request.ts'
import type { Changes, PendingRequest } from '../../oauth/authorization/request-kind.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import type { Outcome, PageContext } from '../http/context.ts'
import type { Endpoint } from '../http/endpoint.ts'
import { formParameters, queryParameters } from '../http/form.ts'
import { redirectToPage } from '../http/redirect.ts'
import { homeUrl, ownPath } from '../http/urls.ts'
import type { PageForm } from '../pages/page-parts.ts'
import { formToken, submittedForm } from '../sessions/csrf.ts'
import type { NamedParameters } from './page-values.ts'

/** The hidden field with the language of the page: the answer is to what the page said in it. */
export const shownLanguage = 'locale'

/**
 * The form of a page about a pending request, which posts to that page.
 *
 * @param fields what else the form has to say
 */
export const pendingForm = (
  context: PageContext,
  pending: PendingRequest,
  fields: NamedParameters = {},
): PageForm => ({
  action: ownPath(context.server, context.endpoint.path),
  hidden: {
    [requestParameter]: pending.secret,
    ...fields,
    csrf_token: formToken(context, [pending.id]),
  },
})

/** The outcome of a page, or the news with which its request goes on. */
export type PendingOutcome = Outcome | { readonly changes: Changes }

/** Shows a page about a pending request, or handles its form. */
export type PendingHandler = (
  context: PageContext,
  pending: PendingRequest,
  parameters: Parameters,
) => Promise<PendingOutcome>

/**
 * Opens the pending request that a page or form names, and answers in its language with what the handler returns. A page
 * without a request redirects to the home page, and a form must be one that {@link pendingForm} made.
 *
 * @throws EndedRequestError as {@link openPending}
 */
export const withPending = async (
  context: PageContext,
  parameters: Parameters,
  handle: PendingHandler,
): Promise<void> => {
  const isForm = context.req.method === 'POST'
  // A bookmark of a page names no request.
  if (!isForm && !parameters.has(requestParameter)) {
    return redirectToPage(context, homeUrl(context.server))
  }
  await explainingClient(context, async () => {
    const pending = await openPending(context, parameters)
    const work = async (inner: PageContext): Promise<Outcome> => {
      if (isForm) submittedForm(inner, [pending.id])
      const outcome = await handle(inner, pending, parameters)
      return 'changes' in outcome ? continueRequest(inner, toDecide(pending), outcome.changes) : outcome
    }
    const formLanguage = isForm ? parameters.optional(shownLanguage) : undefined
    await inItsLanguage(context, pending.request, work, formLanguage)
  })
}

/**
 * A page about a pending request.
 *
 * @param submit handles the form that {@link pendingForm} made
 */
export const pendingPage = (
  path: string,
  show: PendingHandler,
  submit: PendingHandler,
): Endpoint<PageContext> => ({
  path,
  isInteraction: true,
  methods: {
    GET: (context) => withPending(context, queryParameters(context.req), show),
    POST: (context) => withPending(context, formParameters(context.req), submit),
  },
})
