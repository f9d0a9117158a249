import type { AuthorizationServer, ServerSetup } from '../../oauth/authorization-server.ts'
import { revokeAuthorizationsInOrganization } from '../../storage/repositories/authorizations.ts'
import { type ConsentRecord, consentsOfOrganization } from '../../storage/repositories/consents.ts'
import { givenId } from '../users.ts'
import { disconnectClient } from './disconnect-client.ts'

/** Everything that is stored about an organization. Times are epoch seconds. */
export interface OrganizationExport {
  /** The access that its members gave clients there. */
  readonly consents: readonly (ConsentRecord & { readonly subject: string })[]
}

/** Call it when something happens to an organization. */
export interface OrganizationLifecycle {
  /**
   * Returns everything that is stored about an organization, without secrets.
   *
   * @param id as the option `organizations` returns it
   * @example res.json(await oauth.organizations.export(organization.id))
   */
  export(id: string): Promise<OrganizationExport>
  /**
   * Ends all access to an organization, and removes every row about it. You can call it again after an error. Receipts of
   * consent pages and stored events belong to the users, and stay.
   *
   * @param id as the option `organizations` returns it; the option must no longer return it
   * @example await oauth.organizations.erase(organization.id)
   */
  erase(id: string): Promise<void>
}

const exportOrganization = async (
  server: AuthorizationServer,
  organization: string,
): Promise<OrganizationExport> => {
  const consents: OrganizationExport['consents'][number][] = []
  for await (const batch of consentsOfOrganization(server.database, organization)) consents.push(...batch)
  let ofFeatures: object = {}
  for (const { storage } of server.installed)
    ofFeatures = { ...ofFeatures, ...(await storage?.organizations?.export(server, organization)) }
  return { ...ofFeatures, consents }
}

const eraseOrganization = async (server: AuthorizationServer, organization: string): Promise<void> => {
  for await (const batch of consentsOfOrganization(server.database, organization))
    for (const { subject, clientId } of batch)
      await disconnectClient(server, { subject, clientId, organization })
  // Clients of the host's own have no consent.
  await revokeAuthorizationsInOrganization(server.database, { organization, now: server.now() })
  for (const { storage } of server.installed) await storage?.organizations?.erase(server, organization)
}

export const organizationLifecycle = ({ ready }: ServerSetup): OrganizationLifecycle => ({
  export: async (id) => exportOrganization(await ready(), givenId(id, 'organizations.export()')),
  erase: async (id) => eraseOrganization(await ready(), givenId(id, 'organizations.erase()')),
})
