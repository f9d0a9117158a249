import type { Knex } from 'knex'
import { text, textOrNull } from '../database/row.ts'
import { query } from '../database/statement.ts'
import type { Database, Row } from '../database/types.ts'
import type { Client } from '../protocol/client.ts'
import { clientColumns, clientOf } from './clients.ts'
import { type KeptConsent, keptConsentsOf } from './consents.ts'
import { type LoginRecord, loginColumns, loginOf } from './logins.ts'

/** The login that a session remembers, and what its user allows the client. */
export interface KnownLogin {
  readonly login: LoginRecord
  readonly consents: readonly KeptConsent[]
}

/** What the database knows about an authorization request: its client and, if it is valid, the login of the session. */
export interface AuthorizeLookup {
  readonly client: Client
  /** Undefined if the login is no longer valid. */
  readonly known: KnownLogin | undefined
}

/** Columns of {@link lookupOf}. */
export const lookupColumns = [
  ...clientColumns.map((column) => `clients.${column}`),
  ...loginColumns.map((column) => `logins.${column}`),
  'consents.subject as consent_subject',
  ...['consents.organization', 'consents.terms', 'consents.updated_at as consent_updated_at'],
]

/** Joins the valid login of a session, and what its user allows the client, to rows that hold `clients`. */
export const joinLoginAndConsents = (
  rows: Knex.QueryBuilder,
  name: (table: string) => string,
  v: { readonly sid: Knex.Value; readonly now: Knex.Value },
): Knex.QueryBuilder =>
  rows
    .leftJoin(name('logins as logins'), (on) =>
      on.onVal('logins.sid', v.sid).andOnNull('logins.ended_at').andOnVal('logins.expires_at', '>', v.now),
    )
    .leftJoin(name('consents as consents'), (on) =>
      on.on('consents.subject', 'logins.subject').andOn('consents.client_id', 'clients.client_id'),
    )

/** Reads rows of {@link lookupColumns}, one for each consent. */
export const lookupOf = (row: Row, rows: readonly Row[], now: number): AuthorizeLookup => {
  const login = textOrNull(row, 'sid') === null ? undefined : loginOf(row)
  const theirs = rows.filter((one) => textOrNull(one, 'consent_subject') === login?.subject)
  return { client: clientOf(row, now), known: login && { login, consents: keptConsentsOf(theirs) } }
}

const lookup = query<{ clientId: string; sid: string | null; now: number }>((table, v, name) =>
  joinLoginAndConsents(table('clients as clients'), name, v)
    .select(lookupColumns)
    .where('clients.client_id', v.clientId),
)

/**
 * Reads client, login and consents in one statement: all that a silent authorization request needs.
 *
 * @param values.sid the login that the session remembers, if any
 */
export const findForAuthorize = async (
  db: Database,
  { clientId, sid, now }: { clientId: string; sid: string | undefined; now: number },
): Promise<AuthorizeLookup | undefined> => {
  const rows = await lookup(db, { clientId, sid: sid ?? null, now })
  const [row] = rows
  // MariaDB compares strings as if padded with spaces.
  if (row === undefined || text(row, 'client_id') !== clientId) return undefined
  return lookupOf(row, rows, now)
}
