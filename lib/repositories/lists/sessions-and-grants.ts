import { json, query, text } from '../../database/statement.ts'
import type { Database, Row } from '../../database/types.ts'
import type { AuthorizationDetails } from '../../protocol/requests/authorization.ts'
import { type AuthorizationRecord, recordOf, records } from '../authorization-records.ts'
import { historyColumns, historyOf, type LoginHistory } from '../logins.ts'
import { batchParams, batchSize, keysIn } from '../pruning/batch.ts'

// Pages in the order of the primary key, each with what follows the last key of the page before.

/** Whose rows a page has; without either, everybody's. */
export interface Whose {
  readonly subject?: string | undefined
  readonly clientId?: string | undefined
}

/** The most rows of a page. */
export const maxPage = batchSize

/** A page of rows that are active. */
export interface KeyPage extends Whose {
  /** The last key of the page before; '' for the first page. */
  readonly after: string
  /** Epoch seconds. */
  readonly now: number
}

type Statement = ReturnType<typeof query<Record<string, string | number | null>>>

/** One statement for each combination, so that each has a plan of its own. */
const each = (build: (whose: { subject: boolean; clientId: boolean }) => Statement) => {
  const statements = {
    all: build({ subject: false, clientId: false }),
    ofSubject: build({ subject: true, clientId: false }),
    ofClient: build({ subject: false, clientId: true }),
    ofBoth: build({ subject: true, clientId: true }),
  }
  return async (db: Database, { subject, clientId, ...page }: KeyPage): Promise<readonly Row[]> => {
    if (subject !== undefined && clientId !== undefined)
      return statements.ofBoth(db, { ...page, subject, clientId })
    if (subject !== undefined) return statements.ofSubject(db, { ...page, subject })
    return clientId === undefined
      ? statements.all(db, { ...page })
      : statements.ofClient(db, { ...page, clientId })
  }
}

const logins = each(({ subject, clientId }) =>
  query((table, v) => {
    const rows = table('logins')
      .select(historyColumns)
      .where('sid', '>', v.after ?? '')
      .where('expires_at', '>', v.now ?? 0)
      .whereNull('ended_at')
      .orderBy('sid')
    if (subject) rows.where({ subject: v.subject })
    if (clientId) {
      const granted = table('authorizations').select('sid').where({ client_id: v.clientId })
      rows.whereIn('sid', subject ? granted.where({ subject: v.subject }) : granted)
    }
    return rows.limit(maxPage, { skipBinding: true })
  }),
)

/** A page of active logins; with a client, those under which a user signed in to it. */
export const listLoginsPage = async (db: Database, page: KeyPage): Promise<LoginHistory[]> =>
  (await logins(db, page)).map(historyOf)

const grants = each(({ subject, clientId }) =>
  query((table, v, name, raw) => {
    const rows = records(table, name, raw)
      .where('authorizations.id', '>', v.after ?? '')
      .where('authorizations.expires_at', '>', v.now ?? 0)
      .whereNull('authorizations.revoked_at')
      .orderBy('authorizations.id')
    if (subject) rows.where({ 'authorizations.subject': v.subject })
    if (clientId) rows.where({ 'authorizations.client_id': v.clientId })
    return rows.limit(maxPage, { skipBinding: true })
  }),
)

/** A page of authorizations that are not revoked. Some may have no token left that can be used. */
export const listAuthorizationsPage = async (db: Database, page: KeyPage): Promise<AuthorizationRecord[]> =>
  (await grants(db, page)).map(recordOf)

/** The most grants of one page of logins that are read. */
const maxRead = 10_000

const clientsOf = query<Record<string, string | number | null>>((table, v) =>
  table('authorizations')
    .select(['sid', 'client_id', 'request'])
    .whereIn('sid', keysIn(v))
    .orderBy(['created_at', 'id'])
    .limit(maxRead, { skipBinding: true }),
)

/** A client to which a user signed in, in one organization if the host has any. */
export interface LoginClient {
  readonly clientId: string
  readonly organization: string | undefined
}

/**
 * The clients to which users signed in under these logins, by sid.
 *
 * @param sids at most 100
 */
export const loginClients = async (
  db: Database,
  sids: readonly string[],
): Promise<ReadonlyMap<string, readonly LoginClient[]>> => {
  const found = new Map<string, LoginClient[]>()
  if (sids.length === 0) return found
  for (const row of await clientsOf(db, batchParams(sids) as never)) {
    const sid = text(row, 'sid')
    const { organization } = json<AuthorizationDetails>(row, 'request')
    const others = found.get(sid) ?? []
    others.push({ clientId: text(row, 'client_id'), organization })
    found.set(sid, others)
  }
  return found
}
