import { type EventDescription, sentenceParts } from '../../../events/description.ts'
import { coreEvents } from '../../../events/descriptions.ts'
import {
  type EventRecord,
  findClientRecords,
  findSubjectOfAccount,
} from '../../../storage/repositories/index.ts'
import type { OperatorContext } from '../../../web/endpoints/operator-page.ts'
import { iso } from '../../../web/endpoints/page-values.ts'
import { ownPath } from '../../../web/http/urls.ts'
import { accountOf } from '../../../web/sessions/device-cookie.ts'
import type { EventsOfUser } from './filter.ts'
import type { EventFact, ShownEvent } from './models.ts'

const day = 86_400
/** Fields that hold epoch seconds. */
const times: readonly string[] = ['signsFrom', 'expiresAt']
/** Fields that come first, and those of the request. */
const placed: readonly string[] = ['clientId']

/** The descriptions of all events, by type. */
export const eventDescriptions = ({ server }: OperatorContext): ReadonlyMap<string, EventDescription> =>
  new Map(
    [coreEvents, ...server.installed.map(({ events }) => events ?? {})].flatMap((each) =>
      Object.entries(each),
    ),
  )

/** The names of the users and clients that events are about. */
export interface EventNames {
  readonly users: ReadonlyMap<string, string>
  readonly clients: ReadonlyMap<string, string>
  /** Login names by their hashes, as far as they are known, and whose they are. */
  readonly accounts: ReadonlyMap<string, NamedAccount>
}

interface NamedAccount {
  readonly username: string
  /** Undefined for a name that was searched for and that no user has. */
  readonly subject?: string
}

const clientIdOf = ({ details: { clientId } }: EventRecord): string | undefined =>
  typeof clientId === 'string' ? clientId : undefined

/** A user without a name, and one whom the host cannot tell us about now, is called by their id. */
const nameOfUser = async ({ server }: OperatorContext, subject: string): Promise<[string, string]> => {
  const user = await server.users.find(subject).catch(() => undefined)
  return [subject, user?.username ?? subject]
}

const accountIn = ({ details: { account } }: EventRecord): string | undefined =>
  typeof account === 'string' ? account : undefined

/** The user who signed in under a hash before, if that is still the hash of their login name. */
const namedAccount = async (
  { server }: OperatorContext,
  account: string,
): Promise<NamedAccount | undefined> => {
  const subject = await findSubjectOfAccount(server.database, { account })
  const user = subject === undefined ? undefined : await server.users.find(subject).catch(() => undefined)
  if (user === undefined || accountOf(server, user.username) !== account) return undefined
  return { username: user.username, subject: user.subject }
}

/**
 * Looks up the users and clients of at most a page of events.
 *
 * @param user who was searched for
 */
export const namesIn = async (
  context: OperatorContext,
  events: readonly EventRecord[],
  user?: EventsOfUser,
): Promise<EventNames> => {
  const { database, now } = context.server
  const subjects = [...new Set(events.flatMap(({ subject }) => subject ?? []))]
  const clientIds = [...new Set(events.flatMap((event) => clientIdOf(event) ?? []))]
  const clients = await findClientRecords(database, { clientIds, now: now() })
  const accounts = [...new Set(events.flatMap((event) => accountIn(event) ?? []))]
  const named = await Promise.all(
    accounts.map(async (account) => [account, await namedAccount(context, account)] as const),
  )
  const sought =
    user?.account === undefined || user.username === undefined
      ? []
      : [[user.account, { username: user.username }] as const]
  const known = named.flatMap(([account, name]) => (name ? [[account, name] as const] : []))
  return {
    users: new Map(await Promise.all(subjects.map((subject) => nameOfUser(context, subject)))),
    accounts: new Map<string, NamedAccount>([...sought, ...known]),
    clients: new Map(clients.map(({ clientId, metadata }) => [clientId, metadata.client_name ?? clientId])),
  }
}

/** Lists with commas; names of values such as `revoked_by_admin` without their underscores. */
const inWords = (value: unknown): string => {
  if (Array.isArray(value)) return value.map(String).join(', ')
  if (typeof value === 'object' && value !== null) return JSON.stringify(value)
  const text = String(value)
  return /^[a-z_]+$/.test(text) ? text.replaceAll('_', ' ') : text
}

const factOf = (name: string, value: unknown): EventFact => {
  if (typeof value !== 'number')
    return { name, kind: 'text', value: name === 'scopes' ? inWords(value) : textOf(value) }
  if (times.includes(name) && Number.isSafeInteger(value) && Math.abs(value) < 1e11)
    return { name, kind: 'time', value: iso(value) }
  return { name, kind: 'text', value: String(value), ...(name === 'seconds' && { seconds: value }) }
}

/** A value in words. A string stays as it is, because clients must read it so. */
const textOf = (value: unknown): string => (typeof value === 'string' ? value : inWords(value))

const factsOf = (context: OperatorContext, event: EventRecord, names: EventNames): EventFact[] => {
  const { server, person } = context
  const clientId = clientIdOf(event)
  const isKnown = clientId !== undefined && names.clients.has(clientId)
  return [
    { name: 'type', kind: 'text', value: event.type },
    ...(event.subject === undefined
      ? []
      : [{ ...factOf('subject', event.subject), url: person.userUrl(event.subject) }]),
    ...(clientId === undefined
      ? []
      : [{ ...factOf('clientId', clientId), ...(isKnown && { url: person.clientUrl(clientId) }) }]),
    ...Object.entries(event.details)
      .filter(([name]) => !placed.includes(name))
      .map(([name, value]) => {
        const whose =
          name === 'account' && event.subject === undefined
            ? names.accounts.get(String(value))?.subject
            : undefined
        return { ...factOf(name, value), ...(whose !== undefined && { url: person.userUrl(whose) }) }
      }),
    {
      ...factOf('requestId', event.requestId),
      url: ownPath(server, '/admin/events', { error_id: event.requestId }),
    },
  ]
}

const sentenceOf = (event: EventRecord, names: EventNames, described: EventDescription | undefined) => {
  const { subject, details } = event
  const clientId = clientIdOf(event)
  const values = Object.entries(details).map(([name, value]) => [name, inWords(value)])
  return sentenceParts(described?.sentence ?? '{type}', {
    ...Object.fromEntries(values),
    type: event.type,
    user: subject === undefined ? undefined : (names.users.get(subject) ?? subject),
    login: names.accounts.get(accountIn(event) ?? '')?.username,
    client: clientId === undefined ? undefined : (names.clients.get(clientId) ?? clientId),
  })
}

/** An event in words. */
const shownEvent = (
  context: OperatorContext,
  event: EventRecord,
  names: EventNames,
  described: EventDescription | undefined,
): ShownEvent => {
  const time = iso(event.time)
  return {
    type: event.type,
    tone: described?.tone ?? 'admin',
    time,
    clock: time.slice(11, 19),
    sentence: sentenceOf(event, names, described),
    facts: factsOf(context, event, names),
  }
}

/** Events by days in UTC. */
export const shownDays = (
  context: OperatorContext,
  events: readonly EventRecord[],
  names: EventNames,
  descriptions: ReadonlyMap<string, EventDescription>,
): { date: string; events: ShownEvent[] }[] => {
  const dayOf = ({ time }: EventRecord): number => Math.floor(time / day)
  const days = [...new Set(events.map(dayOf))]
  return days.map((date) => ({
    date: iso(date * day),
    events: events
      .filter((event) => dayOf(event) === date)
      .map((event) => shownEvent(context, event, names, descriptions.get(event.type))),
  }))
}
