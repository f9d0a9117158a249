import { timeOf } from '../../protocol/explanation.ts'
import type { EventRecord } from '../../repositories/index.ts'
import { rankOf, type SeenStep, stepsOf, textIn } from './steps.ts'
import { type Stop, type Surroundings, stopOfClient, stopOfStranger } from './stops.ts'

/** How far a client has come, for one user, or a program before it has introduced itself. */
export interface Connection {
  /** Undefined before registration. */
  readonly clientId: string | undefined
  /** Undefined until a user has signed in. */
  readonly subject: string | undefined
  /** Where its requests come from, as far as its events say. */
  readonly address: string | undefined
  readonly agent: string | undefined
  /** Of the last attempt, oldest first. */
  readonly steps: readonly SeenStep[]
  /** Undefined if nothing is missing. */
  readonly stop: Stop | undefined
  /** Epoch seconds of the last event. */
  readonly time: number
}

/** Seconds before the first event of a client in which the requests of the same program belong to it. */
const before = 900

const clientOf = (event: EventRecord): string | undefined => textIn(event, 'clientId')
const addressOf = (event: EventRecord): string => textIn(event, 'address') ?? textIn(event, 'api') ?? ''
const agentOf = (event: EventRecord): string | undefined => textIn(event, 'agent')

const groupBy = <Item>(items: readonly Item[], keyOf: (item: Item) => string): Map<string, Item[]> => {
  const groups = new Map<string, Item[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group) group.push(item)
    else groups.set(key, [item])
  }
  return groups
}

/** One program at one address. */
const programOf = (event: EventRecord): string => JSON.stringify([addressOf(event), agentOf(event)])

/**
 * The user of an event. A JWT names its grant instead, and what a client does alone concerns its only user, or none.
 */
const withUsers = (events: readonly EventRecord[]): EventRecord[] => {
  const ofGrants = new Map(
    events.flatMap((event) => {
      const id = textIn(event, 'authorizationId')
      return id !== undefined && event.subject !== undefined ? [[id, event.subject] as const] : []
    }),
  )
  return events.map((event) => {
    const subject = event.subject ?? ofGrants.get(textIn(event, 'authorizationId') ?? '')
    return subject === undefined ? event : { ...event, subject }
  })
}

/** Where the last attempt begins: later steps, such as refreshes, belong to it. */
const beginsAttempt = ({ step, isFailure, event }: SeenStep): boolean =>
  step === 'requested' ||
  (step === 'introduced' && event.type !== 'client.updated') ||
  (isFailure && step === 'introduced')

/** The steps of the last attempt, with the registration before it. */
const lastAttempt = (steps: readonly SeenStep[]): readonly SeenStep[] => {
  const start = steps.findLastIndex(beginsAttempt)
  const requested = steps[start]
  if (requested?.step !== 'requested') return steps.slice(Math.max(0, start))
  const introduced = steps
    .slice(0, start)
    .findLast(({ step, isFailure }) => step === 'introduced' && !isFailure)
  return [...(introduced ? [introduced] : []), ...steps.slice(start)]
}

/** The programs that an attempt came from, by the requests that no browser sent. */
const programsOf = (steps: readonly SeenStep[]): ReadonlySet<string> =>
  new Set(steps.flatMap(({ event }) => (agentOf(event) === undefined ? [] : [programOf(event)])))

/** What programs sent that no client is known of. */
interface Strangers {
  readonly events: readonly EventRecord[]
  readonly taken: Set<EventRecord>
}

/** The requests of the programs of an attempt; before the first token only the address of the browser may be known. */
const ofPrograms = (attempt: readonly SeenStep[], { events }: Strangers): readonly EventRecord[] => {
  const [first] = attempt
  if (first === undefined) return []
  const programs = programsOf(attempt)
  const addresses = new Set(attempt.map(({ event }) => addressOf(event)))
  const isTheirs = (event: EventRecord): boolean =>
    programs.size > 0 ? programs.has(programOf(event)) : addresses.has(addressOf(event))
  const since = Math.min(...attempt.slice(0, 2).map(({ event }) => event.time)) - before
  return events.filter((event) => event.time >= since && isTheirs(event))
}

/** The id that is refused says nothing about when the registration was deleted. */
const withDeletion = (stop: Stop | undefined, events: readonly EventRecord[]): Stop | undefined => {
  const deletion = events.findLast(({ type }) => type === 'client.deleted')
  if (stop?.cause.name !== 'registration-deleted' || deletion === undefined) return stop
  return { ...stop, cause: { ...stop.cause, values: { time: timeOf(deletion.time) } } }
}

