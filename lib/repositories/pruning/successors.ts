import { number, text } from '../../database/row.ts'
import { command, query } from '../../database/statement.ts'
import type { Database, Row } from '../../database/types.ts'
import { type BatchParams, batchParams, batchSize, isLast, keysIn } from './batch.ts'

/** Seconds back in time; what was used earlier has been looked through by an earlier run. */
const reach = 86_400

const sealed = query<{ since: number; before: number }>((table, v) =>
  table('refresh_tokens')
    .select(['hash', 'consumed_at'])
    .where('consumed_at', '>=', v.since)
    .where('consumed_at', '<=', v.before)
    .whereNotNull('successor')
    .orderBy('consumed_at')
    .limit(batchSize, { skipBinding: true }),
)
const clear = command<BatchParams>((table, v) =>
  table('refresh_tokens').whereIn('hash', keysIn(v)).update({ successor: null }),
)

/**
 * Forgets the sealed successors of refresh tokens whose replay window is over, a few at a time.
 *
 * @param values.before epoch seconds; tokens used after it may still be repeated
 */
export async function* forgetSuccessors(
  db: Database,
  { before }: { before: number },
): AsyncGenerator<void, void, undefined> {
  let since = before - reach
  let rows: readonly Row[]
  do {
    rows = await sealed(db, { since, before })
    const last = rows.at(-1)
    if (last === undefined) return
    since = number(last, 'consumed_at')
    await clear(db, batchParams(rows.map((row) => text(row, 'hash'))))
    yield
  } while (!isLast(rows))
}
