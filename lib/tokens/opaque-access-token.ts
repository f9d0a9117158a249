import { createSecret, hashSecret, isSecretOf } from '../keys/secrets.ts'
import { bearer } from '../protocol/token-binding.ts'
import { findAccessToken } from '../repositories/index.ts'
import type { AccessTokenFormat } from './access-token-format.ts'

/** A random string; the database holds its hash and everything it stands for. */
export const opaqueAccessToken: AccessTokenFormat = {
  async issue(_server, { client, authorization, scopes }, { now, expiresAt }) {
    const value = createSecret('accessToken')
    return {
      value,
      binding: bearer,
      expiresIn: expiresAt - now,
      row: {
        hash: hashSecret(value),
        authorizationId: authorization?.id ?? null,
        clientId: client.clientId,
        subject: authorization?.subject ?? null,
        scopes,
        now,
        expiresAt,
      },
    }
  },

  async verify(server, value) {
    return isSecretOf('accessToken', value)
      ? findAccessToken(server.database, { hash: hashSecret(value) })
      : undefined
  },
}