const isBefore = ({ step }: SeenStep): boolean => rankOf(step) < rankOf('introduced')

const connectionOf = (
  events: readonly EventRecord[],
  strangers: Strangers,
  surroundings: Surroundings,
): Connection | undefined => {
  const attempt = lastAttempt(stepsOf(events))
  const latest = attempt.at(-1)
  if (latest === undefined) return undefined
  const unnamedEvents = ofPrograms(attempt, strangers)
  for (const event of unnamedEvents) strangers.taken.add(event)
  const unnamed = stepsOf(unnamedEvents)
  const steps = [...unnamed.filter(isBefore), ...attempt].sort(
    (one, other) => one.event.time - other.event.time,
  )
  const returns = unnamed.filter(({ isFailure, event }) => isFailure || event.type === 'call.refused')
  const own = attempt.map(({ event }) => event)
  const program = own.findLast((event) => agentOf(event) !== undefined)
  return {
    clientId: clientOf(latest.event),
    subject: events.findLast(({ subject }) => subject !== undefined)?.subject,
    address: textIn(program ?? latest.event, 'address'),
    agent: program && agentOf(program),
    steps,
    stop: withDeletion(stopOfClient(steps, returns, surroundings), events),
    time: latest.event.time,
  }
}

/** Seconds between two events of one person at one address. */
const nearby = 900

/** The user whose events are nearest to one that names none, at the same address. */
const nearestUser = (event: EventRecord, named: readonly EventRecord[]): string | undefined => {
  const distance = (other: EventRecord): number => Math.abs(other.time - event.time)
  const near = named.filter((other) => addressOf(other) === addressOf(event) && distance(other) <= nearby)
  const nearest = near.reduce<EventRecord | undefined>(
    (best, other) => (best === undefined || distance(other) < distance(best) ? other : best),
    undefined,
  )
  return nearest?.subject
}

/** The events of a client by its users. What happens to the client concerns each; what names no user may stand alone. */
const byUser = (events: readonly EventRecord[]): EventRecord[][] => {
  const named = events.filter(({ subject }) => subject !== undefined)
  const subjects = [...new Set(named.flatMap(({ subject }) => subject ?? []))]
  if (subjects.length <= 1) return [[...events]]
  const ofAll = events.filter(({ subject, type }) => subject === undefined && type.startsWith('client.'))
  const others = events.filter(({ subject, type }) => subject === undefined && !type.startsWith('client.'))
  const owners = groupBy([...named, ...others], (event) => event.subject ?? nearestUser(event, named) ?? '')
  return [...owners].map(([subject, each]) => (subject === '' ? each : [...ofAll, ...each]))
}

const strangerOf = (events: readonly EventRecord[], surroundings: Surroundings): Connection | undefined => {
  const steps = stepsOf(events)
  const latest = steps.at(-1)
  if (latest === undefined) return undefined
  const stop = stopOfStranger(steps, surroundings)
  if (stop === undefined) return undefined
  return {
    clientId: undefined,
    subject: undefined,
    address: textIn(latest.event, 'address'),
    agent: agentOf(latest.event),
    steps,
    stop,
    time: latest.event.time,
  }
}

/** The same event may have been read by its client and by its type. */
const eachOnce = (events: readonly EventRecord[]): EventRecord[] => [
  ...new Map(
    events.map((event) => [JSON.stringify([event.requestId, event.type, event.time, event.details]), event]),
  ).values(),
]

/**
 * The connections that events show, newest first.
 *
 * @param given in any order; some may be given twice
 */
export const connectionsOf = (given: readonly EventRecord[], surroundings: Surroundings): Connection[] => {
  const events = withUsers(eachOnce(given))
  const named = events.filter((event) => clientOf(event) !== undefined)
  const strangers: Strangers = {
    events: events.filter((event) => clientOf(event) === undefined && event.subject === undefined),
    taken: new Set(),
  }
  const clients = [...groupBy(named, (event) => clientOf(event) ?? '').values()]
    .flatMap(byUser)
    .flatMap((each) => connectionOf(each, strangers, surroundings) ?? [])
  const left = strangers.events.filter((event) => !strangers.taken.has(event))
  const programs = [...groupBy(left, programOf).values()].flatMap(
    (each) => strangerOf(each, surroundings) ?? [],
  )
  return [...clients, ...programs].sort((one, other) => other.time - one.time)
}
