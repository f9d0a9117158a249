import type { AuthorizationServer } from '../authorization-server.ts'
import { isLive } from '../protocol/authorization.ts'
import type { ClientMetadata } from '../protocol/client-metadata.ts'
import { inLanguage } from '../protocol/client-metadata-languages.ts'
import { redirectUriHost } from '../protocol/redirect-uri.ts'
import {
  type AuthorizationRecord,
  type ConsentRecord,
  listAuthorizations,
  listConsents,
} from '../repositories/index.ts'

/** A client that may do something for a user, or would be let in again without asking; in one workspace, where there are some. */
export interface ConnectedClient {
  readonly clientId: string
  /** The workspace's id; absent where the host knows none, and for what was given when it knew none. */
  readonly organization?: string
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

/** What a user gave to one client, in one workspace where there are some. */
interface Given {
  readonly clientId: string
  readonly organization: string | undefined
  readonly consents: ConsentRecord[]
  readonly inUse: AuthorizationRecord[]
}

const connectedClient = (
  { clientId, organization, consents, inUse }: Given,
  language: string,
): ConnectedClient => {
  const [record] = [...consents, ...inUse]
  const client = record?.client
  return {
    clientId,
    ...(organization !== undefined && { organization }),
    name: (client && inLanguage(client, 'client_name', language)) ?? clientId,
    host: hostOf(inUse, client),
    firstParty: client?.first_party === true,
    scopes: [...new Set([...consents, ...inUse].flatMap(({ scopes }) => scopes))],
    since: Math.min(...[...consents, ...inUse].map(({ createdAt }) => createdAt)),
    lastUsed: Math.max(...consents.map(({ updatedAt }) => updatedAt), ...inUse.map(lastUse)),
    sessions: inUse.length,
  }
}

/**
 * The clients of a user, the one that was used last first; one that has access to several workspaces once for each.
 *
 * @param language that their names shall be in
 */
export const connectedClients = async (
  server: AuthorizationServer,
  subject: string,
  language: string,
): Promise<ConnectedClient[]> => {
  const consents = await listConsents(server.database, { subject })
  const now = server.now()
  const inUse = (await listAuthorizations(server.database, { subject })).filter((one) => isInUse(one, now))
  const given = new Map<string, Given>()
  const givenTo = (clientId: string, ofOrganization: string | undefined): Given => {
    const organization = server.options.organizations && ofOrganization
    const key = JSON.stringify([clientId, organization])
    const found = given.get(key) ?? { clientId, organization, consents: [], inUse: [] }
    given.set(key, found)
    return found
  }
  for (const consent of consents) givenTo(consent.clientId, consent.organization).consents.push(consent)
  for (const one of inUse) givenTo(one.clientId, one.details.organization).inUse.push(one)
  return [...given.values()]
    .map((each) => connectedClient(each, language))
    .sort(
      (one, other) =>
        other.lastUsed - one.lastUsed ||
        one.name.localeCompare(other.name) ||
        (one.organization ?? '').localeCompare(other.organization ?? ''),
    )
}
