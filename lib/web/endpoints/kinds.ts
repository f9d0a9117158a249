import type { Request } from 'express'
import { renderPageError } from '../../oauth/authorization/response.ts'
import type { AuthorizationServer, ServerSetup } from '../../oauth/authorization-server.ts'
import { sizes } from '../../protocol/lengths.ts'
import { refusal } from '../../protocol/refusal.ts'
import { arrivalHeader, insecureArrival, insecureArrivals } from '../http/arrival.ts'
import type { Context, Incoming, Outcome, PageContext } from '../http/context.ts'
import { isSecure } from '../http/cookies.ts'
import { errorRenderer, sendApiError, sendJsonError } from '../http/errors.ts'
import { queryOf, readForm } from '../http/form.ts'
import { chooseLanguage, languageOf } from '../http/language.ts'
import { readyInTime } from '../http/ready.ts'
import type { EndpointKind } from '../http/route.ts'
import { sendEmpty } from '../http/send.ts'
import { pagesIn } from '../http/send-page.ts'
import { frontEndLocation, ownPath } from '../http/urls.ts'
import { noSession, sessionOpener } from '../sessions/session.ts'

const headers = { 'Retry-After': '60' }

/**
 * Refuses plain-http requests under an https issuer: browsers drop Secure cookies there, and no login would last. The log
 * says what to set, once for each reason.
 *
 * @returns a function that throws OAuthError `temporarily_unavailable` for such a request
 */
const secureCheck = (server: ServerSetup): ((req: Request) => void) => {
  if (!isSecure(server)) return () => {}
  const logged = new Set<string>()
  return (req) => {
    const arrival = insecureArrival(req, server.issuer)
    if (arrival === undefined) return
    const { problem, fix } = insecureArrivals[arrival]
    if (!logged.has(arrival)) server.options.logger.error(`latchkey: ${problem}; ${fix}`)
    logged.add(arrival)
    throw refusal('request_not_https', {
      values: { problem },
      headers: { ...headers, [arrivalHeader]: arrival },
    })
  }
}

/**
 * Refuses requests that arrive elsewhere than at the issuer that was guessed in development, and says what to set.
 *
 * @returns a function that throws OAuthError `temporarily_unavailable` for such a request
 */
const issuerCheck = (server: ServerSetup): ((req: Request) => void) => {
  const issuer = new URL(server.issuer)
  return (req) => {
    const { host = '' } = req.headers
    if (!server.options.issuerIsGuess || (host === issuer.host && req.baseUrl === server.options.basePath))
      return
    // It stands in quotes below, in a line to copy.
    const actual = `${req.protocol}://${host}${req.baseUrl}`.replaceAll("'", '%27')
    server.options.logger.error(
      `latchkey: a request arrived at ${actual}, but the issuer is ${server.issuer}; if you open the app at that URL, set issuer: '${actual}'`,
    )
    throw refusal('issuer_differs', {
      values: { issuer: server.issuer, url: actual },
      headers: { ...headers, [arrivalHeader]: 'otherIssuer' },
    })
  }
}

/**
 * Warns once if the app trusts every proxy: then clients choose their address with `X-Forwarded-For`, and evade every
 * limit per address.
 *
 * @returns a function to call with each request
 */
export const proxyCheck = ({ options }: ServerSetup): ((req: Request) => void) => {
  let isDone = false
  return ({ app }) => {
    if (isDone) return
    isDone = true
    if (app?.get('trust proxy') !== true) return
    options.logger.warn(
      "latchkey: with app.set('trust proxy', true) clients choose their own address, which defeats the limits on wrong passwords; set the number of your proxies, such as app.set('trust proxy', 1)",
    )
  }
}

type RequestCheck = (req: Request) => void

/** The steps before every handler: the request passes the checks, the server is ready, and the form is read. */
const open = async (
  incoming: Incoming,
  checks: readonly RequestCheck[],
  bodyLimit: number,
): Promise<Context> => {
  const { server, req } = incoming
  for (const check of checks) check(req)
  const ready: AuthorizationServer = server.current() ?? (await readyInTime(server))
  if (req.method === 'POST') await readForm(req, bodyLimit)
  return { ...incoming, server: ready }
}

