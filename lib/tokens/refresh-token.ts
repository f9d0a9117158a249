import type { AuthorizationServer } from '../authorization-server.ts'
import { createSecret, hashSecret } from '../keys/secrets.ts'
import { type Authorization, refreshTokenExpiry } from '../protocol/authorization.ts'
import type { Client } from '../protocol/client.ts'

/** A new refresh token, with the row that stores it. */
export interface IssuedRefreshToken {
  readonly value: string
  readonly row: {
    readonly hash: string
    readonly authorizationId: string
    readonly now: number
    readonly expiresAt: number
  }
}

/** When a refresh token of this authorization expires if it is issued or used now, in epoch seconds. */
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

export const issueRefreshToken = (
  server: AuthorizationServer,
  client: Client,
  authorization: Authorization,
): IssuedRefreshToken => {
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
