import { prepareSchema } from '../authorization-server.ts'
import { removeExpiredRows } from '../repositories/pruning/schedule.ts'
import type { Command } from './command.ts'
import { heading, note, print, table } from './terminal.ts'

/** `latchkey prune` */
export const pruneCommand: Command = {
  name: 'prune',
  summary: 'removes expired rows',
  details:
    'Servers do this themselves, about every ten minutes, unless the option prune is false.\n' +
    'Rows are removed one minute after they expire, in small batches, so that servers can continue.\n' +
    'Used refresh tokens stay until their authorization ends, because they are needed\n' +
    'to detect reuse.',
  options: { json: { type: 'boolean', help: 'print JSON' } },
  example: 'latchkey prune',
  async run({ database, options }, invocation) {
    await prepareSchema(options, database)
    const now = Math.floor(Date.now() / 1000)
    const { refreshTokenGracePeriod } = options
    const counts = await removeExpiredRows(database, { now, refreshTokenGracePeriod })
    const removed = [...counts].filter(([, count]) => count > 0)
    if (invocation.flag('json')) return print(JSON.stringify(Object.fromEntries(removed), null, 2))
    if (removed.length === 0) return note('no expired rows')
    const rows = removed.map(([name, count]) => [name, String(count)])
    const [title = '', ...lines] = table([['TABLE', 'REMOVED'], ...rows]).split('\n')
    print([heading(title), ...lines].join('\n'))
  },
}
