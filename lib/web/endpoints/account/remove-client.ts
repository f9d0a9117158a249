import type { AuthorizationServer } from '../../../oauth/authorization-server.ts'
import type { Parameters } from '../../../protocol/parameters.ts'
import { type ConnectedClient, connectedClients } from '../../../users/account/connected-clients.ts'
import { disconnectClient } from '../../../users/account/disconnect-client.ts'
import { sameClientsAs } from '../../../users/account/same-clients.ts'
import { findOrganizations } from '../../../users/users.ts'
import type { PageContext } from '../../http/context.ts'
import { ownPath } from '../../http/urls.ts'
import type { ActiveLogin } from '../../sessions/login.ts'
import type { SignedContext, SignedInUser } from '../signed-page.ts'

/** A client as URLs and forms name it: in one organization, if the host has organizations. */
export type NamedClient = Pick<ConnectedClient, 'clientId' | 'organization'>

export const clientParameters = ({ clientId, organization }: NamedClient): Record<string, string> => ({
  client_id: clientId,
  ...(organization !== undefined && { organization }),
})

/** The organization that a form or URL names. */
export const namedOrganization = (
  { options }: AuthorizationServer,
  parameters: Parameters,
): Pick<NamedClient, 'organization'> => {
  const organization = options.organizations && parameters.optional('organization')
  return organization === undefined ? {} : { organization }
}

/** The names of the user's organizations by id; one that the user has left is missing. */
export const organizationNames = async (
  { server, req }: PageContext,
  user: ActiveLogin['user'],
): Promise<ReadonlyMap<string, string>> => {
  const organizations = (await findOrganizations(server.options.organizations, user, req)) ?? []
  return new Map(organizations.map(({ id, name }) => [id, name]))
}

/**
 * A client with this id, if it is connected to this user.
 *
 * @param parameters may name an organization
 */
export const findConnected = async (
  { server, language }: PageContext,
  named: string,
  parameters: Parameters,
  { login }: ActiveLogin,
): Promise<ConnectedClient | undefined> => {
  const { organization } = namedOrganization(server, parameters)
  const same = await sameClientsAs(server, login.subject, named)
  const clients = await connectedClients(server, login.subject, [same], language)
  return clients.find((client) => client.organization === organization)
}

/** Asks whether to remove the client. */
export const showRemoval = async (
  context: SignedContext<SignedInUser>,
  client: ConnectedClient,
): Promise<void> => {
  const { server, person } = context
  const { name, host, firstParty, organization } = client
  const model = {
    ...context.form(clientParameters(client), 'remove'),
    client: { name, host },
    organization:
      organization && ((await organizationNames(context, person.user)).get(organization) ?? organization),
    firstParty,
    username: person.user.username,
    cancelUrl: ownPath(server, '/account'),
  }
  context.send('remove-client', model)
}

/**
 * Ends everything that the user granted to a client and to those that are the same to them, including codes and tokens, and removes the consent; only in one
 * organization, if the host has organizations.
 *
 * @returns the removed client
 */
export const removeClient = async (
  { server, person, info }: SignedContext<SignedInUser>,
  form: Parameters,
): Promise<NamedClient> => {
  const named = form.required('client_id')
  const organization = namedOrganization(server, form)
  for (const clientId of await sameClientsAs(server, person.id, named)) {
    const removed = { subject: person.id, clientId, ...organization }
    await disconnectClient(server, removed, { info })
  }
  return { clientId: named, ...organization }
}
