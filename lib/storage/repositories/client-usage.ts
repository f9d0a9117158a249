import type { Knex } from 'knex'
import { number, query } from '../database/statement.ts'
import type { Database } from '../database/types.ts'

/** The most that is counted: ten thousand take some milliseconds, a million take seconds. */
export const maxCounted = 10_000

/** Rows of a client, at most {@link maxCounted}; a range in the order of the index, as in pruning. */
const some = (rows: Knex.QueryBuilder, clientId: Knex.Value): Knex.QueryBuilder =>
  rows
    .whereBetween('client_id', [clientId, clientId])
    .orderBy('client_id')
    .limit(maxCounted, { skipBinding: true })

const users = query<{ clientId: string }>((table, v, _name, raw) =>
  raw('select count(distinct subject) as count from (?) as counted', [
    some(table('consents').select('subject'), v.clientId),
  ]),
)

const authorizations = query<{ clientId: string }>((table, v, _name, raw) =>
  raw('select count(*) as count from (?) as counted', [
    some(table('authorizations').select('id').whereNull('revoked_at'), v.clientId),
  ]),
)

/**
 * Counts what ends with a client, each up to {@link maxCounted}: the users who allow it something, and the authorizations
 * that were not ended. Some of these may have expired.
 */
export const countUsageOfClient = async (db: Database, values: { clientId: string }) => {
  const [[user], [authorization]] = [await users(db, values), await authorizations(db, values)]
  return {
    users: user ? number(user, 'count') : 0,
    authorizations: authorization ? number(authorization, 'count') : 0,
  }
}

const allowing = query<{ clientId: string }>((table, v) =>
  table('consents').select('client_id').where({ client_id: v.clientId }).limit(1, { skipBinding: true }),
)

const holding = query<{ clientId: string }>((table, v) =>
  table('authorizations')
    .select('client_id')
    .where({ client_id: v.clientId })
    .limit(1, { skipBinding: true }),
)

/** Whether any user has allowed a client something that is still stored. */
export const isClientAllowed = async (db: Database, values: { clientId: string }): Promise<boolean> =>
  (await allowing(db, values)).length > 0 || (await holding(db, values)).length > 0
