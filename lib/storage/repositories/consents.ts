import type { Knex } from 'knex'
import type { Choices } from '../../protocol/choices.ts'
import type { Client } from '../../protocol/clients/client.ts'
import { setMembers } from '../../protocol/json.ts'
import type { ConsentTerms } from '../../protocol/requests/consent.ts'
import {
  command,
  json,
  numberOf,
  query,
  scopesOf,
  textOf,
  textOrNull,
  type Write,
} from '../database/statement.ts'
import type { Database, Row } from '../database/types.ts'
import { clientColumns, clientOf } from './clients.ts'
import { type LoginRecord, loginColumns, loginOf } from './logins.ts'
import { type BatchParams, batchParams, batchSize, isLast, keysIn } from './pruning/batch.ts'
import type { FullName, Places, Table } from './statements.ts'

interface Pair {
  subject: string
  clientId: string
}

/** Stored if the host has no organizations, because a key cannot be null. */
export const noOrganization = ''

/** A consent is for one organization, or for {@link noOrganization}. */
interface Key extends Pair {
  organization: string
}

/** The consent of a user to a client in one organization. */
export interface KeptConsent {
  /** {@link noOrganization} if the host has none. */
  readonly organization: string
  readonly terms: ConsentTerms
  /** Epoch seconds of the last answer, or of the last code that was issued by it. */
  readonly updatedAt: number
  /** How often the user has narrowed it. */
  readonly narrowed: number
}

/** Reads the consents of one user and client, the last used first. */
export const keptConsentsOf = (rows: readonly Row[]): KeptConsent[] =>
  rows
    .map((row) => ({
      organization: textOf(row, 'organization'),
      terms: json<ConsentTerms>(row, 'terms'),
      updatedAt: numberOf(row, 'consent_updated_at'),
      narrowed: numberOf(row, 'consent_narrowed'),
    }))
    .sort((one, other) => other.updatedAt - one.updatedAt)

const byPair = query<Pair>((table, v) =>
  table('consents')
    .select(['organization', 'terms', 'updated_at as consent_updated_at', 'narrowed as consent_narrowed'])
    .where({ subject: v.subject, client_id: v.clientId }),
)

/** The consents of a user to a client, in every organization, the last used first. */
export const findConsents = async (db: Database, pair: Pair): Promise<KeptConsent[]> =>
  keptConsentsOf(await byPair(db, pair))

/** A consent, for the user and for the host's records. */
export interface ConsentRecord {
  readonly clientId: string
  /** Undefined if the host had no organizations. */
  readonly organization?: string
  readonly scopes: readonly string[]
  /** Epoch seconds. */
  readonly createdAt: number
  /** Epoch seconds of the last answer, or of the last code that was issued by it. */
  readonly updatedAt: number
  /** The things that the user chose, by kind. */
  readonly choices?: Choices
  /** When it ends by the user's wish, in epoch seconds. */
  readonly until?: number
}

const recordColumns = ['subject', 'client_id', 'organization', 'scopes', 'terms', 'created_at', 'updated_at']

/** Choices of the user beside the scopes. */
const chosenIn = (row: Row): Pick<ConsentTerms, 'choices' | 'until'> => {
  const { choices, until } = json<ConsentTerms>(row, 'terms')
  return setMembers({ choices, until })
}

const recordOf = (row: Row): ConsentRecord => ({
  clientId: textOf(row, 'client_id'),
  ...(textOf(row, 'organization') === noOrganization ? {} : { organization: textOf(row, 'organization') }),
  scopes: scopesOf(row),
  createdAt: numberOf(row, 'created_at'),
  updatedAt: numberOf(row, 'updated_at'),
  ...chosenIn(row),
})

const ofSubject = query<{ subject: string }>((table, v) =>
  table('consents')
    .select(recordColumns)
    .where({ subject: v.subject })
    .orderBy(['client_id', 'organization']),
)

const ofClients = query<BatchParams>((table, v) =>
  table('consents')
    .select(recordColumns)
    .where({ subject: v.subject ?? null })
    .whereIn('client_id', keysIn(v))
    .orderBy(['client_id', 'organization']),
)

/**
 * The consents of a user.
 *
 * @param values.clientIds only to these clients, at most 100
 */
export const listConsents = async (
  db: Database,
  { subject, clientIds }: { subject: string; clientIds?: readonly string[] },
): Promise<ConsentRecord[]> => {
  const rows = clientIds
    ? await ofClients(db, batchParams(clientIds, { subject }))
    : await ofSubject(db, { subject })
  return rows.map(recordOf)
}

