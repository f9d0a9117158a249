import {
  type ClientFilter,
  type ClientRecord,
  clientsPerPage,
  countClients,
  findAmong,
  findClientRecords,
  listClientsByName,
  searchedWords,
} from '../../storage/repositories/index.ts'
import { isLookup, type Users } from '../../users/users.ts'
import { type RegisteredClient, registeredClient } from './administration.ts'
import { ownershipsIn, type WaitingClient } from './client-data.ts'
import type { ClientRegistry } from './register.ts'

/** A selection of clients for a list. */
export type ListFilter = ClientFilter | 'waiting'

/** A request for a list. */
export interface ListedClients {
  /** Part of the id, the name, a host or a contact, or the id or login name of the owner; '' for all clients. */
  readonly search: string
  readonly filter: ListFilter
  /** From 1. */
  readonly page: number
}

/** A client in a list. */
export interface ListedClient {
  readonly client: RegisteredClient
  /** Set if it, or a change of it, waits for a decision. */
  readonly waits?: WaitingClient | undefined
  /** The host or contact that the search found it by, unless that was its id or name. */
  readonly foundBy?: string | undefined
}

/** The part of the server that lists of clients need. */
export interface ListingContext extends Pick<ClientRegistry, 'database' | 'installed' | 'now'> {
  readonly users: Pick<Users, 'find' | 'findByUsername'>
}

/**
 * Those of these clients that wait for a decision.
 *
 * @param among ids, at most 100. @default the first 100 of all that wait
 */
export const waitingClients = async (
  { database, installed }: Pick<ListingContext, 'database' | 'installed'>,
  among?: readonly string[],
): Promise<ReadonlyMap<string, WaitingClient>> => {
  const waiting = await Promise.all(
    ownershipsIn(installed).map(({ listWaiting }) => listWaiting(database, among)),
  )
  return new Map(waiting.flat().map((each) => [each.clientId, each]))
}

/** The clients of the user with this id or login name, at most 100. */
const clientsOfOwner = async (
  { database, installed, users }: ListingContext,
  search: string,
): Promise<string[]> => {
  const ownerships = ownershipsIn(installed)
  if (ownerships.length === 0 || !isLookup(search)) return []
  const user = (await users.find(search)) ?? (await users.findByUsername?.(search))
  const owned = await Promise.all(
    ownerships.map(({ listOwnedBy }) => listOwnedBy(database, user?.subject ?? search)),
  )
  return owned.flat().slice(0, 100)
}

const foundBy = (record: ClientRecord, search: string): string | undefined => {
  const sought = search.toLowerCase()
  const { client_name: name = '' } = record.metadata
  if (sought === '' || `${record.clientId}\n${name}`.toLowerCase().includes(sought)) return undefined
  return searchedWords(record.metadata).find((word) => word.toLowerCase().includes(sought))
}

/**
 * A page of the clients by name, and how many clients each filter has.
 *
 * @example const { clients, counts } = await listedClients(server, { search: 'app5.example.com', filter: 'all', page: 1 })
 */
export const listedClients = async (
  context: ListingContext,
  { search, filter, page }: ListedClients,
): Promise<{
  readonly clients: readonly ListedClient[]
  readonly counts: Readonly<Record<ListFilter, number>>
}> => {
  const { database, now } = context
  const also = search === '' ? [] : await clientsOfOwner(context, search)
  const waiting = await waitingClients(context)
  const waitingIds = await findAmong(database, { clientIds: [...waiting.keys()], search, also })
  const counts = { ...(await countClients(database, { search, also })), waiting: waitingIds.length }
  const offset = (page - 1) * clientsPerPage
  const records =
    filter === 'waiting'
      ? await recordsOf(context, waitingIds.slice(offset, offset + clientsPerPage))
      : await listClientsByName(database, { search, also, filter, offset, now: now() })
  const clients = records.map((record) => ({
    client: registeredClient(record),
    waits: waiting.get(record.clientId),
    foundBy: foundBy(record, search),
  }))
  return { clients, counts }
}

const recordsOf = async (
  { database, now }: ListingContext,
  clientIds: readonly string[],
): Promise<ClientRecord[]> => {
  if (clientIds.length === 0) return []
  const records = await findClientRecords(database, { clientIds, now: now() })
  return clientIds.flatMap((clientId) => records.find((record) => record.clientId === clientId) ?? [])
}
