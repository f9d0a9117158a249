import type { Request, RequestHandler, Response } from 'express'
import type { AuthorizationServer } from '../authorization-server.ts'
import { type Browser, identifyBrowser, knownBrowser } from '../http/browser-cookie.ts'
import { connectedClients } from '../http/connected-clients.ts'
import { scopeWords } from '../http/consent-scopes.ts'
import { assertCsrf, csrfToken, type FormPurpose } from '../http/csrf.ts'
import { formParameters, queryParameters } from '../http/form.ts'
import { accountLoginLocation, returnedParameter } from '../http/login-location.ts'
import { ownPath } from '../http/names.ts'
import type { Pages } from '../http/pages.ts'
import { sendRedirect } from '../http/send.ts'
import { type ActiveLogin, activeLogin } from '../http/situation.ts'
import { clientName } from '../protocol/client.ts'
import { findClient } from '../repositories/index.ts'
import { type LoginPage, logIn, showLogin } from './login.ts'
import { namedClient, removeClient, showRemoval } from './remove-client.ts'

// Nothing waits while somebody signs in here. The form leads to this page and nowhere else, so no parameter can send the
// browser elsewhere; its token holds the secret of this very browser, so no other site can sign it in; and the session
// gets a new id with the login, so one that was planted is worth nothing.

const purposeOf = (browser: Browser): FormPurpose => ({ action: 'account', requestId: 'sign in', browser })

const signInPage = (server: AuthorizationServer, browser: Browser): LoginPage => ({
  form: {
    action: ownPath(server, '/account'),
    hidden: { csrf_token: csrfToken(server, purposeOf(browser)) },
  },
})

const iso = (seconds: number): string => new Date(seconds * 1000).toISOString()

const showClients = async (
  server: AuthorizationServer,
  pages: Pages,
  res: Response,
  { active, removed }: { active: ActiveLogin; removed: string | undefined },
): Promise<void> => {
  const clients = await connectedClients(server, active.login.subject)
  const cards = clients.map(({ clientId, name, host, scopes, since, lastUsed, sessions }) => ({
    ...{ name, host, sessions },
    scopes: scopes.map((scope) => scopeWords(server, scope)),
    since: iso(since),
    lastUsed: iso(lastUsed),
    removeUrl: ownPath(server, '/account', { client_id: clientId }),
  }))
  // Told only where it is true, whoever made the link.
  const isGone = removed !== undefined && clients.every(({ clientId }) => clientId !== removed)
  pages.send(res, 'account', {
    username: active.user.username,
    clients: cards,
    removed: isGone ? await nameOf(server, removed) : undefined,
    signOutUrl: ownPath(server, '/logout'),
  })
}

const nameOf = async (server: AuthorizationServer, clientId: string): Promise<string | undefined> => {
  const client = await findClient(server.database, { clientId, now: server.now() })
  return client && clientName(client)
}

const showSignIn = (server: AuthorizationServer, pages: Pages, req: Request, res: Response): void => {
  const { url } = server.options.login
  if (url === undefined) {
    const page = signInPage(server, identifyBrowser(server, req, res))
    showLogin(pages, res, page, { username: '', confirm: false })
    return
  }
  const location = accountLoginLocation(server, url)
  // Whoever comes back from there as nobody is not sent round again.
  if (queryParameters(req).has(returnedParameter)) pages.send(res, 'account-sign-in', { url: location })
  else sendRedirect(res, location)
}

/** The user's clients; with `client_id` asks whether to remove that one. */
export const accountPageEndpoint =
  (server: AuthorizationServer, pages: Pages): RequestHandler =>
  async (req, res) => {
    const parameters = queryParameters(req)
    const active = await activeLogin(server, req)
    if (active === undefined) return showSignIn(server, pages, req, res)
    const client = await namedClient(server, parameters, active)
    if (client) return showRemoval(server, pages, { req, res }, { active, client })
    await showClients(server, pages, res, { active, removed: parameters.optional('removed') })
  }

/** The removal of one client; without one the sign-in form. */
export const accountFormEndpoint =
  (server: AuthorizationServer, pages: Pages): RequestHandler =>
  async (req, res) => {
    const form = formParameters(req)
    if (form.has('client_id')) {
      const active = await activeLogin(server, req)
      const removed = active && (await removeClient(server, { req, form }, active))
      return sendRedirect(res, ownPath(server, '/account', removed === undefined ? {} : { removed }))
    }
    // A form of another site brings no cookie, and is given none.
    const browser = knownBrowser(server, req)
    assertCsrf(server, req, form, browser && purposeOf(browser))
    if (browser && (await logIn(server, pages, { req, res, form }, signInPage(server, browser))))
      sendRedirect(res, ownPath(server, '/account'))
  }
