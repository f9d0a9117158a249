import type { Request } from 'express'
import type { AuthRouterOptions } from '../options/options.ts'
import { isAmong, type Organization, parseOrganizations } from '../protocol/organization.ts'
import { fromHost } from './host-function.ts'
import type { User } from './users.ts'

/**
 * The workspaces of a user as the host has them now. Nothing is kept: somebody who was shut out of one is out at once.
 *
 * @param req where the user's own browser asks
 * @returns undefined where the host knows no workspaces
 * @throws OAuthError `temporarily_unavailable` when what the host's function needs is away · Error when it fails
 *   otherwise, or gives something else
 * @example await organizationsOf(server.options.organizations, user, req)
 */
export const organizationsOf = async (
  organizations: AuthRouterOptions['organizations'],
  user: User,
  req?: Request,
): Promise<readonly Organization[] | undefined> => {
  if (organizations === undefined) return undefined
  return fromHost('the option organizations', async () =>
    parseOrganizations(await organizations(user.record, req)),
  )
}

/** Whether what was granted for a workspace may still be used: anything, where the host knows none (any more). */
export const mayUseOrganization = async (
  organizations: AuthRouterOptions['organizations'],
  user: User,
  organization: string | undefined,
): Promise<boolean> => {
  if (organization === undefined) return true
  const current = await organizationsOf(organizations, user)
  return current === undefined || isAmong(current, organization)
}