const ofOrganization = query<{ organization: string; clientId: string; subject: string }>((table, v) =>
  table('consents')
    .select(recordColumns)
    .where({ organization: v.organization })
    .where((later) =>
      later
        .where('client_id', '>', v.clientId)
        .orWhere((same) => same.where({ client_id: v.clientId }).where('subject', '>', v.subject)),
    )
    .orderBy(['client_id', 'subject'])
    .limit(batchSize, { skipBinding: true }),
)

/** The consents of all users in one organization, in batches. */
export const consentsOfOrganization = async function* (
  db: Database,
  organization: string,
): AsyncGenerator<readonly (ConsentRecord & { readonly subject: string })[]> {
  let rows: readonly Row[] = []
  let last = { clientId: '', subject: '' }
  do {
    rows = await ofOrganization(db, { organization, ...last })
    const records = rows.map((row) => ({ ...recordOf(row), subject: textOf(row, 'subject') }))
    last = records.at(-1) ?? last
    yield records
  } while (!isLast(rows))
}

/**
 * Locks a consent that was not narrowed since it was read until the end of the transaction. Use it first in the transaction that
 * issues a code: a removal at the same moment happens either before, and no code is issued, or after, and finds the code to revoke.
 */
export const lockConsent = command<Key & { narrowed: number; now: number }>((table, v) =>
  table('consents')
    .where({
      subject: v.subject,
      client_id: v.clientId,
      organization: v.organization,
      narrowed: v.narrowed,
    })
    .update({ updated_at: v.now }),
).with

const lockToNarrow = command<Key>((table, v, _name, raw) =>
  table('consents')
    .where({ subject: v.subject, client_id: v.clientId, organization: v.organization })
    .update({ narrowed: raw('?? + 1', ['narrowed']) }),
)

const termsOf = query<Key>((table, v) =>
  table('consents')
    .select('terms')
    .where({ subject: v.subject, client_id: v.clientId, organization: v.organization }),
)

const storeTerms = command<Key & { scopes: string; terms: string }>((table, v) =>
  table('consents')
    .where({ subject: v.subject, client_id: v.clientId, organization: v.organization })
    .update({ scopes: v.scopes, terms: v.terms }),
)

/** The terms of a consent that is about to be narrowed, locked until the end of the transaction; undefined if there is none. */
export const findConsentToNarrow = async (tx: Database, key: Key): Promise<ConsentTerms | undefined> => {
  if ((await lockToNarrow(tx, key)) === 0) return undefined
  const [row] = await termsOf(tx, key)
  return row && json<ConsentTerms>(row, 'terms')
}

/** Stores what is left of a consent. */
export const narrowConsent = async (
  tx: Database,
  { terms, ...key }: Key & { terms: ConsentTerms },
): Promise<void> => {
  await storeTerms(tx, { ...key, scopes: scopesIn(terms), terms: JSON.stringify(terms) })
}

interface NewConsent extends Key {
  scopes: string
  terms: string
  now: number
}

const inserting = (table: Table, v: Places<keyof NewConsent>) =>
  table('consents')
    .insert({
      subject: v.subject,
      client_id: v.clientId,
      organization: v.organization,
      scopes: v.scopes,
      terms: v.terms,
      created_at: v.now,
      updated_at: v.now,
    })
    .onConflict(['subject', 'client_id', 'organization'])

const save = command<NewConsent & { scopesWithOthers: string; termsWithOthers: string; narrowed: number }>(
  (table, v, name, raw) => {
    const unlessNarrowed = (withOthers: Knex.Value, alone: Knex.Value): Knex.Raw =>
      raw('case when ?? = ? then ? else ? end', [
        `${name('consents')}.narrowed`,
        v.narrowed,
        withOthers,
        alone,
      ] as Knex.RawBinding[])
    return inserting(table, v).merge({
      scopes: unlessNarrowed(v.scopesWithOthers, v.scopes),
      terms: unlessNarrowed(v.termsWithOthers, v.terms),
      updated_at: v.now,
    })
  },
)
const keep = command<NewConsent>((table, v) => inserting(table, v).merge(['updated_at']))
const nothing: ConsentTerms = { place: '', entries: {} }

/** Keeps the consent of a user to a client as it is, or creates one that allows nothing: both remember the organization. */
export const keepConsent = (key: Key & { now: number }): Write =>
  keep.with({ ...key, scopes: '', terms: JSON.stringify(nothing) })

const scopesIn = ({ entries }: ConsentTerms): string => Object.keys(entries).join(' ')

