import type { Knex } from 'knex'
import type { AuthorizationServer } from '../../oauth/authorization-server.ts'
import type { RequestInfo } from '../../protocol/requests/request-info.ts'
import { numberOf, query, scopesOf, textOf } from '../../storage/database/statement.ts'
import type { Database } from '../../storage/database/types.ts'
import { type BatchParams, batchParams, batchSize, keysIn } from '../../storage/repositories/pruning/batch.ts'
import { disconnectClient } from '../../users/account/disconnect-client.ts'

// What the members of an organization allowed clients. All of it is read by the index of consents that starts with the organization.

/** The use of a client in an organization. */
export interface ClientUse {
  readonly clientId: string
  /** Members who allow it something. */
  readonly users: number
  /** Epoch seconds. */
  readonly lastUsedAt: number
}

/** The most clients of an organization that its pages read. */
export const mostClients = 1000

const byClient = query<{ organization: string }>((table, v) =>
  table('consents')
    .select('client_id')
    .count('* as users')
    .max('updated_at as last_used_at')
    .where({ organization: v.organization })
    .groupBy('client_id')
    .orderBy('client_id')
    .limit(mostClients, { skipBinding: true }),
)

/** The clients that members of an organization use, at most {@link mostClients}. */
export const listClientUses = async (db: Database, organization: string): Promise<ClientUse[]> =>
  (await byClient(db, { organization })).map((row) => ({
    clientId: textOf(row, 'client_id'),
    users: numberOf(row, 'users'),
    lastUsedAt: numberOf(row, 'last_used_at'),
  }))

const ofClients = (table: (name: string) => Knex.QueryBuilder, v: Readonly<Record<string, Knex.Value>>) =>
  table('consents').where({ organization: v.organization }).whereIn('client_id', keysIn(v))

const page = query<BatchParams>((table, v) =>
  ofClients(table, v)
    .select(['subject', 'client_id', 'created_at', 'updated_at'])
    .where((earlier) =>
      earlier
        .where('updated_at', '<', v.time ?? null)
        .orWhere((same) =>
          same.where({ updated_at: v.time ?? null }).where('subject', '>', v.subject ?? null),
        ),
    )
    .orderBy([{ column: 'updated_at', order: 'desc' }, 'subject'])
    .limit(membersPerPage + 1, { skipBinding: true }),
)

const permissions = query<BatchParams>((table, v) =>
  ofClients(table, v)
    .select('scopes')
    .count('* as users')
    .groupBy('scopes')
    .limit(mostClients, { skipBinding: true }),
)

/** Members on one page. */
export const membersPerPage = 50

/** A member who uses an app. Times are epoch seconds. */
export interface AppMember {
  readonly subject: string
  readonly clientId: string
  readonly since: number
  readonly lastUsedAt: number
}

/** The place of a member in the list: after the last one of the page before. */
export interface MemberPlace {
  readonly time: number
  readonly subject: string
}

/** The members who use these clients, at most 100 clients; the last used first. */
export const listMembers = async (
  db: Database,
  organization: string,
  clientIds: readonly string[],
  { time, subject }: MemberPlace = { time: Number.MAX_SAFE_INTEGER, subject: '' },
): Promise<AppMember[]> =>
  clientIds.length === 0
    ? []
    : (await page(db, batchParams(clientIds, { organization, time, subject }))).map((row) => ({
        subject: textOf(row, 'subject'),
        clientId: textOf(row, 'client_id'),
        since: numberOf(row, 'created_at'),
        lastUsedAt: numberOf(row, 'updated_at'),
      }))

/** How many members allowed each entry of their consents to these clients, at most 100 clients. */
export const countEntries = async (
  db: Database,
  organization: string,
  clientIds: readonly string[],
): Promise<ReadonlyMap<string, number>> => {
  const counts = new Map<string, number>()
  if (clientIds.length === 0) return counts
  for (const row of await permissions(db, batchParams(clientIds, { organization })))
    for (const entry of scopesOf(row)) counts.set(entry, (counts.get(entry) ?? 0) + numberOf(row, 'users'))
  return counts
}

/**
 * Ends everything that members of an organization allowed these clients there, a member at a time, so that nothing waits long.
 *
 * @returns the number of members
 */
export const removeFromMembers = async (
  server: AuthorizationServer,
  organization: string,
  clientIds: readonly string[],
  info?: RequestInfo,
): Promise<number> => {
  const by = info === undefined ? {} : { info }
  // One who used several of the clients counts once.
  const removed = new Set<string>()
  for (let start = 0; start < clientIds.length; start += batchSize) {
    const some = clientIds.slice(start, start + batchSize)
    let members = await listMembers(server.database, organization, some)
    while (members.length > 0) {
      for (const { subject, clientId } of members)
        if (await disconnectClient(server, { subject, clientId, organization }, by)) removed.add(subject)
      members = await listMembers(server.database, organization, some)
    }
  }
  return removed.size
}
