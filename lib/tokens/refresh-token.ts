import type { AuthorizationServer } from '../authorization-server.ts'
import { createSecret, hashSecret } from '../keys/secrets.ts'
import type { Authorization } from '../protocol/authorization.ts'
import type { Client } from '../protocol/client.ts'
import { refreshTokenExpiry } from '../protocol/refresh-token.ts'

/** A refresh token ready to be stored, and to be told to the client afterwards. */
export interface IssuableRefreshToken {
  readonly value: string
  readonly row: {
    readonly hash: string
    readonly authorizationId: string
    readonly now: number
    readonly expiresAt: number
  }
}

/** When a refresh token of this family expires if it is issued or used now; epoch seconds. */
export const refreshTokenEnd = (
  server: AuthorizationServer,
  client: Client,
  authorization: Authorization,
): number =>
  refreshTokenExpiry(
    server.now(),
    client.metadata.refresh_token_idle_lifetime ?? server.options.lifetimes.refreshTokenIdle,
    authorization.expiresAt,
  )

/** A new link in the chain of an authorization. */
export const newRefreshToken = (
  server: AuthorizationServer,
  client: Client,
  authorization: Authorization,
): IssuableRefreshToken => {
  const value = createSecret('refreshToken')
  return {
    value,
    row: {
      hash: hashSecret(value),
      authorizationId: authorization.id,
      now: server.now(),
      expiresAt: refreshTokenEnd(server, client, authorization),
    },
  }
}
