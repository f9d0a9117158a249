import type { Request, Response } from 'express'
import helmet from 'helmet'
import type { ServerSetup } from '../../oauth/authorization-server.ts'
import { type RedirectUriKind, redirectUriKind } from '../../protocol/clients/redirect-uri.ts'
import type { PageModels, PageName } from '../pages/page-models.ts'
import type { RenderOptions } from '../pages/views.ts'
import type { Deliver, Incoming, PageContext, PageOutcome } from './context.ts'
import { languageChoices } from './language.ts'
import { send, sendHtml } from './send.ts'
import { frontEndLocation } from './urls.ts'

/** The HTML of a page. If a template of the host fails, our own templates are used. */
const htmlOf = <Name extends PageName>(
  { views, warnOnce }: Pick<ServerSetup, 'views' | 'warnOnce'>,
  page: Name,
  model: PageModels[Name],
  options: RenderOptions,
): string => {
  try {
    return views.render(page, model, options)
  } catch (error) {
    if (views.renderBuiltIn === undefined) throw error
    warnOnce(`a template of pages.views failed at the page ${page}; Latchkey's own are used instead`, error)
    return views.renderBuiltIn(page, model, options)
  }
}

/** The ways in which a handler answers with pages in one language. */
export const pagesIn = (
  incoming: Incoming,
  language: string,
): Pick<PageContext, 'language' | 'page' | 'send'> => {
  const page: PageContext['page'] = (name, model, options = {}) =>
    ({ page: name, model, language, options }) as PageOutcome
  return {
    language,
    page,
    send: (name, model, options) => incoming.deliver(incoming, page(name, model, options)),
  }
}

const sendHtmlPage = (incoming: Incoming, { page, model, language, options }: PageOutcome): void => {
  const { server, res } = incoming
  const { status = 200, redirectUri, headers = {}, frames = [], reads = false } = options
  const choices = languageChoices(incoming, page, model, language)
  const html = htmlOf(server, page, model, { language, choices })
  setPageHeaders(res, { redirectUri, frames, reads, fonts: server.views.hasFonts() })
  sendHtml(res, html, { status, headers: { 'Content-Language': language, ...headers } })
}

/** Redirects with 303, so that the browser continues by GET after any method. */
const sendLocation = (res: Response, location: string): void => {
  // Browsers obey it on every hop: with the header of an app-wide helmet, a popup would lose its opener.
  res.removeHeader('Cross-Origin-Opener-Policy')
  send(res, 303, { Location: location, 'Cache-Control': 'no-store' }, '')
}

/**
 * Sends our own pages, and redirects. If a redirect has no fragment, the browser keeps that of the request: a link to
 * `/authorize?…#id` could then put the focus on a button of the page at the end.
 */
export const deliverToBrowser: Deliver = (incoming, outcome) => {
  const { server, res } = incoming
  if ('page' in outcome) return sendHtmlPage(incoming, outcome)
  if ('redirectTo' in outcome) return sendLocation(res, outcome.redirectTo)
  const location = frontEndLocation(server, outcome.redirectToPage) ?? outcome.redirectToPage
  sendLocation(res, location.includes('#') ? location : `${location}#_`)
}

const loopbackSources = (hostname: string): readonly string[] => {
  // CSP has no source for [::1].
  if (hostname === '[::1]') return ['https:', 'http:']
  const below = hostname.endsWith('.localhost') ? ['http://*.localhost:*'] : []
  return ['https:', 'http://127.0.0.1:*', 'http://localhost:*', ...below]
}

/**
 * Sources for the `form-action` of a page. Browsers check it on every redirect after a POST, so it must include the
 * scheme of the client's redirect URI: otherwise the Allow button seems to do nothing although the code was issued.
 */
const formActionFor = (redirectUri: string | undefined): string[] => {
  if (redirectUri === undefined) return ["'self'"]
  const url = new URL(redirectUri)
  const sources: Readonly<Record<RedirectUriKind, readonly string[]>> = {
    https: ['https:'],
    http: ['https:', 'http:'],
    loopback: loopbackSources(url.hostname),
    'private-use': ['https:', url.protocol],
  }
  return ["'self'", ...sources[redirectUriKind(redirectUri)]]
}

type HeaderMiddleware = (req: Request, res: Response, next: (error?: unknown) => void) => void

const contentSecurityPolicy = (
  formAction: readonly string[],
  {
    fonts,
    frameSrc = [],
    reads = false,
  }: { readonly fonts: boolean; readonly frameSrc?: readonly string[]; readonly reads?: boolean },
): HeaderMiddleware =>
  helmet.contentSecurityPolicy({
    useDefaults: false,
    directives: {
      defaultSrc: ["'none'"],
      styleSrc: ["'self'"],
      imgSrc: ["'self'"],
      ...(fonts && { fontSrc: ["'self'"] }),
      scriptSrc: ["'self'"],
      ...(reads && { connectSrc: ["'self'"] }),
      baseUri: ["'none'"],
      frameAncestors: ["'none'"],
      formAction: [...formAction],
      ...(frameSrc.length > 0 && { frameSrc: [...frameSrc] }),
    },
  })

// Made once: helmet checks every directive when it makes a policy.
const usualPolicies = (fonts: boolean) => ({
  own: contentSecurityPolicy(["'self'"], { fonts }),
  https: contentSecurityPolicy(["'self'", 'https:'], { fonts }),
})
const withoutFonts = usualPolicies(false)
const withFonts = usualPolicies(true)
const others: readonly HeaderMiddleware[] = [
  helmet.frameguard({ action: 'deny' }),
  helmet.noSniff(),
  // With no-referrer, browsers would send `Origin: null` with our own forms.
  helmet.referrerPolicy({ policy: 'same-origin' }),
]

/** The sources that a page may load and the places where its forms may lead. */
interface PageSources {
  /** Where the pending request will end. */
  readonly redirectUri: string | undefined
  /** URLs that the page opens in frames. */
  readonly frames: readonly string[]
  /** Whether its script reads pages of this server. */
  readonly reads: boolean
  /** Whether the page loads fonts. */
  readonly fonts: boolean
}

const policyFor = ({ redirectUri, frames, reads, fonts }: PageSources): HeaderMiddleware => {
  const usual = fonts ? withFonts : withoutFonts
  const isUsual = frames.length === 0 && !reads
  if (isUsual && redirectUri === undefined) return usual.own
  if (isUsual && redirectUri !== undefined && redirectUriKind(redirectUri) === 'https') return usual.https
  const frameSrc = new Set(frames.map((url) => new URL(url).origin))
  return contentSecurityPolicy(formActionFor(redirectUri), { fonts, reads, frameSrc: [...frameSrc] })
}

/** Sets the headers of a page, replacing those of an app-wide helmet. */
const setPageHeaders = (res: Response, sources: PageSources): void => {
  for (const middleware of [policyFor(sources), ...others]) {
    middleware(res.req, res, (error) => {
      if (error) throw error
    })
  }
  res.setHeader('Cache-Control', 'no-store')
  res.setHeader('X-Robots-Tag', 'noindex')
  // A client may sign users in through a popup, which this header would separate from the client.
  res.removeHeader('Cross-Origin-Opener-Policy')
  res.removeHeader('Content-Security-Policy-Report-Only')
}
