import { createSecret, hashSecret, isSecretOf } from '../keys/secrets.ts'
import { knownResources } from '../options/resources.ts'
import { bearer } from '../protocol/token-binding.ts'
import { findAccessToken } from '../repositories/index.ts'
import type { AccessTokenFormat } from './access-token-format.ts'

/** A random string; the database holds its hash and everything it stands for. */
export const opaqueAccessToken: AccessTokenFormat = {
  async issue(_server, { client, authorization, scopes, resources }, { now, expiresAt }) {
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
        resources,
        now,
        expiresAt,
      },
    }
  },

  async verify(server, value) {
    if (!isSecretOf('accessToken', value)) return undefined
    const hasResources = knownResources(server).length > 0
    return findAccessToken(server.database, { hash: hashSecret(value), hasResources })
  },
}
