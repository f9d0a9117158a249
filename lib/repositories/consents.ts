import type { ClientMetadata } from '../protocol/client-metadata.ts'
import { agreedEntries, type ConsentTerms } from '../protocol/consent.ts'
import type { Row } from './driver.ts'
import { jsonOrUndefined, number, scopes, text } from './row.ts'
import { command, type Database, query } from './statement.ts'

interface Pair {
  subject: string
  clientId: string
}

const byPair = query<Pair>((table, v) =>
  table('consents')
    .select(['subject', 'terms'])
    .where({ subject: v.subject, client_id: v.clientId, tenant: '' }),
)

/** Without terms, as from before there were any, nothing of a consent holds. */
export const termsOf = (row: Row): ConsentTerms => jsonOrUndefined<ConsentTerms>(row, 'terms') ?? {}

/** What a user allows a client, as it was agreed. */
export const findConsent = async (db: Database, pair: Pair): Promise<ConsentTerms | undefined> => {
  const [row] = await byPair(db, pair)
  // MariaDB compares texts as if padded with spaces.
  return row && text(row, 'subject') === pair.subject ? termsOf(row) : undefined
}

/** A consent with its client, for the user and for the host's records. */
export interface ConsentRecord {
  readonly clientId: string
  readonly scopes: readonly string[]
  /** Epoch seconds. */
  readonly createdAt: number
  /** Epoch seconds of the last answer, or of the last code that was issued by it. */
  readonly updatedAt: number
  /** Undefined when the client is gone. */
  readonly client: ClientMetadata | undefined
}

const ofSubject = query<{ subject: string }>((table, v, name) =>
  table('consents as consents')
    .leftJoin(name('clients as clients'), 'clients.client_id', 'consents.client_id')
    .select([
      ...['consents.subject', 'consents.client_id', 'consents.scopes'],
      ...['consents.created_at', 'consents.updated_at'],
      'clients.metadata as client_metadata',
    ])
    .where('consents.subject', v.subject)
    .orderBy('consents.client_id'),
)

/** All that a user allows. */
export const listConsents = async (db: Database, values: { subject: string }): Promise<ConsentRecord[]> =>
  (await ofSubject(db, values))
    // MariaDB compares texts as if padded with spaces.
    .filter((row) => text(row, 'subject') === values.subject)
    .map((row) => ({
      clientId: text(row, 'client_id'),
      scopes: scopes(row),
      createdAt: number(row, 'created_at'),
      updatedAt: number(row, 'updated_at'),
      client: jsonOrUndefined(row, 'client_metadata'),
    }))

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

interface Values extends Pair {
  scopes: string
  terms: string
  now: number
}

const replace = command<Values>((table, v) =>
  table('consents')
    .where({ subject: v.subject, client_id: v.clientId, tenant: '' })
    .update({ scopes: v.scopes, terms: v.terms, updated_at: v.now }),
)

const insert = command<Values>((table, v) =>
  table('consents').insert({
    subject: v.subject,
    client_id: v.clientId,
    tenant: '',
    scopes: v.scopes,
    terms: v.terms,
    created_at: v.now,
    updated_at: v.now,
  }),
)

/** Remembers what a user allows a client now, whether or not something was remembered before. */
export const saveConsent = async (
  db: Database,
  { terms, ...pair }: Pair & { terms: ConsentTerms; now: number },
): Promise<void> => {
  const values = { ...pair, scopes: agreedEntries(terms).join(' '), terms: JSON.stringify(terms) }
  if ((await replace(db, values)) === 0) await insert(db, values)
}

const remove = command<Pair>((table, v) =>
  table('consents').where({ subject: v.subject, client_id: v.clientId }).delete(),
)

/**
 * Forgets what a user allows a client. First in the transaction that also revokes what was granted: a code that is
 * issued at the same moment either comes before, and is found, or after, and finds no consent.
 *
 * @returns whether there was something to forget
 */
export const removeConsent = async (db: Database, pair: Pair): Promise<boolean> =>
  (await remove(db, pair)) > 0

const removeOfSubject = command<{ subject: string }>((table, v) =>
  table('consents').where({ subject: v.subject }).delete(),
)

/** Forgets all that a user allows. */
export const removeConsentsOfSubject = async (db: Database, values: { subject: string }): Promise<void> => {
  await removeOfSubject(db, values)
}
