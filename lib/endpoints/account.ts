import { connectedClientsPage } from '../account/connected-clients.ts'
import { scopeWords } from '../authorization/consent-scopes.ts'
import { replacesParameter } from '../authorization/login-location.ts'
import type { PageContext } from '../http/context.ts'
import { formParameters, queryParameters } from '../http/form.ts'
import type { Endpoint } from '../http/route.ts'
import { redirectToPage } from '../http/send.ts'
import { ownPath } from '../http/urls.ts'
import { clientName } from '../protocol/client.ts'
import type { Parameters } from '../protocol/parameters.ts'
import { findClient } from '../repositories/index.ts'
import { type ActiveLogin, activeLogin } from '../sessions/login.ts'
import { showAccountLogin, submitAccountLogin } from './account-login.ts'
import { otherAccountPages } from './account-pages.ts'
import { iso, pageNumberOf } from './page-values.ts'
import {
  clientParameters,
  findConnected,
  namedOrganization,
  organizationNames,
  removeClient,
  showRemoval,
} from './remove-client.ts'

const nameOf = async ({ server, language }: PageContext, clientId: string): Promise<string | undefined> => {
  const client = await findClient(server.database, { clientId, now: server.now() })
  return client && clientName(client, language)
}

const showClients = async (
  context: PageContext,
  active: ActiveLogin,
  parameters: Parameters,
): Promise<void> => {
  const { server, language } = context
  const asked = pageNumberOf(parameters)
  const { clients, number, isLast } = await connectedClientsPage(
    server,
    active.login.subject,
    asked,
    language,
  )
  const organizations = await organizationNames(context, active.user)
  const cards = clients.map(({ clientId, organization, scopes, since, lastUsed, ...client }) => ({
    ...{ name: client.name, host: client.host, logoUrl: client.logoUrl, sessions: client.sessions },
    organization: organization && (organizations.get(organization) ?? organization),
    scopes: scopes.map((scope) => scopeWords(server, scope, language)),
    since: iso(since),
    lastUsed: iso(lastUsed),
    removeUrl: ownPath(server, '/account', clientParameters({ clientId, organization })),
  }))
  // Confirmed only if it is true and in our own words: anybody can make such a link.
  const removed = parameters.optional('removed')
  const { organization } = removed === undefined ? {} : namedOrganization(server, parameters)
  const isConnected = removed !== undefined && (await findConnected(context, removed, parameters, active))
  const isConfirmed =
    removed !== undefined && !isConnected && (organization === undefined || organizations.has(organization))
  const pageUrl = (page: number): string => ownPath(server, '/account', { page: String(page) })
  context.send('account', {
    username: active.user.username,
    clients: cards,
    removed: isConfirmed ? await nameOf(context, removed) : undefined,
    removedOrganization: organization && organizations.get(organization),
    signOutUrl: ownPath(server, '/logout'),
    ...(number > 1 && { previousUrl: pageUrl(number - 1) }),
    ...(!isLast && { nextUrl: pageUrl(number + 1) }),
    otherPages: otherAccountPages(server, 'account'),
  })
}

/** The user's clients; with `client_id` the page that asks whether to remove that client. */
const show = async (context: PageContext): Promise<void> => {
  const { req } = context
  const parameters = queryParameters(req)
  const active = await activeLogin(context)
  if (active === undefined) return showAccountLogin(context, '/account')
  // An attempt to sign in as another user has failed.
  if (active.login.sid === parameters.optional(replacesParameter)) {
    return showAccountLogin(context, '/account', active)
  }
  const clientId = parameters.optional('client_id')
  const client = clientId && (await findConnected(context, clientId, parameters, active))
  if (client) return showRemoval(context, active, client)
  await showClients(context, active, parameters)
}

/** The removal of one client; without `client_id` the login form. */
const submit = async (context: PageContext): Promise<void> => {
  const { server, req, res } = context
  const form = formParameters(req)
  if (form.has('client_id')) {
    const active = await activeLogin(context)
    const removed = active && (await removeClient(context, form, active))
    const { client_id, ...others } = removed ? clientParameters(removed) : {}
    const query = client_id === undefined ? {} : { removed: client_id, ...others }
    return redirectToPage(res, ownPath(server, '/account', query))
  }
  await submitAccountLogin(context, '/account')
}

export const accountEndpoint: Endpoint<PageContext> = {
  path: '/account',
  methods: { GET: show, POST: submit },
}
