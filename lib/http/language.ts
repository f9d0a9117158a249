import type { Request } from 'express'
import type { AuthorizationServer } from '../authorization-server.ts'
import { languagesOf } from '../pages/i18n/languages.ts'
import { lookUpLanguage, parseAcceptLanguage, parseUiLocales, withoutRefused } from '../protocol/languages.ts'
import { readCookie } from './cookies.ts'

/** What is known of a request beyond its headers. */
interface Wishes {
  /** Languages that the authorization request asked for. */
  readonly asked?: readonly string[]
  /** The language of the page that the form belongs to. */
  readonly shown?: string
}

const wishes = new WeakMap<Request, Wishes>()

/** From now on this request is about an authorization request that asked for these languages. */
export const askForLanguages = (req: Request, asked: readonly string[] | undefined): void => {
  if (asked !== undefined) wishes.set(req, { ...wishes.get(req), asked })
}

/** The answer to a form is about the page that was read, whatever was chosen in another tab since. */
export const keepLanguage = (req: Request, shown: string | undefined): void => {
  if (shown !== undefined) wishes.set(req, { ...wishes.get(req), shown })
}

/** The query as it came; a parameter that is repeated or malformed is no reason for an error here. */
export const queryOf = (req: Request): URLSearchParams => {
  const start = req.url.indexOf('?')
  return new URLSearchParams(start === -1 ? '' : req.url.slice(start + 1))
}

/** What the person chose in this browser, if it is a language that is on. */
const chosenLanguage = (
  server: AuthorizationServer,
  req: Request,
  tags: readonly string[],
): string | undefined => {
  const value = readCookie(server, req, 'language')
  return tags.find((tag) => tag === value)
}

/** The languages that a request asks for by `ui_locales`: a waiting one, or that of the address. */
export const askedLanguages = (req: Request): readonly string[] =>
  wishes.get(req)?.asked ?? parseUiLocales(queryOf(req).get('ui_locales') ?? undefined)

/**
 * The language in which a request is answered: what the person chose here, then `ui_locales` (OIDC Core §3.1.2.1),
 * then `Accept-Language` (RFC 9110 §12.5.4), then the host's default.
 */
export const languageOf = (server: AuthorizationServer, req: Request): string => {
  const { tags, default: standard } = languagesOf(server)
  const shown = wishes.get(req)?.shown
  const decided = tags.find((tag) => tag === shown) ?? chosenLanguage(server, req, tags)
  if (decided !== undefined) return decided
  const { wanted, refused } = parseAcceptLanguage(req.headers['accept-language'])
  return (
    lookUpLanguage(askedLanguages(req), tags) ??
    lookUpLanguage(wanted, withoutRefused(tags, refused)) ??
    standard
  )
}
