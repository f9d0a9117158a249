import { logoPath } from '../../oauth/authorization/consent.ts'
import type { AuthorizationServer } from '../../oauth/authorization-server.ts'
import { type Choices, unionChoices } from '../../protocol/choices.ts'
import { absoluteLifetime, type Client } from '../../protocol/clients/client.ts'
import type { ClientMetadata } from '../../protocol/clients/client-metadata.ts'
import { inLanguage } from '../../protocol/clients/client-metadata-languages.ts'
import { webHost } from '../../protocol/clients/redirect-uri.ts'
import { isLive } from '../../protocol/requests/authorization.ts'
import { consentEntries, shownEntries } from '../../protocol/requests/consent.ts'
import {
  type AuthorizationRecord,
  type ConsentRecord,
  findClientRecords,
  listAuthorizationsOfClient,
  listConsents,
  othersFirst,
} from '../../storage/repositories/index.ts'
import { batchSize } from '../../storage/repositories/pruning/batch.ts'
import { listSameClients, type SameClients } from './same-clients.ts'

/**
 * A client that has access for a user, or would get it again without asking; in one organization, if the host has any. It stands
 * for all that are the same to its user.
 */
export interface ConnectedClient {
  readonly clientId: string
  /** The id of the organization; absent if the host has none, or had none at the time. */
  readonly organization?: string
  readonly name: string
  /** The path of its logo. */
  readonly logoUrl?: string
  /** The host of its last redirect URI; empty if unknown. */
  readonly host: string
  /** A client of the host itself, which needs no consent. */
  readonly firstParty: boolean
  /** Scopes, resources and single claims of the consent and of everything still in use. */
  readonly scopes: readonly string[]
  /** The things that it may use, by kind; absent if there are none to choose. */
  readonly choices?: Choices
  /** When its access ends at the latest, in epoch seconds; absent if nothing is in use. */
  readonly end?: number
  /** Seconds after which its access without the user ends. */
  readonly longest: number
  /** Epoch seconds. */
  readonly since: number
  /** Epoch seconds of the last sign-in or refresh. */
  readonly lastUsed: number
  /** The number of the newest 200 authorizations of each id that are still in use. */
  readonly sessions: number
}

/** Whether a code, access token or refresh token of an authorization can still be used. */
export const isInUse = (authorization: AuthorizationRecord, now: number): boolean => {
  const { consumedAt, codeExpiresAt, accessTokenEnd, refreshTokenEnd } = authorization
  const end = Math.max(consumedAt === null ? codeExpiresAt : 0, accessTokenEnd, refreshTokenEnd)
  return isLive(authorization, now) && end > now
}

/** Epoch seconds of the last sign-in or refresh. */
export const lastUse = ({ createdAt, consumedAt, lastUsedAt }: AuthorizationRecord): number =>
  Math.max(createdAt, consumedAt ?? 0, lastUsedAt ?? 0)

const hostOf = (inUse: readonly AuthorizationRecord[], client: ClientMetadata | undefined): string => {
  const uri = inUse[0]?.details.redirectUri ?? client?.redirect_uris[0]
  return uri === undefined ? '' : webHost(uri)
}

/** The authorizations of a user for one client, in one organization if the host has any. */
interface AccessRecords {
  readonly clientId: string
  readonly organization: string | undefined
  readonly consents: ConsentRecord[]
  /** Newest first. */
  readonly inUse: AuthorizationRecord[]
}

/** Each entry once, as a consent names it. A resource is named by its scopes, if there are any. */
const entriesIn = (consents: readonly ConsentRecord[], inUse: readonly AuthorizationRecord[]): string[] => {
  const granted = inUse.flatMap(({ scopes, details: { resources, authorizationDetails } }) =>
    consentEntries({ scopes, resources, authorizationDetails }),
  )
  return shownEntries([...new Set([...consents.flatMap(({ scopes }) => scopes), ...granted])])
}

/** Everything that was chosen and can still be used, and its last end. */
const chosenBy = (
  consents: readonly ConsentRecord[],
  inUse: readonly AuthorizationRecord[],
): Pick<ConnectedClient, 'choices' | 'end'> => {
  const choices = [...consents, ...inUse].reduce(
    (sum: Choices, one) => (one.choices ? unionChoices(sum, one.choices) : sum),
    {},
  )
  const ends = inUse.map(({ expiresAt }) => expiresAt)
  return {
    ...(Object.keys(choices).length > 0 && { choices }),
    ...(ends.length > 0 && { end: Math.max(...ends) }),
  }
}

