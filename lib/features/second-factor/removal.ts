import type { AuthorizationServer } from '../../oauth/authorization-server.ts'
import { type Revocation, revokeAllOf } from '../../users/account/user-lifecycle.ts'
import { removalOfSecondFactor } from './second-factors-table.ts'

/**
 * Removes the second factor of a user who cannot use it, and ends everything of the user at the same moment: a login that
 * another person has could set up a second factor of their own.
 *
 * @returns whether the user had one, or had begun to set one up
 */
export const removeSecondFactorOf = async (
  server: AuthorizationServer,
  subject: string,
  by: Pick<Revocation, 'actor' | 'info'> = {},
): Promise<boolean> => {
  const writes = removalOfSecondFactor(subject)
  const { actor, info } = by
  const [count] = await revokeAllOf(server, subject, {
    ...by,
    reason: 'second factor removed',
    writes,
    tellOf: async (tell, [removed]) => {
      if (removed === 0) return
      await tell('second_factor.removed', info, { subject, ...(actor !== undefined && { actor }) })
    },
  })
  return count !== 0
}
