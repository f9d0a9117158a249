import type { Request } from 'express'
import type { AuthRouterOptions } from '../options/options.ts'
import { OAuthError } from '../protocol/errors.ts'
import { isAmong, parseTenants, type Tenant } from '../protocol/tenant.ts'
import type { User } from './users.ts'

/**
 * The workspaces of a user as the host has them now. Nothing is kept: somebody who was shut out of one is out at once.
 *
 * @param req where the user's own browser asks
 * @returns undefined where the host knows no workspaces
 * @throws Error when the host's function fails or gives something else
 * @example await tenantsOf(server.options.tenants, user, req)
 */
export const tenantsOf = async (
  tenants: AuthRouterOptions['tenants'],
  user: User,
  req?: Request,
): Promise<readonly Tenant[] | undefined> => {
  if (tenants === undefined) return undefined
  try {
    return parseTenants(await tenants(user.record, req))
  } catch (error) {
    if (error instanceof OAuthError) throw error
    // Whatever it carries, such as a status, it is a fault of the server's.
    throw new Error('latchkey: the option tenants failed', { cause: error })
  }
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
