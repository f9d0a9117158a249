import type { AuthorizationServer } from '../authorization-server.ts'
import { isLive } from '../protocol/authorization.ts'
import type { ClientMetadata } from '../protocol/client-metadata.ts'
import { redirectUriHost } from '../protocol/redirect-uri.ts'
import {
  type AuthorizationRecord,
  type ConsentRecord,
  listAuthorizations,
  listConsents,
} from '../repositories/index.ts'

/** A client that may do something for a user, or would be let in again without asking. */
export interface ConnectedClient {
  readonly clientId: string
  readonly name: string
  /** Where it was answered last; empty when nothing tells. */
  readonly host: string
  /** A client of the host's own, which is never asked about. */
  readonly firstParty: boolean
  /** Scopes, and claims beyond them, of the consent and of all that is still in use. */
  readonly scopes: readonly string[]
  /** Epoch seconds. */
  readonly since: number
  /** Epoch seconds of the last sign-in or refresh, to the minute. */
  readonly lastUsed: number
  /** Authorizations of which something can still be used. */
  readonly sessions: number
}

/** Whether a code, an access token or a refresh token of it can be used. */
const isInUse = (authorization: AuthorizationRecord, now: number): boolean => {
  const { consumedAt, codeExpiresAt, accessTokenEnd, refreshTokenEnd } = authorization
  const end = Math.max(consumedAt === null ? codeExpiresAt : 0, accessTokenEnd, refreshTokenEnd)
  return isLive(authorization, now) && end > now
}

const lastUse = ({ createdAt, consumedAt, lastUsedAt }: AuthorizationRecord): number =>
  Math.max(createdAt, consumedAt ?? 0, lastUsedAt ?? 0)

const hostOf = (inUse: readonly AuthorizationRecord[], client: ClientMetadata | undefined): string => {
  const uri = inUse.at(-1)?.details.redirectUri ?? client?.redirect_uris[0]
  return uri === undefined ? '' : redirectUriHost(uri)
}

const connectedClient = (
  clientId: string,
  consent: ConsentRecord | undefined,
  inUse: readonly AuthorizationRecord[],
): ConnectedClient => {
  const client = consent?.client ?? inUse[0]?.client
  return {
    clientId,
    name: client?.client_name ?? clientId,
    host: hostOf(inUse, client),
    firstParty: client?.first_party === true,
    scopes: [...new Set([...(consent?.scopes ?? []), ...inUse.flatMap(({ scopes }) => scopes)])],
    since: Math.min(...[consent, ...inUse].map((record) => record?.createdAt ?? Number.POSITIVE_INFINITY)),
    lastUsed: Math.max(consent?.updatedAt ?? 0, ...inUse.map(lastUse)),
    sessions: inUse.length,
  }
}

/** The clients of a user, the one that was used last first. */
export const connectedClients = async (
  server: AuthorizationServer,
  subject: string,
): Promise<ConnectedClient[]> => {
  const consents = await listConsents(server.database, { subject })
  const now = server.now()
  const inUse = (await listAuthorizations(server.database, { subject })).filter((one) => isInUse(one, now))
  const clientIds = new Set([...consents, ...inUse].map(({ clientId }) => clientId))
  const clients = [...clientIds].map((clientId) =>
    connectedClient(
      clientId,
      consents.find((consent) => consent.clientId === clientId),
      inUse.filter((authorization) => authorization.clientId === clientId),
    ),
  )
  return clients.sort((one, other) => other.lastUsed - one.lastUsed || one.name.localeCompare(other.name))
}
