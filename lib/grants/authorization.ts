import type { AuthorizationServer } from '../authorization-server.ts'
import type { Authorization } from '../protocol/authorization.ts'
import { OAuthError } from '../protocol/errors.ts'
import { timeOf } from '../protocol/explanation.ts'
import type { TokenRequest } from '../protocol/token-request.ts'
import { revokeAuthorization } from '../repositories/index.ts'
import { belongsToOrganization, type User } from '../users/users.ts'

/** The part of an authorization that names its user. */
interface UserOfAuthorization extends Pick<Authorization, 'subject'> {
  readonly details: Pick<Authorization['details'], 'organization'>
}

/**
 * The user of an authorization, as the host has them now. A user who left the organization is refused, but the tokens
 * are not revoked: they work again if the user returns.
 *
 * @throws OAuthError `invalid_grant` if the user is gone, disabled, or no longer in the organization
 */
export const activeUser = async (
  server: AuthorizationServer,
  { subject, details }: UserOfAuthorization,
): Promise<User> => {
  const user = await server.users.find(subject)
  if (user === undefined) throw new OAuthError('invalid_grant', 'the user is disabled or no longer exists')
  if (!(await belongsToOrganization(server.options.organizations, user, details.organization))) {
    throw new OAuthError('invalid_grant', 'the user no longer belongs to the organization')
  }
  return user
}

const replays = {
  code_replayed: 'code was redeemed before',
  device_code_replayed: 'device_code was redeemed before',
  refresh_token_replayed: 'refresh_token was used before',
} as const

/**
 * Revokes every token of an authorization because its code or refresh token was used twice.
 *
 * @throws OAuthError `invalid_grant`, always
 */
export const revokeReplayed = async (
  server: AuthorizationServer,
  { id, clientId, subject, consumedAt }: Authorization,
  { info }: TokenRequest,
  reason: keyof typeof replays,
): Promise<never> => {
  await revokeAuthorization(server.database, { id, now: server.now() })
  server.options.logger.warn(`latchkey: ${replays[reason]}; all tokens of authorization ${id} are revoked`)
  server.events.announce('authorization.revoked', info, { authorizationId: id, clientId, subject, reason })
  const used =
    consumedAt === null ? 'one that another request has just used' : `one used ${timeOf(consumedAt)}`
  throw new OAuthError('invalid_grant', `${replays[reason]}; every token issued for it is revoked`, {
    explanation: { expected: 'a value that was not used', received: used },
  })
}
