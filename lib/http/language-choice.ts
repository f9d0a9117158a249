import type { RequestHandler } from 'express'
import { returnedParameter } from '../authorization/login-location.ts'
import type { AuthorizationServer } from '../authorization-server.ts'
import { languagesOf } from '../pages/i18n/languages.ts'
import type { PageModels, PageName } from '../pages/page-models.ts'
import type { LanguageChoice } from '../pages/views.ts'
import { setCookie } from './cookies.ts'
import { queryOf } from './language.ts'
import { sendRedirect } from './send.ts'
import { ownPath } from './urls.ts'

/** The parameter by which the links in the footer name a language. */
export const languageParameter = 'language'

/** Seconds; a year. */
const lifetime = 31_536_000

/** What of a form stands in the address of its page too. */
const addressed = [
  ...['authorization_request', 'client_id', 'organization'],
  ...['post_logout_redirect_uri', 'state', 'id_token_hint'],
]

/**
 * The address at which a page can be had by GET, whatever it was an answer to: where its form leads, with what names
 * its subject. Pages that lead on by themselves have none, nor have errors, whose address nobody has checked.
 */
const addressOf = <Name extends PageName>(
  server: AuthorizationServer,
  page: Name,
  model: PageModels[Name],
): URL | undefined => {
  const paths: Partial<Record<PageName, string>> = {
    account: ownPath(server, '/account'),
    'account-sign-in': ownPath(server, '/account', { [returnedParameter]: '1' }),
    'signed-out': ownPath(server, '/logout'),
  }
  const hasForm = 'hidden' in model
  const path = hasForm ? model.action : paths[page]
  if (path === undefined) return undefined
  const address = new URL(path, server.issuer)
  for (const [name, value] of hasForm ? Object.entries(model.hidden) : [])
    if (addressed.includes(name)) address.searchParams.set(name, value)
  return address
}

/** The languages that the footer of a page offers: none where there is only one, or no page to come back to. */
export const languageChoices = <Name extends PageName>(
  server: AuthorizationServer,
  page: Name,
  model: PageModels[Name],
  language: string,
): LanguageChoice[] => {
  const { tags, nameOf } = languagesOf(server)
  const address = addressOf(server, page, model)
  if (tags.length < 2 || address === undefined) return []
  return tags.map((tag) => {
    address.searchParams.set(languageParameter, tag)
    const url = `${address.pathname}${address.search}`
    return { tag, name: nameOf(tag), ...(tag !== language && { url }) }
  })
}

/** Only our own pages and a typed address choose; a browser that does not say where it comes from may. */
const isOwnChoice = (site: string | string[] | undefined): boolean =>
  site === undefined || site === 'same-origin' || site === 'none'

/**
 * Remembers the language that a link of the footer names, and sends the browser back to the page without the parameter.
 * It comes before the session: a choice reads none and begins none.
 *
 * @param path of the page, so that the redirect leads nowhere else
 */
export const languageChoice =
  (server: AuthorizationServer, path: string): RequestHandler =>
  (req, res, next) => {
    const query = queryOf(req)
    const chosen = query.get(languageParameter)
    const tag = languagesOf(server).tags.find((each) => each === chosen)
    if (req.method !== 'GET' || tag === undefined || !isOwnChoice(req.headers['sec-fetch-site']))
      return next()
    setCookie(server, res, { purpose: 'language', value: tag, maxAge: lifetime })
    query.delete(languageParameter)
    sendRedirect(res, `${ownPath(server, path)}${query.size === 0 ? '' : `?${query}`}`)
  }
