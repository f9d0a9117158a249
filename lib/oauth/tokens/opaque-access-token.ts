import { createSecret, hashSecret, isSecretOf } from '../../keys/secrets.ts'
import { findAccessToken } from '../../storage/repositories/index.ts'
import type { AccessTokenFormat } from './access-token-format.ts'

/** A random string; the database holds its hash and everything it stands for. */
export const opaqueAccessToken: AccessTokenFormat = {
  async issue(_server, draft, { now, expiresAt, authorizationDetails }) {
    const { client, authorization, scopes, resources, binding, context } = draft
    const value = createSecret('accessToken')
    return {
      value,
      binding,
      expiresIn: expiresAt - now,
      authorizationDetails,
      row: {
        hash: hashSecret(value),
        authorizationId: authorization?.id ?? null,
        clientId: client.clientId,
        subject: authorization?.subject ?? null,
        scopes,
        resources,
        binding,
        context,
        now,
        expiresAt,
      },
    }
  },

  async verify({ database, resources }, value) {
    if (!isSecretOf('accessToken', value)) return undefined
    const stored = await findAccessToken(database, { hash: hashSecret(value) })
    // A host without resources has no use for the tokens of earlier ones.
    return resources.length === 0 && stored && stored.resources.length > 0 ? undefined : stored
  },
}
