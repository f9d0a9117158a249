import { setMembers } from '../../protocol/json.ts'
import {
  command,
  insertInto,
  numberOf,
  numberOrNull,
  query,
  scopesOf,
  textOf,
  textOrNull,
} from '../../storage/database/statement.ts'
import type { Database, Row } from '../../storage/database/types.ts'
import { findAll, findOne, touches } from '../../storage/repositories/statements.ts'

/** `approved`: the member may use the app, although others must ask. */
export type RequestStatus = 'waiting' | 'approved' | 'refused'

/** A member's request for an app. Times are epoch seconds. */
export interface AppRequest {
  readonly id: string
  readonly organization: string
  readonly app: string
  readonly clientId: string
  readonly subject: string
  readonly status: RequestStatus
  readonly scopes: readonly string[]
  /** Absent for a device. */
  readonly redirectUri?: string
  /** As the member typed it. */
  readonly reason?: string
  readonly createdAt: number
}

const columns = [
  'id',
  'organization',
  'app',
  'client_id',
  'subject',
  'status',
  'scopes',
  'redirect_uri',
  'reason',
  'created_at',
]

const requestOf = (row: Row): AppRequest =>
  setMembers({
    id: textOf(row, 'id'),
    organization: textOf(row, 'organization'),
    app: textOf(row, 'app'),
    clientId: textOf(row, 'client_id'),
    subject: textOf(row, 'subject'),
    status: textOf(row, 'status') as RequestStatus,
    scopes: scopesOf(row),
    redirectUri: textOrNull(row, 'redirect_uri') ?? undefined,
    reason: textOrNull(row, 'reason') ?? undefined,
    createdAt: numberOf(row, 'created_at'),
  })

/** Requests on one page, and the most that are counted. */
export const requestsPerPage = 20
export const mostCounted = 100

interface OfMember {
  organization: string
  app: string
  subject: string
}

/** The request of a member for an app. Those that have expired count no more. */
export const findRequestOf = findOne(
  query<OfMember & { now: number }>((table, v) =>
    table('organization_app_requests')
      .select(columns)
      .where({ subject: v.subject, organization: v.organization, app: v.app })
      .where('expires_at', '>', v.now),
  ),
  requestOf,
)

/** A request of an organization. Another organization's is not found. */
export const findRequest = findOne(
  query<{ organization: string; id: string }>((table, v) =>
    table('organization_app_requests').select(columns).where({ id: v.id, organization: v.organization }),
  ),
  requestOf,
)

/** The waiting requests of an organization, oldest first, after one of them. */
export const listWaitingRequests = findAll(
  query<{ organization: string; time: number; id: string; now: number }>((table, v) =>
    table('organization_app_requests')
      .select(columns)
      .where({ organization: v.organization, status: 'waiting' })
      .where('expires_at', '>', v.now)
      .where((later) =>
        later
          .where('created_at', '>', v.time)
          .orWhere((same) => same.where({ created_at: v.time }).where('id', '>', v.id)),
      )
      .orderBy(['created_at', 'id'])
      .limit(requestsPerPage + 1, { skipBinding: true }),
  ),
  requestOf,
)

const waiting = query<{ organization: string; now: number }>((table, v, _name, raw) =>
  raw('select count(*) as count from (?) as counted', [
    table('organization_app_requests')
      .select('id')
      .where({ organization: v.organization, status: 'waiting' })
      .where('expires_at', '>', v.now)
      .limit(mostCounted, { skipBinding: true }),
  ]),
)

/** The number of requests that wait in an organization, up to {@link mostCounted}. */
export const countWaitingRequests = async (
  db: Database,
  values: { organization: string; now: number },
): Promise<number> => {
  const [row] = await waiting(db, values)
  return row ? numberOf(row, 'count') : 0
}

const byApp = query<{ organization: string; now: number }>((table, v) =>
  table('organization_app_requests')
    .select('app')
    .count('* as count')
    .where({ organization: v.organization, status: 'waiting' })
    .where('expires_at', '>', v.now)
    .groupBy('app'),
)

