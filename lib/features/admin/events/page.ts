import type { EventDescription, EventGroup } from '../../../events/description.ts'
import type { Parameters } from '../../../protocol/parameters.ts'
import type { EventPlace } from '../../../storage/repositories/index.ts'
import type { OperatorContext, OperatorPage } from '../../../web/endpoints/operator-page.ts'
import { iso } from '../../../web/endpoints/page-values.ts'
import { ownPath } from '../../../web/http/urls.ts'
import type { PageModels } from '../../../web/pages/page-models.ts'
import { type EventFilter, filterOf, filterParameters } from './filter.ts'
import { type FoundEvents, searchEvents } from './search.ts'
import { eventDescriptions, namesIn, shownDays } from './shown.ts'

const path = '/admin/events'

const groups: readonly EventGroup[] = ['sign-in', 'consent', 'tokens', 'refused', 'admin']

const placeOf = (text: string | undefined): EventPlace | undefined => {
  const [, seconds, id = ''] = /^([0-9]{1,15})-([\w-]{0,43})$/.exec(text ?? '') ?? []
  return seconds === undefined ? undefined : { time: Number(seconds), id }
}

/** The types to choose from, in groups. */
const choicesOf = (
  descriptions: ReadonlyMap<string, EventDescription>,
): PageModels['operator-events']['groups'] =>
  groups.map((group) => ({
    group,
    types: [...descriptions]
      .filter(([, description]) => description.group === group)
      .map(([type, { title }]) => ({ type, title })),
  }))

const show = async (context: OperatorContext, parameters: Parameters): Promise<void> => {
  const { server, person } = context
  const filter = filterOf(parameters)
  const before = placeOf(parameters.optional('before', 64))
  const descriptions = eventDescriptions(context)
  const found: FoundEvents =
    server.eventLog === undefined ? { events: [] } : await searchEvents(context, filter, descriptions, before)
  const { events, next, isCut, user } = found
  const query = filterParameters(filter)
  const urlWith = (span: EventFilter['span']) =>
    ownPath(server, path, filterParameters({ ...filter, from: '', to: '', span }))
  context.send('operator-events', {
    ...(await person.header()),
    isOn: server.eventLog !== undefined,
    action: ownPath(server, path),
    filter: { ...filter, user: filter.user || filter.subject },
    groups: choicesOf(descriptions),
    days: shownDays(context, events, await namesIn(context, events, user), descriptions),
    spans: [
      { kind: 'all' as const, url: urlWith(''), isCurrent: filter.span === '' },
      ...(['hour', 'day', 'week'] as const).map((kind) => ({
        kind,
        url: urlWith(kind),
        isCurrent: filter.span === kind,
      })),
    ],
    searchedTo: next && isCut ? iso(next.time) : undefined,
    nextUrl: next && ownPath(server, path, { ...query, before: `${next.time}-${next.id}` }),
    previousUrl: before && ownPath(server, path, query),
  })
}

/** The stored events, newest first. */
export const eventsPage: OperatorPage = {
  path,
  section: 'events',
  show,
}
