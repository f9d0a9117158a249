import type { AuthorizationServer } from '../authorization-server.ts'
import { createSecret, hashSecret, isSecretOf } from '../keys/secrets.ts'
import { type AuthorizationDetails, isLive } from '../protocol/authorization.ts'
import type { Client } from '../protocol/client.ts'
import type { ClientMetadata } from '../protocol/client-metadata.ts'
import { OAuthError } from '../protocol/errors.ts'
import { findAccessToken, type NewAccessToken } from '../repositories/index.ts'
import { mayUseOrganization } from '../users/organizations.ts'
import type { User } from '../users/users.ts'

/** A token ready to be stored in the transaction that issues it, and to be told to the client afterwards. */
export interface IssuableAccessToken {
  readonly value: string
  readonly row: NewAccessToken
  /** Seconds. */
  readonly expiresIn: number
}

interface AccessTokenGrant {
  readonly client: Client
  readonly scopes: readonly string[]
  /** The authorization that it belongs to; none for a client's own token. */
  readonly authorization?: { readonly id: string; readonly subject: string; readonly expiresAt: number }
}

/** A new opaque access token; it never outlives its family. */
export const newAccessToken = (server: AuthorizationServer, grant: AccessTokenGrant): IssuableAccessToken => {
  const { client, authorization, scopes } = grant
  const value = createSecret('accessToken')
  const now = server.now()
  const lifetime = client.metadata.access_token_lifetime ?? server.options.lifetimes.accessToken
  const expiresAt = Math.min(now + lifetime, authorization?.expiresAt ?? Number.POSITIVE_INFINITY)
  return {
    value,
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
}

/** What a valid access token says. */
export interface VerifiedToken {
  /** The user's identifier; undefined when the client acts for itself. */
  readonly subject: string | undefined
  readonly clientId: string
  readonly scopes: readonly string[]
  /** The workspace that it is for, where the option `organizations` says that the user belongs to some. */
  readonly organization?: string
  /** Epoch seconds. */
  readonly issuedAt: number
  /** Epoch seconds. */
  readonly expiresAt: number
}

/** A valid token together with its client, and the user whom it speaks for as the host's table has them now. */
export interface TokenWithUser {
  readonly token: VerifiedToken
  readonly user: User | undefined
  readonly client: ClientMetadata
  /** The request that led to it; none for a client's own token. */
  readonly details: AuthorizationDetails | undefined
}

const invalidToken = (): OAuthError =>
  new OAuthError('invalid_token', 'the access token is unknown, expired or revoked')

/**
 * Verifies an opaque access token: stored, not expired, not revoked, its family and client standing, its user active
 * and still in the workspace that it is for.
 *
 * @throws OAuthError `invalid_token`, alike for every reason (RFC 6750 §3.1)
 */
export const verifyAccessToken = async (
  server: AuthorizationServer,
  value: string,
): Promise<TokenWithUser> => {
  if (!isSecretOf('accessToken', value)) throw invalidToken()
  const found = await findAccessToken(server.database, { hash: hashSecret(value) })
  const now = server.now()
  if (found === undefined || found.revokedAt !== null || found.expiresAt <= now || !found.client) {
    throw invalidToken()
  }
  // A user's token lives by its family; where that is gone, so is the token.
  if (found.subject !== undefined && !(found.family && isLive(found.family, now))) throw invalidToken()
  const user = found.subject === undefined ? undefined : await server.users.find(found.subject)
  if (found.subject !== undefined && user === undefined) throw invalidToken()
  const { subject, clientId, scopes, createdAt: issuedAt, expiresAt } = found
  const organization = found.family?.details.organization
  if (
    user &&
    organization !== undefined &&
    !(await mayUseOrganization(server.options.organizations, user, organization))
  )
    throw invalidToken()
  const token = {
    subject,
    clientId,
    scopes,
    issuedAt,
    expiresAt,
    ...(organization !== undefined && { organization }),
  }
  return { token, user, client: found.client, details: found.family?.details }
}
