import type { Request, Response } from 'express'
import type { AuthorizationServer } from '../authorization-server.ts'
import { identifyBrowser, knownBrowser } from '../http/browser-cookie.ts'
import { type ConnectedClient, connectedClients } from '../http/connected-clients.ts'
import { assertCsrf, csrfToken, type FormPurpose } from '../http/csrf.ts'
import { languageOf } from '../http/language.ts'
import { ownPath } from '../http/names.ts'
import { occasionOf } from '../http/occasion.ts'
import type { Pages } from '../http/pages.ts'
import type { ActiveLogin } from '../http/situation.ts'
import type { Parameters } from '../protocol/parameters.ts'
import {
  noTenant,
  removeConsent,
  revokeAuthorizationsOfClient,
  revokeAuthorizationsOfTenant,
} from '../repositories/index.ts'
import { transaction } from '../repositories/statement.ts'
import { tenantsOf } from '../users/tenants.ts'

/** A client as addresses and forms name it: in one workspace, where the host knows workspaces. */
export type NamedClient = Pick<ConnectedClient, 'clientId' | 'tenant'>

export const clientParameters = ({ clientId, tenant }: NamedClient): Record<string, string> => ({
  client_id: clientId,
  ...(tenant !== undefined && { tenant }),
})

/** Which workspace a form or an address is about. */
export const namedTenant = (
  { options }: AuthorizationServer,
  parameters: Parameters,
): Pick<NamedClient, 'tenant'> => {
  const tenant = options.tenants && parameters.optional('tenant')
  return tenant === undefined ? {} : { tenant }
}

/** A removal is that of the user who was asked, and of the client and workspace that they were asked about. */
const purposeOf = (
  client: NamedClient,
  { login }: ActiveLogin,
  browser: FormPurpose['browser'],
): FormPurpose => ({
  action: 'account',
  requestId: JSON.stringify(['remove', login.subject, clientParameters(client)]),
  browser,
})

/** The names of the user's workspaces by their ids; one that the user has left has none. */
export const tenantNames = async (
  server: AuthorizationServer,
  req: Request,
  user: ActiveLogin['user'],
): Promise<ReadonlyMap<string, string>> => {
  const tenants = (await tenantsOf(server.options.tenants, user, req)) ?? []
  return new Map(tenants.map(({ id, name }) => [id, name]))
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
  const { tenant } = namedTenant(server, parameters)
  const clients = await connectedClients(server, login.subject, languageOf(server, req))
  return clients.find((client) => client.clientId === named && client.tenant === tenant)
}

/** Asks whether to remove it. */
export const showRemoval = async (
  server: AuthorizationServer,
  pages: Pages,
  { req, res }: { req: Request; res: Response },
  { active, client }: { active: ActiveLogin; client: ConnectedClient },
): Promise<void> => {
  const { name, host, firstParty, tenant } = client
  const browser = identifyBrowser(server, req, res)
  const model = {
    action: ownPath(server, '/account'),
    hidden: {
      ...clientParameters(client),
      csrf_token: csrfToken(server, purposeOf(client, active, browser)),
    },
    client: { name, host },
    tenant: tenant && ((await tenantNames(server, req, active.user)).get(tenant) ?? tenant),
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
  const client = { clientId, ...namedTenant(server, form) }
  const browser = knownBrowser(server, req)
  assertCsrf(server, req, form, browser && purposeOf(client, active, browser))
  const removed = { subject: active.login.subject, ...client }
  if (await remove(server, removed)) server.events.announce('consent.removed', occasionOf(req), removed)
  return client
}

/** The consent first: it holds up a code that is being issued. */
const remove = (
  server: AuthorizationServer,
  { subject, clientId, tenant }: NamedClient & { subject: string },
): Promise<boolean> =>
  transaction(server.database, async (tx) => {
    const now = server.now()
    if (server.options.tenants === undefined) {
      const consent = await removeConsent(tx, { subject, clientId })
      return (await revokeAuthorizationsOfClient(tx, { subject, clientId, now })) || consent
    }
    const consent = await removeConsent(tx, { subject, clientId, tenant: tenant ?? noTenant })
    return (await revokeAuthorizationsOfTenant(tx, { subject, clientId, tenant, now })) || consent
  })
