import { createSecret, hashSecret, isSecretOf } from '../keys/secrets.ts'
import { knownResources } from '../options/resources.ts'
import { findAccessToken, findBoundAccessToken } from '../repositories/index.ts'
import type { AccessTokenFormat } from './access-token-format.ts'

/** Whether a value has the form of an opaque access token, of either prefix. */
export const isOpaqueAccessToken = (value: string): boolean =>
  isSecretOf('accessToken', value) || isSecretOf('boundAccessToken', value)

/**
 * A random string; the database holds its hash and everything it stands for. The prefix says whether it
 * is bound to a key, so that bearer tokens cost no more, and an older version refuses a bound token instead of accepting it
 * without a proof.
 */
export const opaqueAccessToken: AccessTokenFormat = {
  async issue(_server, { client, authorization, scopes, resources, binding }, { now, expiresAt }) {
    const value = createSecret(binding.type === 'bearer' ? 'accessToken' : 'boundAccessToken')
    return {
      value,
      binding,
      expiresIn: expiresAt - now,
      row: {
        hash: hashSecret(value),
        authorizationId: authorization?.id ?? null,
        clientId: client.clientId,
        subject: authorization?.subject ?? null,
        scopes,
        resources,
        binding,
        now,
        expiresAt,
      },
    }
  },

  async verify(server, value) {
    if (!isOpaqueAccessToken(value)) return undefined
    const find = isSecretOf('accessToken', value) ? findAccessToken : findBoundAccessToken
    const hasResources = knownResources(server).length > 0
    return find(server.database, { hash: hashSecret(value), hasResources })
  },
}