/** Endpoints that programs call: no session, no cookie, errors as JSON. */
export const apiKind = (server: ServerSetup, checkProxy: RequestCheck): EndpointKind<Context> => {
  const checks = [checkProxy, secureCheck(server), issuerCheck(server)]
  return {
    open: (incoming) => open(incoming, checks, sizes.form),
    renderError: errorRenderer(sendApiError),
  }
}

/**
 * Whether a browser asks for a page before the user does: with `Sec-Purpose`, or with the older `Purpose`, `X-Purpose` or
 * `X-Moz`.
 */
const isPrefetch = ({ headers }: Request): boolean =>
  ['sec-purpose', 'purpose', 'x-purpose', 'x-moz'].some(
    (name) => headers[name] !== undefined && /prefetch|prerender|preview/i.test(String(headers[name])),
  )

/** Leads a browser that opens a page to the front end of the host. @returns undefined unless that renders the page */
const leadToFrontEnd = ({ server, endpoint, req }: Context): Outcome | undefined => {
  const redirectToPage = `${ownPath(server, endpoint.path)}?${queryOf(req)}`
  const isElsewhere = req.method === 'GET' && frontEndLocation(server, redirectToPage) !== undefined
  return isElsewhere ? { redirectToPage } : undefined
}

/**
 * Endpoints that browsers open: session, language, pages; errors as pages or, by redirect, to the client. We show the pages, or
 * a front end of the host does.
 */
export const pageKinds = (
  server: ServerSetup,
  checkProxy: RequestCheck,
): Readonly<Record<'own' | 'frontEnd', EndpointKind<PageContext>>> => {
  const openSession = sessionOpener(server)
  const everywhere = [checkProxy, secureCheck(server)]
  const pagesFor = (
    checks: readonly RequestCheck[],
    leadAway: (context: Context) => Outcome | undefined,
  ): EndpointKind<PageContext> => ({
    async open(incoming, { usesSession = () => true, maxForm = sizes.pageForm }) {
      // A code would expire unused, and a logout would surprise the user. The browser asks again when the user follows
      // the link.
      if (isPrefetch(incoming.req)) {
        sendEmpty(incoming.res, 503, { 'Cache-Control': 'no-store' })
        return undefined
      }
      // HEAD changes nothing (RFC 9110 §9.3.2), and a page that starts something would.
      if (incoming.req.method === 'HEAD') {
        sendEmpty(incoming.res, 200, { 'Cache-Control': 'no-store' })
        return undefined
      }
      const context = await open(incoming, checks, maxForm)
      const away = leadAway(context)
      if (away) {
        context.deliver(context, away)
        return undefined
      }
      const { req } = incoming
      const session = usesSession(incoming) ? await openSession(incoming) : noSession
      return { ...context, session, ...pagesIn(context, languageOf(server, req)) }
    },
    renderError: renderPageError,
  })
  return {
    own: pagesFor(
      [...everywhere, issuerCheck(server)],
      (context) => chooseLanguage(context) ?? leadToFrontEnd(context),
    ),
    // A page of the host is not below the mount.
    frontEnd: pagesFor(everywhere, chooseLanguage),
  }
}

/** Files of our pages. They need neither schema nor keys, so that an error page has its stylesheet. */
export const fileKind: EndpointKind<Incoming> = {
  open: (incoming) => incoming,
  renderError: renderPageError,
}

/** Documents at the root of the host, outside the mount. */
export const rootKind = (server: ServerSetup): EndpointKind<Incoming> => {
  const assertSecure = secureCheck(server)
  return {
    open: (incoming) => {
      assertSecure(incoming.req)
      return incoming
    },
    renderError: errorRenderer((incoming, error) => sendJsonError(incoming, error)),
  }
}
