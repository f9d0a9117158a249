import type { Request } from 'express'
import type { ServerSetup } from '../authorization-server.ts'
import { lookUpLanguage, parseAcceptLanguage, parseUiLocales, withoutRefused } from '../protocol/languages.ts'
import { readCookie } from './cookies.ts'
import { queryOf } from './form.ts'

/** What is known of a request beyond its headers. */
export interface LanguagePreference {
  /** `ui_locales` of the pending request (OIDC Core §3.1.2.1). */
  readonly requested?: readonly string[]
  /** The language of the page that the form was on. */
  readonly shown?: string
}

/** The languages that a request asks for by `ui_locales` in its own query. */
export const uiLocalesOf = (req: Request): readonly string[] =>
  parseUiLocales(queryOf(req).get('ui_locales') ?? undefined)

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
