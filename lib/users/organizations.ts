import type { Request } from 'express'
import type { AuthRouterOptions } from '../options/options.ts'
import { isAmong, type Organization, parseOrganizations } from '../protocol/organization.ts'
import { callHost } from './host-function.ts'
import type { User } from './users.ts'

/**
 * The organizations of a user, as the host returns them now. They are never cached, so a removed user loses access at
 * once.
 *
 * @param req the request of the user's own browser, if it is one
 * @returns undefined if the host has no organizations
 * @throws OAuthError `temporarily_unavailable` if what the host's function needs is unavailable · Error if it fails
 *   otherwise, or returns anything else than organizations
 * @example await findOrganizations(server.options.organizations, user, req)
 */
export const findOrganizations = async (
  organizations: AuthRouterOptions['organizations'],
  user: User,
  req?: Request,
): Promise<readonly Organization[] | undefined> => {
  if (organizations === undefined) return undefined
  return callHost('the option organizations', async () =>
    parseOrganizations(await organizations(user.record, req)),
  )
}

/** Whether the user belongs to this organization; true if it is undefined or the host no longer has organizations. */
export const belongsToOrganization = async (
  organizations: AuthRouterOptions['organizations'],
  user: User,
  organization: string | undefined,
): Promise<boolean> => {
  if (organization === undefined) return true
  const current = await findOrganizations(organizations, user)
  return current === undefined || isAmong(current, organization)
}
