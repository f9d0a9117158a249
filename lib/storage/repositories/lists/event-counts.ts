import type { Knex } from 'knex'
import { numberOf, query, textOf } from '../../database/statement.ts'
import type { Database } from '../../database/types.ts'
import type { Places } from '../statements.ts'

/** The most events of a day that are counted: the newest. More would take a database seconds. */
export const maxCountedEvents = 50_000

/** The most sign-ins whose clients are looked at: the newest. */
export const maxSignIns = 10_000

/** Events of a type in a time: from `from`, before `to`, in epoch seconds. */
interface EventsOfTime {
  readonly type: string
  readonly from: number
  readonly to: number
}

/** The newest of these events. The index of types answers alone. */
const newestOf = (
  rows: Knex.QueryBuilder,
  v: Places<keyof EventsOfTime>,
  [column, most]: readonly [column: string, most: number],
): Knex.QueryBuilder =>
  rows
    .select(column)
    .where('type', v.type)
    .where('time', '>=', v.from)
    .where('time', '<', v.to)
    .orderBy('time', 'desc')
    .limit(most, { skipBinding: true })

const byHour = query<EventsOfTime>((table, v, _name, raw) =>
  raw('select ?? - (?? % 3600) as ??, count(*) as ?? from (?) as counted group by 1', [
    'time',
    'time',
    'hour',
    'count',
    newestOf(table('events'), v, ['time', maxCountedEvents]),
  ]),
)

const inAll = query<EventsOfTime>((table, v, _name, raw) =>
  raw('select count(*) as ?? from (?) as counted', [
    'count',
    newestOf(table('events'), v, ['time', maxCountedEvents]),
  ]),
)

const byClient = query<EventsOfTime>((table, v, _name, raw) =>
  raw(
    'select ??, count(*) as ?? from (?) as counted where ?? is not null group by 1 order by 2 desc limit 8',
    ['client_id', 'count', newestOf(table('events'), v, ['client_id', maxSignIns]), 'client_id'],
  ),
)

/**
 * Counts events of a type by hours, at most {@link maxCountedEvents}.
 *
 * @returns the counts by the beginning of the hour, in epoch seconds
 */
export const countEventsByHour = async (
  db: Database,
  values: EventsOfTime,
): Promise<ReadonlyMap<number, number>> =>
  new Map((await byHour(db, values)).map((row) => [numberOf(row, 'hour'), numberOf(row, 'count')]))

/** Counts events of a type, at most {@link maxCountedEvents}. */
export const countEvents = async (db: Database, values: EventsOfTime): Promise<number> => {
  const [row] = await inAll(db, values)
  return row ? numberOf(row, 'count') : 0
}

/** The eight clients with the most of these events, among the newest {@link maxSignIns}. */
export const countEventsByClient = async (
  db: Database,
  values: EventsOfTime,
): Promise<{ clientId: string; count: number }[]> =>
  (await byClient(db, values)).map((row) => ({
    clientId: textOf(row, 'client_id'),
    count: numberOf(row, 'count'),
  }))
