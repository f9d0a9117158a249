import { definitionsOf } from '../../../features/feature.ts'
import { errorUrl, isErrorCode } from '../../../protocol/errors.ts'
import { type EventRecord, listEventsOfRequest } from '../../../storage/repositories/events.ts'
import type { Command } from '../../command.ts'
import { heading, type Line, print, printJson, table } from '../terminal.ts'
import { loadTools } from '../tools.ts'

const time = (seconds: number): string => new Date(seconds * 1000).toISOString().replace('.000Z', 'Z')

const shown = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

const printed = ({ type, time: at, subject, details }: EventRecord): (string | Line)[] => [
  heading(`${type}  ${time(at)}`),
  ...table(
    Object.entries({ ...(subject !== undefined && { subject }), ...details }).map(([name, value]) => [
      `  ${name}`,
      shown(value),
    ]),
  ),
  ...(isErrorCode(details.code) ? [`  see ${errorUrl(details.code)}`] : []),
]

/** `latchkey explain` */
export const explainCommand: Command = {
  name: 'explain',
  summary: 'says why a request was refused: what was expected, and what was received',
  arguments: ['ERROR-ID'],
  details:
    'ERROR-ID is on the error page, in error_id of a JSON answer, and in the log. The command prints every event of\n' +
    'that request, and where the connection of its client stopped. The server stores events with storedEvents, for lifetimes.event seconds.',
  options: { json: { help: 'print JSON' } },
  example: 'latchkey explain 7F3C-91A2-B4',
  async run(context, invocation) {
    const { database, options } = context
    const [id = ''] = invocation.arguments
    const events = await listEventsOfRequest(database, { requestId: id.trim().toUpperCase() })
    if (events.length === 0) {
      const remedy = options.storedEvents
        ? 'is the id complete, and not older than lifetimes.event?'
        : 'the server stores events with storedEvents: true; until then, look for the id in its log'
      throw new Error(`no event of request ${id} is stored; ${remedy}`)
    }
    if (invocation.flag('json')) return printJson(events)
    print(...events.flatMap(printed))
    for (const { explain } of await loadTools(definitionsOf(context.options)))
      print(...((await explain?.(context, events)) ?? []))
  },
}
