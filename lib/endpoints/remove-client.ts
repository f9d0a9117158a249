import type { Request, Response } from 'express'
import { type ConnectedClient, connectedClients } from '../account/connected-clients.ts'
import type { ActiveLogin } from '../authorization/context.ts'
import type { AuthorizationServer } from '../authorization-server.ts'
import { transaction } from '../database/transaction.ts'
import { languageOf } from '../http/language.ts'
import type { Pages } from '../http/pages.ts'
import { requestInfo } from '../http/request-info.ts'
import { ownPath } from '../http/urls.ts'
import type { Parameters } from '../protocol/parameters.ts'
import {
  noOrganization,
  removeConsent,
  revokeAuthorizationsOfClient,
  revokeAuthorizationsOfOrganization,
} from '../repositories/index.ts'
import { bindBrowser, boundBrowser } from '../sessions/browser-binding.ts'
import { assertCsrf, csrfToken, type FormPurpose } from '../sessions/csrf.ts'
import { findOrganizations } from '../users/organizations.ts'

/** A client as addresses and forms name it: in one workspace, where the host knows workspaces. */
export type NamedClient = Pick<ConnectedClient, 'clientId' | 'organization'>

export const clientParameters = ({ clientId, organization }: NamedClient): Record<string, string> => ({
  client_id: clientId,
  ...(organization !== undefined && { organization }),
})

/** Which workspace a form or an address is about. */
export const namedOrganization = (
  { options }: AuthorizationServer,
  parameters: Parameters,
): Pick<NamedClient, 'organization'> => {
  const organization = options.organizations && parameters.optional('organization')
  return organization === undefined ? {} : { organization }
}

/** A removal is that of the user who was asked, and of the client and workspace that they were asked about. */
const purposeOf = (
  client: NamedClient,
  { login }: ActiveLogin,
  browser: FormPurpose['browser'],
): FormPurpose => ({
  action: 'account',
  pendingId: JSON.stringify(['remove', login.subject, clientParameters(client)]),
  browser,
})

/** The names of the user's workspaces by their ids; one that the user has left has none. */
export const organizationNames = async (
  server: AuthorizationServer,
  req: Request,
  user: ActiveLogin['user'],
): Promise<ReadonlyMap<string, string>> => {
  const organizations = (await findOrganizations(server.options.organizations, user, req)) ?? []
  return new Map(organizations.map(({ id, name }) => [id, name]))
}

/** One of the user's own clients; of nobody else's, and none that is removed already. */
export const namedClient = async (
  server: AuthorizationServer,
  req: Request,
  parameters: Parameters,
  { login }: ActiveLogin,
): Promise<ConnectedClient | undefined> => {
  const named = parameters.optional('client_id')
  if (named === undefined) return undefined
  const { organization } = namedOrganization(server, parameters)
  const clients = await connectedClients(server, login.subject, languageOf(server, req))
  return clients.find((client) => client.clientId === named && client.organization === organization)
}

/** Asks whether to remove it. */
export const showRemoval = async (
  server: AuthorizationServer,
  pages: Pages,
  { req, res }: { req: Request; res: Response },
  { active, client }: { active: ActiveLogin; client: ConnectedClient },
): Promise<void> => {
  const { name, host, firstParty, organization } = client
  const browser = bindBrowser(server, req, res)
  const model = {
    action: ownPath(server, '/account'),
    hidden: {
      ...clientParameters(client),
      csrf_token: csrfToken(server, purposeOf(client, active, browser)),
    },
    client: { name, host },
    organization:
      organization && ((await organizationNames(server, req, active.user)).get(organization) ?? organization),
    firstParty,
    username: active.user.username,
    cancelUrl: ownPath(server, '/account'),
  }
  pages.send(res, 'remove-client', model)
}

/**
 * Ends all that the user gave to a client, codes and tokens with it, and forgets that it was allowed; in one
 * workspace, where the host knows workspaces.
 *
 * @returns the client that has no access any more
 * @throws OAuthError with status 403 when the form was not given to this user about this client
 */
export const removeClient = async (
  server: AuthorizationServer,
  { req, form }: { req: Request; form: Parameters },
  active: ActiveLogin,
): Promise<NamedClient> => {
  const clientId = form.required('client_id')
  const client = { clientId, ...namedOrganization(server, form) }
  const browser = boundBrowser(server, req)
  assertCsrf(server, req, form, browser && purposeOf(client, active, browser))
  const removed = { subject: active.login.subject, ...client }
  if (await remove(server, removed)) server.events.announce('consent.removed', requestInfo(req), removed)
  return client
}

/** The consent first: it holds up a code that is being issued. */
const remove = (
  server: AuthorizationServer,
  { subject, clientId, organization }: NamedClient & { subject: string },
): Promise<boolean> =>
  transaction(server.database, async (tx) => {
    const now = server.now()
    if (server.options.organizations === undefined) {
      const consent = await removeConsent(tx, { subject, clientId })
      return (await revokeAuthorizationsOfClient(tx, { subject, clientId, now })) || consent
    }
    const consent = await removeConsent(tx, {
      subject,
      clientId,
      organization: organization ?? noOrganization,
    })
    return (await revokeAuthorizationsOfOrganization(tx, { subject, clientId, organization, now })) || consent
  })
