import type { Request } from 'express'
import type { ServerSetup } from '../../oauth/authorization-server.ts'
import {
  lookUpLanguage,
  parseAcceptLanguage,
  parseUiLocales,
  withoutRefused,
} from '../../protocol/languages.ts'
import type { PageModels, PageName } from '../pages/page-models.ts'
import type { LanguageChoice } from '../pages/views.ts'
import { featureAccountPages } from './account-page.ts'
import type { Incoming, Outcome } from './context.ts'
import { readCookie, setCookie } from './cookies.ts'
import { queryOf } from './form.ts'
import { ownPath } from './urls.ts'

/** Wishes about the language that stand outside the headers of a request. */
export interface LanguagePreference {
  /** `ui_locales` of the pending request (OIDC Core §3.1.2.1). */
  readonly requested?: readonly string[]
  /** The language of the page that the form was on. */
  readonly shown?: string
}

/** The languages that a request asks for by `ui_locales` in its own query. */
export const uiLocalesOf = (req: Request): readonly string[] =>
  req.url.includes('?') ? parseUiLocales(queryOf(req).get('ui_locales') ?? undefined) : []

/**
 * The language of the answer: that of the form, the one that the person chose in this browser, `ui_locales`
 * (OIDC Core §3.1.2.1), `Accept-Language` (RFC 9110 §12.5.4), then the host's default.
 */
export const languageOf = (
  server: ServerSetup,
  req: Request,
  { requested, shown }: LanguagePreference = {},
): string => {
  const { tags, default: standard } = server.languages
  const isOn = (tag: string | undefined): boolean => tag !== undefined && tags.includes(tag)
  const chosen = [shown, readCookie(server, req, 'language')].find(isOn)
  if (chosen !== undefined) return chosen
  const { wanted, refused } = parseAcceptLanguage(req.headers['accept-language'])
  return (
    lookUpLanguage(requested ?? uiLocalesOf(req), tags) ??
    lookUpLanguage(wanted, withoutRefused(tags, refused)) ??
    standard
  )
}

/** The parameter by which the links in the footer name a language. */
const languageParameter = 'language'

/** Seconds; a year. */
const lifetime = 31_536_000

/** Form fields that are also parameters in the URL of the page. */
const urlParameters = [
  'authorization_request',
  'replaces',
  'client_id',
  'device',
  'organization',
  'post_logout_redirect_uri',
  'state',
]

/** Pages without a form whose URL needs no check. */
const pathsOf = (server: ServerSetup): Partial<Record<PageName, string>> => ({
  account: ownPath(server, '/account'),
  devices: ownPath(server, '/account/devices'),
  'account-sign-in': ownPath(server, '/account', { returned: '1' }),
  'signed-out': ownPath(server, '/logout'),
  ...Object.fromEntries(
    server
      .added(featureAccountPages)
      // A page about one thing needs the id of that thing in its URL.
      .filter(({ parameters }) => parameters === undefined)
      .map(({ page, endpoint }) => [page, ownPath(server, endpoint.path)]),
  ),
})

/**
 * The path of an error page by GET. Its query is not repeated on the page, because it is not checked: the browser
 * sends the URL of the page as `Referer`.
 */
const errorPath = ({ server, endpoint, req }: Incoming): URL | undefined =>
  /^\/[a-z_-]+$/.test(endpoint.path) && req.method === 'GET'
    ? new URL(ownPath(server, endpoint.path), server.issuer)
    : undefined

/** The query of the same page before the user chose a language there; empty if the browser does not say it. */
const earlierQuery = ({ server, endpoint, req }: Incoming): URLSearchParams => {
  const { referer = '' } = req.headers
  const { origin } = new URL(server.issuer)
  const page = URL.canParse(referer) ? new URL(referer) : undefined
  const isSame = page?.origin === origin && page.pathname === ownPath(server, endpoint.path)
  return isSame ? page.searchParams : new URLSearchParams()
}

/**
 * The URL that shows the same page by GET: the action of its form with the fields that name its subject. Pages that
 * redirect by themselves have none, and neither has one with a token that no later page shows.
 */
const urlOf = <Name extends PageName>(
  incoming: Incoming,
  page: Name,
  model: PageModels[Name],
): URL | undefined => {
  if (page === 'error') return errorPath(incoming)
  if ('created' in model && model.created) return undefined
  const { server } = incoming
  const hasForm = 'hidden' in model
  const path = hasForm ? model.action : pathsOf(server)[page]
  if (path === undefined) return undefined
  const url = new URL(path, server.issuer)
  if ('stillSignedIn' in model && model.stillSignedIn) url.searchParams.set('signed_out', '1')
  for (const [name, value] of hasForm ? Object.entries(model.hidden) : [])
    if (urlParameters.includes(name)) url.searchParams.set(name, value)
  return url
}

/** The languages in the footer of a page; none if there is only one, or no URL to come back to. */
export const languageChoices = <Name extends PageName>(
  incoming: Incoming,
  page: Name,
  model: PageModels[Name],
  language: string,
): LanguageChoice[] => {
  const { tags, nameOf } = incoming.server.languages
  const url = urlOf(incoming, page, model)
  if (tags.length < 2 || url === undefined) return []
  return tags.map((tag) => {
    url.searchParams.set(languageParameter, tag)
    return { tag, name: nameOf(tag), ...(tag !== language && { url: `${url.pathname}${url.search}` }) }
  })
}

/** Only our own pages and a typed URL choose; browsers without Fetch Metadata may. */
const isOwnChoice = (site: string | string[] | undefined): boolean =>
  site === undefined || site === 'same-origin' || site === 'none'

/**
 * Remembers the language that a link of the footer names, and leads to the page without the parameter. It comes before the
 * session, so that choosing a language neither reads nor starts one.
 *
 * @returns undefined if the request chooses none
 */
export const chooseLanguage = (incoming: Incoming): Outcome | undefined => {
  const { server, endpoint, req, res } = incoming
  if (req.method !== 'GET' || !req.url.includes('?')) return undefined
  const query = queryOf(req)
  const chosen = query.get(languageParameter)
  const tag = chosen === null ? undefined : server.languages.tags.find((each) => each === chosen)
  if (tag === undefined || !isOwnChoice(req.headers['sec-fetch-site'])) return undefined
  setCookie(server, res, { purpose: 'language', value: tag, maxAge: lifetime })
  query.delete(languageParameter)
  const rest = query.size === 0 ? earlierQuery(incoming) : query
  rest.delete(languageParameter)
  return { redirectToPage: `${ownPath(server, endpoint.path)}${rest.size === 0 ? '' : `?${rest}`}` }
}
