import type { AuthorizationServer } from '../../oauth/authorization-server.ts'
import type { Client } from '../../protocol/clients/client.ts'
import { isLoopbackHost, redirectUriHost } from '../../protocol/clients/redirect-uri.ts'
import { findClientRecords, listClientsOfUser } from '../../storage/repositories/index.ts'
import { batchSize } from '../../storage/repositories/pruning/batch.ts'

/** Clients that are one and the same to their user, the last used first. */
export type SameClients = readonly [clientId: string, ...others: string[]]

/** Apps on the user's device take another port each time. */
const placeOf = (uri: string): string => {
  const { hostname } = new URL(uri)
  return isLoopbackHost(hostname) ? hostname : redirectUriHost(uri)
}

/** The face by which people know a self-described client: its name, and all places where its answers can go. */
const faceOf = ({ clientId, metadata }: Client): string => {
  const { self_described: by, client_name: name, redirect_uris: uris } = metadata
  if (by !== 'registration' && by !== 'document') return clientId
  return name === undefined ? clientId : JSON.stringify([name, [...new Set(uris.map(placeOf))].sort()])
}

/**
 * The clients of a user, at most 1,000, the last used first. A client that registers again and again has many ids, which are
 * together.
 */
export const listSameClients = async (
  { database, now }: Pick<AuthorizationServer, 'database' | 'now'>,
  subject: string,
): Promise<SameClients[]> => {
  const ids = await listClientsOfUser(database, { subject })
  const faces = new Map<string, string>()
  for (let start = 0; start < ids.length; start += batchSize) {
    const clientIds = ids.slice(start, start + batchSize)
    for (const client of await findClientRecords(database, { clientIds, now: now() }))
      faces.set(client.clientId, faceOf(client))
  }
  const same = new Map<string, SameClients>()
  for (const clientId of ids) {
    const face = faces.get(clientId) ?? clientId
    const others = same.get(face)
    same.set(face, others ? [...others, clientId] : [clientId])
  }
  return [...same.values()]
}

/** The clients of a user that are the same as this one. */
export const sameClientsAs = async (
  server: Pick<AuthorizationServer, 'database' | 'now'>,
  subject: string,
  clientId: string,
): Promise<SameClients> =>
  (await listSameClients(server, subject)).find((same) => same.includes(clientId)) ?? [clientId]
