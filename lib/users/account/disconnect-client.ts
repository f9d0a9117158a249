import type { Events } from '../../events/events.ts'
import type { AuthorizationServer } from '../../oauth/authorization-server.ts'
import type { RequestInfo } from '../../protocol/requests/request-info.ts'
import {
  noOrganization,
  removeConsent,
  revokeAuthorizationsOfClient,
  revokeAuthorizationsOfOrganization,
} from '../../storage/repositories/index.ts'

/** A user's access by one client: in one organization, if the host has organizations. */
export interface ClientAccess {
  readonly subject: string
  readonly clientId: string
  /** Absent for what was granted before the host had organizations. */
  readonly organization?: string
}

/**
 * Ends everything that a user granted to a client, including codes and tokens, and removes the consent. The consent goes
 * first: its row lock delays a code that is being issued.
 *
 * @param by the request, and the operator if one does it
 * @returns whether there was anything to end
 */
export const disconnectClient = (
  {
    database,
    events,
    options,
    now: clock,
  }: Pick<AuthorizationServer, 'database' | 'options' | 'now'> & { readonly events: Pick<Events, 'change'> },
  { subject, clientId, organization }: ClientAccess,
  { info, actor }: { readonly info?: RequestInfo; readonly actor?: string } = {},
): Promise<boolean> =>
  events.change(database, async (tx, tell) => {
    const inOne = options.organizations !== undefined
    const now = clock()
    const consent = await removeConsent(tx, {
      subject,
      clientId,
      ...(inOne && { organization: organization ?? noOrganization }),
    })
    const revoked = inOne
      ? await revokeAuthorizationsOfOrganization(tx, { subject, clientId, organization, now })
      : await revokeAuthorizationsOfClient(tx, { subject, clientId, now })
    if (!revoked && !consent) return false
    await tell('consent.removed', info, { subject, clientId, organization, actor })
    return true
  })