/**
 * Creates the consent of a user to a client, or replaces the one that is there.
 *
 * @param values.terms what the user has just allowed
 * @param values.withOthers this with what stays of the consent that was read; it counts unless that has been removed since, or
 *   narrowed: then only what the user has just allowed stays
 */
export const saveConsent = ({
  terms,
  withOthers,
  ...key
}: Key & { terms: ConsentTerms; withOthers: ConsentTerms; narrowed: number; now: number }): Write =>
  save.with({
    ...key,
    scopes: scopesIn(terms),
    terms: JSON.stringify(terms),
    scopesWithOthers: scopesIn(withOthers),
    termsWithOthers: JSON.stringify(withOthers),
  })

const remove = command<Pair>((table, v) =>
  table('consents').where({ subject: v.subject, client_id: v.clientId }).delete(),
)

const removeOfOrganization = command<Key>((table, v) =>
  table('consents')
    .where({ subject: v.subject, client_id: v.clientId, organization: v.organization })
    .delete(),
)

/**
 * Removes the consent of a user to a client, for one organization or for all. Call it first in the transaction that also
 * revokes what was granted: a code that is issued at the same moment comes either before, and is found, or after, and finds
 * no consent.
 *
 * @returns whether a consent was removed
 */
export const removeConsent = async (
  db: Database,
  { organization, ...pair }: Pair & { organization?: string },
): Promise<boolean> =>
  (organization === undefined
    ? await remove(db, pair)
    : await removeOfOrganization(db, { ...pair, organization })) > 0

/** Removes all consents of a user. */
export const removeConsentsOfSubject = command<{ subject: string }>((table, v) =>
  table('consents').where({ subject: v.subject }).delete(),
)

/** The login of a session, and what its user allows the client. */
export interface KnownLogin {
  readonly login: LoginRecord
  readonly consents: readonly KeptConsent[]
}

/** The rows about an authorization request: its client and, if it is valid, the login of the session. */
export interface AuthorizeLookup {
  readonly client: Client
  /** Undefined if the login is no longer valid. */
  readonly knownLogin: KnownLogin | undefined
}

/** Columns of {@link lookupOf}. */
export const lookupColumns = [
  ...clientColumns.map((column) => `clients.${column}`),
  ...loginColumns.map((column) => `logins.${column}`),
  'consents.subject as consent_subject',
  'consents.organization',
  'consents.terms',
  'consents.updated_at as consent_updated_at',
  'consents.narrowed as consent_narrowed',
]

/** Joins the valid login of a session, and what its user allows the client, to rows that hold `clients`. */
export const joinLoginAndConsents = (
  rows: Knex.QueryBuilder,
  name: FullName,
  v: Places<'sessionHash' | 'now'>,
): Knex.QueryBuilder =>
  rows
    .leftJoin(name('logins as logins'), (on) =>
      on
        .onVal('logins.session_hash', v.sessionHash)
        .andOnNull('logins.ended_at')
        .andOnVal('logins.expires_at', '>', v.now)
        .andOnVal('logins.idle_ends_at', '>', v.now),
    )
    .leftJoin(name('consents as consents'), (on) =>
      on.on('consents.subject', 'logins.subject').andOn('consents.client_id', 'clients.client_id'),
    )

/** Reads rows of {@link lookupColumns}, one for each consent. */
export const lookupOf = (row: Row, rows: readonly Row[], now: number): AuthorizeLookup => {
  const login = textOrNull(row, 'sid') === null ? undefined : loginOf(row)
  const theirs = rows.filter((one) => textOrNull(one, 'consent_subject') === login?.subject)
  return { client: clientOf(row, now), knownLogin: login && { login, consents: keptConsentsOf(theirs) } }
}

const lookup = query<{ clientId: string; sessionHash: string | null; now: number }>((table, v, name) =>
  joinLoginAndConsents(table('clients as clients'), name, v)
    .select(lookupColumns)
    .where('clients.client_id', v.clientId),
)

/**
 * Reads client, login and consents in one statement: all that a silent authorization request needs.
 *
 * @param values.sessionHash of what the session of the browser holds, if it has one
 */
export const findForAuthorize = async (
  db: Database,
  { clientId, sessionHash, now }: { clientId: string; sessionHash: string | undefined; now: number },
): Promise<AuthorizeLookup | undefined> => {
  const rows = await lookup(db, { clientId, sessionHash: sessionHash ?? null, now })
  const [row] = rows
  return row && lookupOf(row, rows, now)
}
