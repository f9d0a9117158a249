import { causeAsText } from '../../events/connection-causes.ts'
import { timeOf } from '../../protocol/explanation.ts'
import type { EventRecord } from '../../storage/repositories/index.ts'
import { heading, type Line, print, printJson, printNote, table } from '../../tools/cli/terminal.ts'
import type { Command, CommandContext } from '../../tools/command.ts'
import { createUsers } from '../../users/index.ts'
import { isLookup } from '../../users/users.ts'
import type { Connection } from './connections.ts'
import { readConnections } from './history.ts'
import { allSteps, stepNames } from './shown.ts'
import { eventText, stepOf } from './steps.ts'

/** Connections that are printed at once. */
const most = 20

const headingOf = ({ clientId, subject, isUnknownUser, agent, address }: Connection): string =>
  [
    clientId ?? 'before registration',
    ...(subject === undefined ? [] : [`for user ${subject}`]),
    ...(isUnknownUser ? ['for an unknown user'] : []),
    ...(agent === undefined ? [] : [`by ${agent}`]),
    ...(address === undefined ? [] : [`from ${address}`]),
  ].join(' ')

const marks = { done: '✓', failed: '✗', missing: '✗', unseen: '·', later: ' ' } as const

const printed = (connection: Connection): (string | Line)[] => {
  const { stop } = connection
  const text = stop && causeAsText(stop.cause)
  return [
    heading(headingOf(connection)),
    ...table(
      allSteps(connection).map(({ step, state, time, count }) => [
        `  ${marks[state]}`,
        stepNames[step],
        time === undefined ? (state === 'missing' ? 'missing' : '') : timeOf(time),
        count > 1 ? `${count} times` : '',
      ]),
    ),
    ...(text ? [`  ${text.sentence}.`, `  ${text.remedy}.`] : ['  Nothing is missing.']),
    ...(stop ? [`  latchkey explain ${stop.event.requestId}`] : []),
    '',
  ]
}

/** A connection as JSON. */
const asJson = (connection: Connection): object => {
  const { clientId, subject, isUnknownUser, address, agent, time, stop } = connection
  return {
    clientId,
    subject,
    ...(isUnknownUser && { isUnknownUser }),
    address,
    agent,
    time,
    steps: allSteps(connection),
    ...(stop && {
      stopped: {
        step: stop.step,
        cause: stop.cause.name,
        ...causeAsText(stop.cause),
        requestId: stop.event.requestId,
      },
    }),
  }
}

/** A user by id or login name. What no one has still finds the events about it. */
const subjectOf = async ({ options, hostKnex, database }: CommandContext, asked: string): Promise<string> => {
  if (!isLookup(asked)) return asked
  const users = createUsers({ ...options, secret: options.secrets[0], knex: hostKnex, database })
  const user = (await users.find(asked)) ?? (await users.findByUsername?.(asked))
  return user?.subject ?? asked
}

/**
 * Where the connection stopped that the events of a request belong to.
 *
 * @returns no lines if it did not stop, or stopped at another request
 */
export const explainConnection = async (
  context: CommandContext,
  events: readonly EventRecord[],
): Promise<readonly string[]> => {
  const [event] = events.filter((each) => stepOf(each) !== undefined)
  if (event === undefined) return []
  const clientId = eventText(event, 'clientId')
  const { connections } = await readConnections(context, { clientId }, Object.keys(context.options.resources))
  const stop = connections.find((each) => each.stop?.event.requestId === event.requestId)?.stop
  if (stop === undefined) return []
  const { sentence, remedy } = causeAsText(stop.cause)
  return [`connection  stopped at: ${stepNames[stop.step]}`, `  ${sentence}.`, `  ${remedy}.`]
}

/** `latchkey connections` */
export const connectionsCommand: Command = {
  name: 'connections',
  summary: 'says how far clients have come, and where and why they stopped',
  details:
    `Prints the newest ${most} connections: the steps of each in order, and the first one that is missing, with its cause.\n` +
    'The server records them with connections(); see docs/doctor.md#connections.',
  options: {
    client: { value: 'ID', help: 'only those of this client' },
    user: { value: 'LOGIN', help: 'only those of the user with this id or login name' },
    stopped: { help: 'only those that stopped' },
    json: { help: 'print JSON' },
  },
  example: 'latchkey connections --user ada@example.com',
  async run(context, invocation) {
    const { options } = context
    const [clientId, user] = [invocation.text('client'), invocation.text('user')]
    const subject = user === undefined ? undefined : await subjectOf(context, user)
    const { connections, isWindow, limitedAt } = await readConnections(
      context,
      { clientId, subject },
      Object.keys(options.resources),
    )
    const stopped = connections.filter(({ stop }) => stop)
    const asked = (invocation.flag('stopped') ? stopped : connections).slice(0, most)
    if (isWindow) printNote('only the newest events were read; older connections may be missing')
    if (limitedAt !== undefined)
      printNote(
        `not all that was seen at ${timeOf(limitedAt)} is stored; some connections or steps may be missing`,
      )
    if (invocation.flag('json')) return printJson(asked.map(asJson))
    if (asked.length > 0) return print(...asked.flatMap(printed))
    printNote('no connection was seen; only what clients did lately is kept')
  },
}
