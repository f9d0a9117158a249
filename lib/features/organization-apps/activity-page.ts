import type { Parameters } from '../../protocol/parameters.ts'
import { findClientRecords } from '../../storage/repositories/clients.ts'
import type { OrganizationPage } from '../../web/endpoints/organization-page.ts'
import { iso } from '../../web/endpoints/page-values.ts'
import { send } from '../../web/http/send.ts'
import {
  csvLine,
  eventsPerPage,
  everyEvent,
  listOrganizationEvents,
  newest,
  type OrganizationEvent,
} from './activity.ts'
import { appName } from './administration.ts'
import { type AdministratorContext, activityPath, csvPath, namesOf, urlOf } from './pages.ts'

/** The most lines of a file. */
const mostLines = 10_000

const clientIdIn = ({ details: { clientId, app } }: OrganizationEvent): string | undefined =>
  typeof clientId === 'string'
    ? clientId
    : typeof app === 'string' && app.startsWith('client:')
      ? app.slice('client:'.length)
      : undefined

/** Events with the names of users and apps. */
const namedEvents = async (
  { server, language }: AdministratorContext,
  events: readonly OrganizationEvent[],
) => {
  const names = await namesOf(
    server,
    events.flatMap(({ subject }) => subject ?? []),
  )
  const clientIds = [...new Set(events.flatMap((event) => clientIdIn(event) ?? []))]
  const records =
    clientIds.length > 0 ? await findClientRecords(server.database, { clientIds, now: server.now() }) : []
  const clients = new Map(records.map((client) => [client.clientId, client]))
  return events.map((event) => {
    const { type, time, subject, details } = event
    const id = clientIdIn(event)
    const client = id === undefined ? undefined : clients.get(id)
    const other = typeof details.app === 'string' ? appName({ app: details.app, clients: [] }) : id
    const app = client ? appName({ app: `client:${id}`, clients: [client] }, language) : other
    return {
      event: type,
      time: iso(time),
      ...(subject !== undefined && { user: names.get(subject) ?? subject }),
      ...(app !== undefined && { app }),
    }
  })
}

const placeIn = (query: Parameters): { readonly time: number; readonly id: string } => {
  const [, time, id] = /^(\d{1,12}):([\w-]{1,43})$/.exec(query.optional('before', 60) ?? '') ?? []
  return time === undefined || id === undefined ? newest : { time: Number(time), id }
}

/** The events of the organization, newest first. */
export const activityPage: OrganizationPage = {
  path: activityPath,
  section: 'activity',
  async show(context, query) {
    const { server, person } = context
    const found = await listOrganizationEvents(server.database, {
      organization: person.organization.id,
      ...placeIn(query),
    })
    const events = found.slice(0, eventsPerPage)
    const last = events.at(-1)
    context.send('organization-activity', {
      ...(await person.header()),
      isOn: server.eventLog !== undefined,
      events: await namedEvents(context, events),
      csvUrl: urlOf(context, csvPath),
      ...(query.has('before') && { previousUrl: urlOf(context, activityPath) }),
      ...(last &&
        found.length > eventsPerPage && {
          nextUrl: urlOf(context, activityPath, { before: `${last.time}:${last.id}` }),
        }),
    })
  },
}

/** The events as a file for spreadsheets. */
export const csvPage: OrganizationPage = {
  path: csvPath,
  section: 'activity',
  async show(context) {
    const { server, person, res } = context
    const lines = [csvLine(['time', 'event', 'user', 'app'])]
    for await (const events of everyEvent(server.database, person.organization.id)) {
      for (const { time, event, user = '', app = '' } of await namedEvents(context, events))
        lines.push(csvLine([time, event, user, app]))
      if (lines.length > mostLines) break
    }
    const headers = {
      'Content-Type': 'text/csv; charset=utf-8',
      'Content-Disposition': 'attachment; filename="activity.csv"',
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
    }
    send(res, 200, headers, lines.join(''))
  },
}
