import {
  type PendingRequest,
  requestParameter,
  withPending,
} from '../../oauth/authorization/pending-request.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import type { PageContext } from '../http/context.ts'
import { formParameters, queryParameters } from '../http/form.ts'
import type { Endpoint } from '../http/route.ts'
import { ownPath } from '../http/urls.ts'
import type { PageForm } from '../pages/page-parts.ts'
import { formToken, submittedForm } from '../sessions/csrf.ts'
import type { Fields } from './page-values.ts'

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
  fields: Fields = {},
): PageForm => ({
  action: ownPath(context.server, context.endpoint.path),
  hidden: {
    [requestParameter]: pending.secret,
    ...fields,
    csrf_token: formToken(context, [pending.id]),
  },
})

type Handler = (context: PageContext, pending: PendingRequest, parameters: Parameters) => Promise<void>

/**
 * A page about a pending request.
 *
 * @param submit handles the form that {@link pendingForm} made
 */
export const pendingPage = (path: string, show: Handler, submit: Handler): Endpoint<PageContext> => ({
  path,
  isInteraction: true,
  methods: {
    GET: (context) => {
      const query = queryParameters(context.req)
      return withPending(context, query, (about, pending) => show(about, pending, query))
    },
    POST: (context) => {
      const form = formParameters(context.req)
      const answer = async (about: PageContext, pending: PendingRequest): Promise<void> => {
        submittedForm(about, [pending.id])
        await submit(about, pending, form)
      }
      return withPending(context, form, answer, form.optional(shownLanguage))
    },
  },
})
