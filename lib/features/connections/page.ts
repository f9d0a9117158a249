import { causeInWords } from '../../events/connection-causes.ts'
import { findClientRecords } from '../../storage/repositories/index.ts'
import { isLookup } from '../../users/users.ts'
import type { OperatorContext, OperatorPage } from '../../web/endpoints/operator-page.ts'
import { iso } from '../../web/endpoints/page-values.ts'
import { ownPath } from '../../web/http/urls.ts'
import type { Connection } from './connections.ts'
import type { ShownConnection, ShownStep } from './declarations.ts'
import { readConnections } from './history.ts'
import { allSteps } from './shown.ts'

const path = '/admin/connections'

/** Connections on one page. */
const pageSize = 25

/** A user by id or login name; what no one has still finds the events about it. */
const subjectOf = async ({ server }: OperatorContext, asked: string): Promise<string> => {
  if (!isLookup(asked)) return asked
  const user = (await server.users.find(asked)) ?? (await server.users.findByUsername?.(asked))
  return user?.subject ?? asked
}

const clientNames = async (
  { server: { database, now } }: OperatorContext,
  connections: readonly Connection[],
): Promise<ReadonlyMap<string, string>> => {
  const clientIds = [...new Set(connections.flatMap(({ clientId }) => clientId ?? []))]
  const clients = await findClientRecords(database, { clientIds, now: now() })
  return new Map(clients.map(({ clientId, metadata }) => [clientId, metadata.client_name ?? clientId]))
}

/** A user whom the host cannot tell us about now is called by their id. */
const userNames = async (
  { server }: OperatorContext,
  connections: readonly Connection[],
): Promise<ReadonlyMap<string, string>> => {
  const subjects = [...new Set(connections.flatMap(({ subject }) => subject ?? []))]
  const named = subjects.map(async (subject): Promise<[string, string]> => {
    const user = await server.users.find(subject).catch(() => undefined)
    return [subject, user?.username ?? subject]
  })
  return new Map(await Promise.all(named))
}

const shownStep = ({ step, state, time, count }: ReturnType<typeof allSteps>[number]): ShownStep => ({
  step,
  state,
  count,
  ...(time !== undefined && { time: iso(time), clock: iso(time).slice(11, 19) }),
})

const shownStop = ({ server }: OperatorContext, { stop }: Connection): ShownConnection['stop'] =>
  stop && {
    ...causeInWords(stop.cause),
    step: stop.step,
    requestId: stop.event.requestId,
    eventsUrl: ownPath(server, '/admin/events', { error_id: stop.event.requestId }),
    isEnd: stop.cause.name === 'removed',
  }

/** The connections with the names of their clients and users. */
const shown = async (
  context: OperatorContext,
  connections: readonly Connection[],
): Promise<ShownConnection[]> => {
  const { person } = context
  const [clients, users] = [await clientNames(context, connections), await userNames(context, connections)]
  return connections.map((connection) => {
    const { clientId, subject, isUnknownUser, address, agent, time } = connection
    const name = clientId === undefined ? undefined : clients.get(clientId)
    return {
      ...(clientId !== undefined && {
        client: {
          name: name ?? clientId,
          id: clientId,
          ...(name !== undefined && { url: person.clientUrl(clientId) }),
        },
      }),
      ...(subject !== undefined && {
        user: { name: users.get(subject) ?? subject, url: person.userUrl(subject) },
      }),
      isUnknownUser,
      ...(address !== undefined && { address }),
      ...(agent !== undefined && { agent }),
      time: iso(time),
      steps: allSteps(connection).map(shownStep),
      stop: shownStop(context, connection),
    }
  })
}

/** How far clients have come, and where they stopped. */
export const connectionsPage: OperatorPage = {
  path,
  section: 'connections',
  about: { client: 'client', user: 'subject' },
  async show(context, query) {
    const { server, person } = context
    const client = query.optional('client', 255)?.trim() ?? ''
    // A link names the id, a search an id or a login name.
    const linked = query.optional('subject', 255) ?? ''
    const user = linked || (query.optional('user', 255)?.trim() ?? '')
    const isStopped = query.has('stopped')
    const { connections, isWindow, limitedAt } = await readConnections(
      server,
      {
        ...(client !== '' && { clientId: client }),
        ...(user !== '' && { subject: linked || (await subjectOf(context, user)) }),
      },
      Object.keys(server.options.resources),
    )
    const asked = isStopped ? connections.filter(({ stop }) => stop !== undefined) : connections
    context.send('operator-connections', {
      ...(await person.header()),
      action: ownPath(server, path),
      filter: { client, user, stopped: isStopped },
      connections: await shown(context, asked.slice(0, pageSize)),
      total: asked.length,
      isWindow,
      ...(limitedAt !== undefined && { limitedAt: iso(limitedAt) }),
    })
  },
}
