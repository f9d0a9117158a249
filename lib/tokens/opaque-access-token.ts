import type { Database } from '../database/types.ts'
import { createSecret, hashSecret, isSecretOf } from '../keys/secrets.ts'
import {
  type AccessToken,
  findAccessToken,
  findAccessTokenWithContext,
  findBoundAccessToken,
} from '../repositories/index.ts'
import type { AccessTokenFormat, AccessTokenGrant } from './access-token-format.ts'

/** What reads the token of each prefix. */
const finders = {
  accessToken: findAccessToken,
  boundAccessToken: findBoundAccessToken,
  contextAccessToken: findAccessTokenWithContext,
} as const
type Kind = keyof typeof finders
const kinds = Object.keys(finders) as Kind[]

const kindOf = (value: string): Kind | undefined => kinds.find((kind) => isSecretOf(kind, value))

/** Whether a value has the form of an opaque access token, of any prefix. */
export const isOpaqueAccessToken = (value: string): boolean => kindOf(value) !== undefined

/**
 * Reads a token of any prefix; undefined if there is none. The caller checks expiry and revocation.
 *
 * @param from.hasResources whether the host has resources; without them no token for a resource is found
 */
export const findOpaqueAccessToken = async (
  db: Database,
  value: string,
  { hasResources }: { readonly hasResources: boolean },
): Promise<AccessToken | undefined> => {
  const kind = kindOf(value)
  return kind && finders[kind](db, { hash: hashSecret(value), hasResources })
}

const kindFor = ({ context, binding }: AccessTokenGrant): Kind => {
  if (context) return 'contextAccessToken'
  return binding.type === 'bearer' ? 'accessToken' : 'boundAccessToken'
}

/**
 * A random string; the database holds its hash and everything it stands for. The prefix says whether it is
 * bound to a key or has a context, so that plain bearer tokens cost no more, and an older version refuses a token that it does
 * not understand, instead of accepting it without a proof.
 */
export const opaqueAccessToken: AccessTokenFormat = {
  async issue(_server, grant, { now, expiresAt, authorizationDetails }) {
    const { client, authorization, scopes, resources, binding, context } = grant
    const value = createSecret(kindFor(grant))
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
        ...(context && { context }),
        now,
        expiresAt,
      },
    }
  },

  async verify(server, value) {
    const hasResources = server.resources.length > 0
    return findOpaqueAccessToken(server.database, value, { hasResources })
  },
}
