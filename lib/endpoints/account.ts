import type { Request, RequestHandler, Response } from 'express'
import { connectedClients } from '../account/connected-clients.ts'
import { scopeWords } from '../authorization/consent-scopes.ts'
import { type ActiveLogin, activeLogin } from '../authorization/context.ts'
import { accountLoginLocation, returnedParameter } from '../authorization/login-location.ts'
import type { AuthorizationServer } from '../authorization-server.ts'
import { formParameters, queryParameters } from '../http/form.ts'
import { languageOf } from '../http/language.ts'
import type { Pages } from '../http/pages.ts'
import { sendRedirect } from '../http/send.ts'
import { ownPath } from '../http/urls.ts'
import { clientName } from '../protocol/client.ts'
import { findClient } from '../repositories/index.ts'
import { type Browser, bindBrowser, boundBrowser } from '../sessions/browser-binding.ts'
import { assertCsrf, csrfToken, type FormPurpose } from '../sessions/csrf.ts'
import { type LoginPage, logIn, showLogin } from './login.ts'
import {
  clientParameters,
  type NamedClient,
  namedClient,
  namedOrganization,
  organizationNames,
  removeClient,
  showRemoval,
} from './remove-client.ts'

// Nothing waits while somebody signs in here. The form leads to this page and nowhere else, so no parameter can send the
// browser elsewhere; its token holds the secret of this very browser, so no other site can sign it in; and the session
// gets a new id with the login, so one that was planted is worth nothing.

const purposeOf = (browser: Browser): FormPurpose => ({ action: 'account', pendingId: 'sign in', browser })

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
  { req, res }: { req: Request; res: Response },
  { active, removed }: { active: ActiveLogin; removed: NamedClient | undefined },
): Promise<void> => {
  const language = languageOf(server, req)
  const clients = await connectedClients(server, active.login.subject, language)
  const organizations = await organizationNames(server, req, active.user)
  const cards = clients.map(({ clientId, organization, name, host, scopes, since, lastUsed, sessions }) => ({
    ...{ name, host, sessions },
    organization: organization && (organizations.get(organization) ?? organization),
    scopes: scopes.map((scope) => scopeWords(server, scope, language)),
    since: iso(since),
    lastUsed: iso(lastUsed),
    removeUrl: ownPath(server, '/account', clientParameters({ clientId, organization })),
  }))
  // Told only where it is true, and in no words but ours, whoever made the link.
  const { organization } = removed ?? {}
  const stands = clients.some(
    (client) => client.clientId === removed?.clientId && client.organization === organization,
  )
  const isTold = removed && !stands && (organization === undefined || organizations.has(organization))
  pages.send(res, 'account', {
    username: active.user.username,
    clients: cards,
    removed: isTold ? await nameOf(server, removed.clientId, language) : undefined,
    removedOrganization: organization && organizations.get(organization),
    signOutUrl: ownPath(server, '/logout'),
  })
}

const nameOf = async (
  server: AuthorizationServer,
  clientId: string,
  language: string,
): Promise<string | undefined> => {
  const client = await findClient(server.database, { clientId, now: server.now() })
  return client && clientName(client, language)
}

const showSignIn = (server: AuthorizationServer, pages: Pages, req: Request, res: Response): void => {
  const { url } = server.options.login
  if (url === undefined) {
    const page = signInPage(server, bindBrowser(server, req, res))
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
    const client = await namedClient(server, req, parameters, active)
    if (client) return showRemoval(server, pages, { req, res }, { active, client })
    const clientId = parameters.optional('removed')
    const removed =
      clientId === undefined ? undefined : { clientId, ...namedOrganization(server, parameters) }
    await showClients(server, pages, { req, res }, { active, removed })
  }

/** The removal of one client; without one the sign-in form. */
export const accountFormEndpoint =
  (server: AuthorizationServer, pages: Pages): RequestHandler =>
  async (req, res) => {
    const form = formParameters(req)
    if (form.has('client_id')) {
      const active = await activeLogin(server, req)
      const removed = active && (await removeClient(server, { req, form }, active))
      const { client_id, ...others } = removed ? clientParameters(removed) : {}
      const told = client_id === undefined ? {} : { removed: client_id, ...others }
      return sendRedirect(res, ownPath(server, '/account', told))
    }
    // A form of another site brings no cookie, and is given none.
    const browser = boundBrowser(server, req)
    assertCsrf(server, req, form, browser && purposeOf(browser))
    if (browser && (await logIn(server, pages, { req, res, form }, signInPage(server, browser))))
      sendRedirect(res, ownPath(server, '/account'))
  }
