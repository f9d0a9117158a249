import type { Request } from 'express'
import { parseUiLocales } from '../../protocol/languages.ts'
import { sizes } from '../../protocol/lengths.ts'
import { Parameters } from '../../protocol/parameters.ts'
import type { PageContext } from '../http/context.ts'
import type { Endpoint } from '../http/endpoint.ts'
import { formParameters, tooLarge } from '../http/form.ts'
import { redirectToPage } from '../http/redirect.ts'
import { ownPath } from '../http/urls.ts'
import { assertOwnPage, isCrossSite } from './csrf.ts'

// A form that the page of a client posts carries no Lax cookie. Our own page sends it again, and then it carries them. A redirect
// would repeat everything in a URL: proxies refuse a long one, and logs would have the ID token.

/** The only field of the form that our own page sends. It holds the form of the client. */
const formField = 'client_form'

/** How an endpoint takes the forms of clients: a session is read once our own page has sent the form again. */
export const takesClientForms: Required<Pick<Endpoint<PageContext>, 'maxForm' | 'usesSession'>> = {
  maxForm: sizes.repeatedForm,
  usesSession: (incoming) =>
    incoming.req.method !== 'POST' || (formParameters(incoming.req).has(formField) && !isCrossSite(incoming)),
}

/**
 * The form of a client that our own page has sent again.
 *
 * @param form as it arrived
 * @returns undefined if it comes from the client's page
 * @throws OAuthError `invalid_request` with status 403 if another site made the browser send it
 */
export const repeatedForm = (context: PageContext, form: Parameters): Parameters | undefined => {
  const encoded = form.verbatim(formField, sizes.repeatedForm)
  if (encoded === undefined) return undefined
  assertOwnPage(context)
  return Parameters.from(new URLSearchParams(Buffer.from(encoded, 'base64url').toString()))
}

/** A frame would not show our page. */
const isFramed = ({ headers }: Request): boolean =>
  ['iframe', 'frame', 'embed', 'object'].some((destination) => destination === headers['sec-fetch-dest'])

/**
 * Lets our own page send the form of a client again. In a frame, for an empty form, and for a request that only names where it
 * is kept, the browser comes again by GET instead.
 *
 * @param redirectUri where the answer may lead; verified
 * @throws OAuthError `invalid_request` with status 413 if the form is too large
 */
export const repeatForm = (context: PageContext, form: Parameters, redirectUri?: string): void => {
  const { server, req, endpoint } = context
  const query = new URLSearchParams(form.pairs()).toString()
  if (query.length > sizes.form) throw tooLarge()
  // Our page could not say that it sends an empty form again.
  if (isFramed(req) || query === '' || form.has('request_uri')) {
    redirectToPage(context, `${ownPath(server, endpoint.path)}?${query}`)
    return
  }
  const locales = parseUiLocales(form.first('ui_locales')).join(' ')
  const action = ownPath(server, endpoint.path, locales === '' ? {} : { ui_locales: locales })
  const fields = { [formField]: Buffer.from(query).toString('base64url') }
  context.send('form-post', { action, fields }, { redirectUri })
}