/** The numbers of waiting requests by app. */
export const countRequestsByApp = async (
  db: Database,
  values: { organization: string; now: number },
): Promise<ReadonlyMap<string, number>> =>
  new Map((await byApp(db, values)).map((row) => [textOf(row, 'app'), numberOf(row, 'count')]))

/** The numbers that the waiting requests of a member have. */
export const listRequestSlots = findAll(
  query<{ organization: string; subject: string }>((table, v) =>
    table('organization_app_requests')
      .select('slot')
      .where({ subject: v.subject, organization: v.organization })
      .whereNotNull('slot'),
  ),
  (row) => numberOrNull(row, 'slot') ?? 0,
)

const insert = insertInto('organization_app_requests')

/** Stores a request that waits. */
export const createRequest = (
  db: Database,
  { redirectUri, reason, ...request }: AppRequest & { readonly slot: number; readonly expiresAt: number },
): Promise<number> =>
  insert(db, {
    id: request.id,
    organization: request.organization,
    app: request.app,
    client_id: request.clientId,
    subject: request.subject,
    status: request.status,
    scopes: request.scopes.join(' '),
    redirect_uri: redirectUri ?? null,
    reason: reason ?? null,
    created_at: request.createdAt,
    slot: request.slot,
    expires_at: request.expiresAt,
  })

/** Answers a request. Returns false if it does not wait any more. */
export const answerRequest = touches(
  command<{ id: string; organization: string; status: string; expiresAt: number }>((table, v) =>
    table('organization_app_requests')
      .where({ id: v.id, organization: v.organization, status: 'waiting' })
      .update({ status: v.status, slot: null, expires_at: v.expiresAt }),
  ),
)

/** Removes the requests that a decision about the app has answered. */
export const removeWaitingRequests = command<{ organization: string; app: string }>((table, v) =>
  table('organization_app_requests')
    .where({ organization: v.organization, app: v.app, status: 'waiting' })
    .delete(),
)

/** Removes every request for an app, also those that were approved. */
export const removeRequestsForApp = command<{ organization: string; app: string }>((table, v) =>
  table('organization_app_requests').where({ organization: v.organization, app: v.app }).delete(),
)

/** Removes what a member asked for about an app, also if it was approved. */
export const removeRequestOf = command<OfMember>((table, v) =>
  table('organization_app_requests')
    .where({ subject: v.subject, organization: v.organization, app: v.app })
    .delete(),
)

/** Removes what a member asked for about an app if it has expired. */
export const removeExpiredRequestOf = command<OfMember & { now: number }>((table, v) =>
  table('organization_app_requests')
    .where({ subject: v.subject, organization: v.organization, app: v.app })
    .where('expires_at', '<=', v.now)
    .delete(),
)

/** Removes every request of an organization. */
export const removeRequestsIn = command<{ organization: string }>((table, v) =>
  table('organization_app_requests').where({ organization: v.organization }).delete(),
)

/** Removes every request of a user. */
export const removeRequestsOfSubject = command<{ subject: string }>((table, v) =>
  table('organization_app_requests').where({ subject: v.subject }).delete(),
)

/** Removes every request about a client that is gone. */
export const removeRequestsAbout = command<{ clientId: string }>((table, v) =>
  table('organization_app_requests').where({ client_id: v.clientId }).delete(),
)

const ofSubject = findAll(
  query<{ subject: string }>((table, v) =>
    table('organization_app_requests').select(columns).where({ subject: v.subject }).orderBy('created_at'),
  ),
  requestOf,
)

/** A member's request as `oauth.users.export()` has it. */
export type ExportedAppRequest = Omit<AppRequest, 'id' | 'subject'>

/** The requests of a user, for the user. */
export const exportRequests = async (
  db: Database,
  subject: string,
): Promise<{ appRequests?: readonly ExportedAppRequest[] }> => {
  const all = await ofSubject(db, { subject })
  return all.length === 0 ? {} : { appRequests: all.map(({ id: _, subject: __, ...request }) => request) }
}
