import type { AuthorizationServer } from '../authorization-server.ts'
import { transaction } from '../database/transaction.ts'
import {
  noOrganization,
  removeConsent,
  revokeAuthorizationsOfClient,
  revokeAuthorizationsOfOrganization,
} from '../repositories/index.ts'

/** A user's access by one client: in one organization, if the host has organizations. */
export interface Connection {
  readonly subject: string
  readonly clientId: string
  /** Absent for what was granted before the host had organizations. */
  readonly organization?: string
}

/**
 * Ends everything that a user granted to a client, including codes and tokens, and removes the consent. The consent goes
 * first: its row lock delays a code that is being issued.
 *
 * @returns whether there was anything to end
 */
export const disconnectClient = (
  { database, options, now: clock }: Pick<AuthorizationServer, 'database' | 'options' | 'now'>,
  { subject, clientId, organization }: Connection,
): Promise<boolean> =>
  transaction(database, async (tx) => {
    const now = clock()
    if (options.organizations === undefined) {
      const consent = await removeConsent(tx, { subject, clientId })
      return (await revokeAuthorizationsOfClient(tx, { subject, clientId, now })) || consent
    }
    const inOne = { subject, clientId, organization: organization ?? noOrganization }
    const consent = await removeConsent(tx, inOne)
    const revoked = await revokeAuthorizationsOfOrganization(tx, { subject, clientId, organization, now })
    return revoked || consent
  })