const connectedClient = (
  server: AuthorizationServer,
  { clientId, organization, consents, inUse }: AccessRecords,
  registered: Client | undefined,
  language: string,
): ConnectedClient => {
  const client = registered?.metadata
  const logoUrl = registered && logoPath(server, registered)
  return {
    clientId,
    ...(organization !== undefined && { organization }),
    ...(logoUrl !== undefined && { logoUrl }),
    name: (client && inLanguage(client, 'client_name', language)) ?? clientId,
    host: hostOf(inUse, client),
    firstParty: client?.first_party === true,
    scopes: entriesIn(consents, inUse),
    ...chosenBy(consents, inUse),
    longest: absoluteLifetime(client ?? {}, server.options.lifetimes),
    since: Math.min(...[...consents, ...inUse].map(({ createdAt }) => createdAt)),
    lastUsed: Math.max(...consents.map(({ updatedAt }) => updatedAt), ...inUse.map(lastUse)),
    sessions: inUse.length,
  }
}

/** The authorizations of a user for some clients, by client and organization. */
const accessOf = async (
  server: AuthorizationServer,
  subject: string,
  clients: readonly SameClients[],
): Promise<AccessRecords[]> => {
  const first = new Map(clients.flatMap((same) => same.map((clientId) => [clientId, same[0]] as const)))
  const clientIds = [...first.keys()]
  const access = new Map<string, AccessRecords>()
  const accessTo = (id: string, ofOrganization: string | undefined): AccessRecords => {
    const clientId = first.get(id) ?? id
    const organization = server.options.organizations && ofOrganization
    const key = JSON.stringify([clientId, organization])
    const found = access.get(key) ?? { clientId, organization, consents: [], inUse: [] }
    access.set(key, found)
    return found
  }
  const now = server.now()
  for (let start = 0; start < clientIds.length; start += batchSize) {
    const some = { subject, clientIds: clientIds.slice(start, start + batchSize) }
    for (const consent of await listConsents(server.database, some))
      accessTo(consent.clientId, consent.organization).consents.push(consent)
  }
  for (const clientId of clientIds) {
    await othersFirst()
    const granted = await listAuthorizationsOfClient(server.database, { subject, clientId })
    for (const one of granted)
      if (isInUse(one, now)) accessTo(clientId, one.details.organization).inUse.push(one)
  }
  for (const { inUse } of access.values()) inUse.sort((one, other) => other.createdAt - one.createdAt)
  return [...access.values()]
}

/**
 * The access of some clients to a user, the last used client first. A client with access to several organizations appears
 * once for each.
 *
 * @param clients at most 100
 * @param language of their names
 */
export const connectedClients = async (
  server: AuthorizationServer,
  subject: string,
  clients: readonly SameClients[],
  language: string,
): Promise<ConnectedClient[]> => {
  if (clients.length === 0) return []
  const clientIds = clients.map(([clientId]) => clientId)
  const records = await findClientRecords(server.database, { clientIds, now: server.now() })
  const registered = new Map(records.map((client) => [client.clientId, client]))
  return (await accessOf(server, subject, clients))
    .map((each) => connectedClient(server, each, registered.get(each.clientId), language))
    .sort(
      (one, other) =>
        other.lastUsed - one.lastUsed ||
        one.name.localeCompare(other.name) ||
        (one.organization ?? '').localeCompare(other.organization ?? ''),
    )
}

/** Clients on one page of the list. */
const pageSize = 20

/**
 * The clients of a user, 20 on a page: those with the last sign-ins come first. It is the last page if a later one was
 * asked for.
 *
 * @param page from 1
 * @param language of their names
 */
export const connectedClientsPage = async (
  server: AuthorizationServer,
  subject: string,
  page: number,
  language: string,
) => {
  const all = await listSameClients(server, subject)
  const pages = Math.max(1, Math.ceil(all.length / pageSize))
  const number = Math.min(page, pages)
  const shown = all.slice((number - 1) * pageSize, number * pageSize)
  const clients = await connectedClients(server, subject, shown, language)
  return { clients, number, isLast: number === pages }
}
