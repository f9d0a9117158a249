import { definitionsOf } from '../../../features/feature.ts'
import { removeExpiredRows } from '../../../storage/repositories/pruning/schedule.ts'
import { expiredOf } from '../../../storage/schema.ts'
import type { Command } from '../../command.ts'
import { withProgress } from '../progress.ts'
import { print, printJson, printNote, titledTable } from '../terminal.ts'

const sumOf = (counts: ReadonlyMap<string, number>): number =>
  [...counts.values()].reduce((sum, count) => sum + count, 0)

/** `latchkey prune` */
export const pruneCommand: Command = {
  name: 'prune',
  summary: 'removes expired rows',
  details:
    'Servers do this about every ten minutes, unless the option database.prune is false.\n' +
    'It removes rows that expired at least a minute ago, in small batches that do not block running servers.\n' +
    'Used refresh tokens stay until the other tokens of their authorization have expired, to detect a second use.',
  options: { json: { help: 'print JSON' } },
  example: 'latchkey prune',
  async run({ database, options, now }, invocation) {
    const { refreshGracePeriod } = options.lifetimes
    const counts = await withProgress((say) =>
      removeExpiredRows(database, {
        now: now(),
        expired: expiredOf(definitionsOf(options)),
        refreshGracePeriod,
        progress: (removed) => say(`removed ${sumOf(removed)} rows`),
      }),
    )
    const removed = [...counts].filter(([, count]) => count > 0)
    if (invocation.flag('json')) return printJson(Object.fromEntries(removed))
    if (removed.length === 0) return printNote('no rows are expired')
    const rows = removed.map(([name, count]) => [name, String(count)])
    print(...titledTable([['TABLE', 'REMOVED'], ...rows]))
  },
}
