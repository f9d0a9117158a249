import { text, textOrNull } from '../database/row.ts'
import { query } from '../database/statement.ts'
import type { Database } from '../database/types.ts'
import { type ClientRecord, clientColumns, clientOf } from './clients.ts'
import { type KeptConsent, keptConsentsOf } from './consents.ts'
import { type LoginRecord, loginColumns, loginOf } from './logins.ts'

/** What is known of a login that a session remembers, and of what its user allows the client. */
export interface KnownLogin {
  readonly login: LoginRecord
  readonly consents: readonly KeptConsent[]
}

/** All that the database knows of an authorization request that has just received. */
export interface AuthorizeLookup {
  readonly client: ClientRecord
  /** Absent when that login does not stand any more. */
  readonly known: KnownLogin | undefined
}

const lookup = query<{ clientId: string; sid: string | null; now: number }>((table, v, name) =>
  table('clients as clients')
    .leftJoin(name('logins as logins'), (on) =>
      on.onVal('logins.sid', v.sid).andOnNull('logins.ended_at').andOnVal('logins.expires_at', '>', v.now),
    )
    .leftJoin(name('consents as consents'), (on) =>
      on.on('consents.subject', 'logins.subject').andOn('consents.client_id', 'clients.client_id'),
    )
    .select([
      ...clientColumns.map((column) => `clients.${column}`),
      ...loginColumns.map((column) => `logins.${column}`),
      'consents.subject as consent_subject',
      ...['consents.organization', 'consents.terms', 'consents.updated_at as consent_updated_at'],
    ])
    .where('clients.client_id', v.clientId),
)

/**
 * Client, login and consents in one read, for the request that most often needs nothing more.
 *
 * @param values.sid the login that the session remembers, if any
 */
export const findForAuthorize = async (
  db: Database,
  { clientId, sid, now }: { clientId: string; sid: string | undefined; now: number },
): Promise<AuthorizeLookup | undefined> => {
  const rows = await lookup(db, { clientId, sid: sid ?? null, now })
  const [row] = rows
  // MariaDB compares texts as if padded with spaces, here and below.
  if (row === undefined || text(row, 'client_id') !== clientId) return undefined
  const login = textOrNull(row, 'sid') === null ? undefined : loginOf(row)
  const theirs = rows.filter((one) => textOrNull(one, 'consent_subject') === login?.subject)
  return { client: clientOf(row, now), known: login && { login, consents: keptConsentsOf(theirs) } }
}
