import type { Consent } from '../protocol/next-step.ts'
import { scopes, text } from './row.ts'
import { command, type Database, query } from './statement.ts'

interface Pair {
  subject: string
  clientId: string
}

const byPair = query<Pair>((table, v) =>
  table('consents')
    .select(['subject', 'scopes'])
    .where({ subject: v.subject, client_id: v.clientId, tenant: '' }),
)

export const findConsent = async (db: Database, pair: Pair): Promise<Consent | undefined> => {
  const [row] = await byPair(db, pair)
  // MariaDB compares texts as if padded with spaces.
  return row && text(row, 'subject') === pair.subject ? { scopes: scopes(row) } : undefined
}

const touch = command<Pair & { now: number }>((table, v) =>
  table('consents')
    .where({ subject: v.subject, client_id: v.clientId, tenant: '' })
    .update({ updated_at: v.now }),
)

/**
 * Takes the lock on a consent that must still stand. First in the transaction that issues a code, so that a
 * removal at the same moment either comes before, and no code is issued, or after, and finds the code to revoke.
 *
 * @returns whether the consent stands
 */
export const holdConsent = async (db: Database, values: Pair & { now: number }): Promise<boolean> =>
  (await touch(db, values)) === 1

const replace = command<Pair & { scopes: string; now: number }>((table, v) =>
  table('consents')
    .where({ subject: v.subject, client_id: v.clientId, tenant: '' })
    .update({ scopes: v.scopes, updated_at: v.now }),
)

const insert = command<Pair & { scopes: string; now: number }>((table, v) =>
  table('consents').insert({
    subject: v.subject,
    client_id: v.clientId,
    tenant: '',
    scopes: v.scopes,
    created_at: v.now,
    updated_at: v.now,
  }),
)

/** Remembers what a user allows a client now, whether or not something was remembered before. */
export const saveConsent = async (
  db: Database,
  consent: Pair & { scopes: readonly string[]; now: number },
): Promise<void> => {
  const values = { ...consent, scopes: consent.scopes.join(' ') }
  if ((await replace(db, values)) === 0) await insert(db, values)
}
