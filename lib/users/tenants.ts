import type { Request } from 'express'
import type { AuthRouterOptions } from '../options/options.ts'
import { isAmong, parseTenants, type Tenant } from '../protocol/tenant.ts'
import { fromHost } from './host-function.ts'
import type { User } from './users.ts'

/**
 * The workspaces of a user as the host has them now. Nothing is kept: somebody who was shut out of one is out at once.
 *
 * @param req where the user's own browser asks
 * @returns undefined where the host knows no workspaces
 * @throws OAuthError `temporarily_unavailable` when what the host's function needs is away · Error when it fails
 *   otherwise, or gives something else
 * @example await tenantsOf(server.options.tenants, user, req)
 */
export const tenantsOf = async (
  tenants: AuthRouterOptions['tenants'],
  user: User,
  req?: Request,
): Promise<readonly Tenant[] | undefined> => {
  if (tenants === undefined) return undefined
  return fromHost('the option tenants', async () => parseTenants(await tenants(user.record, req)))
}

/** Whether what was granted for a workspace may still be used: anything, where the host knows none (any more). */
export const mayUseTenant = async (
  tenants: AuthRouterOptions['tenants'],
  user: User,
  tenant: string | undefined,
): Promise<boolean> => {
  if (tenant === undefined) return true
  const current = await tenantsOf(tenants, user)
  return current === undefined || isAmong(current, tenant)
}
