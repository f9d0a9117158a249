import { timeOf } from '../../protocol/explanation.ts'
import { type EventRecord, othersFirst } from '../../storage/repositories/index.ts'
import { addressOf, byOwner, groupBy, type OwnedEvents } from './owners.ts'
import { eventText, rankOf, type SeenStep, stepsOf } from './steps.ts'
import { type Stop, type StopContext, stopOfClient, stopOfStranger } from './stops.ts'

/** How far a client has come, for one user, or a program before it has introduced itself. */
export interface Connection {
  /** Undefined before registration. */
  readonly clientId: string | undefined
  /** Undefined until a user has signed in. */
  readonly subject: string | undefined
  /** Whether the client has users, and nothing shows which of them this is. */
  readonly isUnknownUser: boolean
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

const clientOf = (event: EventRecord): string | undefined => eventText(event, 'clientId')
const agentOf = (event: EventRecord): string | undefined => eventText(event, 'agent')

/** One program at one address. */
const programOf = (event: EventRecord): string => JSON.stringify([addressOf(event), agentOf(event)])

/**
 * The user of an event. A JWT names its authorization instead, and what a client does alone concerns its only user, or none.
 */
const withUsers = (events: readonly EventRecord[]): EventRecord[] => {
  const byAuthorization = new Map(
    events.flatMap((event) => {
      const id = eventText(event, 'authorizationId')
      return id !== undefined && event.subject !== undefined ? [[id, event.subject] as const] : []
    }),
  )
  return events.map((event) => {
    const subject = event.subject ?? byAuthorization.get(eventText(event, 'authorizationId') ?? '')
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

/** Events of programs that belong to no known client, oldest first. */
interface Strangers {
  readonly events: readonly EventRecord[]
  readonly byProgram: ReadonlyMap<string, readonly EventRecord[]>
  readonly byAddress: ReadonlyMap<string, readonly EventRecord[]>
  /** Since when the events of a program or an address belong to a client. */
  readonly taken: Map<string, number>
}

const strangersIn = (events: readonly EventRecord[]): Strangers => {
  const sorted = events.toSorted((one, other) => one.time - other.time)
  return {
    events: sorted,
    byProgram: groupBy(sorted, programOf),
    byAddress: groupBy(sorted, addressOf),
    taken: new Map(),
  }
}

const isTaken = ({ taken }: Strangers, event: EventRecord): boolean =>
  [programOf(event), addressOf(event)].some(
    (key) => event.time >= (taken.get(key) ?? Number.POSITIVE_INFINITY),
  )

/** The most events of one program before an attempt, and the most after it. */
const mostOfProgram = 50

/** The first place of an event that is not older, in a list with the oldest first. */
const placeOf = (events: readonly EventRecord[], time: number): number => {
  let [low, high] = [0, events.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((events[middle]?.time ?? time) < time) low = middle + 1
    else high = middle
  }
  return low
}

/**
 * The requests of the programs of an attempt; before the first token only the address of the browser may be known. Of many, those
 * around the beginning and the newest ones.
 */
const ofPrograms = (attempt: readonly SeenStep[], strangers: Strangers): readonly EventRecord[] => {
  const [first] = attempt
  if (first === undefined) return []
  const programs = programsOf(attempt)
  const keys = programs.size > 0 ? programs : new Set(attempt.map(({ event }) => addressOf(event)))
  const groups = programs.size > 0 ? strangers.byProgram : strangers.byAddress
  const start = Math.min(...attempt.slice(0, 2).map(({ event }) => event.time))
  const since = start - before
  return [...keys].flatMap((key) => {
    strangers.taken.set(key, Math.min(since, strangers.taken.get(key) ?? since))
    const events = groups.get(key) ?? []
    const [from, middle] = [placeOf(events, since), placeOf(events, start + 1)]
    const around = events.slice(Math.max(from, middle - mostOfProgram), middle + mostOfProgram)
    const newest = events.slice(Math.max(middle + mostOfProgram, events.length - mostOfProgram))
    return [...around, ...newest]
  })
}

/** The id that is refused says nothing about when the registration was deleted. */
const withDeletion = (stop: Stop | undefined, events: readonly EventRecord[]): Stop | undefined => {
  const deletion = events.findLast(({ type }) => type === 'client.deleted')
  if (stop?.cause.name !== 'registration-deleted' || deletion === undefined) return stop
  return { ...stop, cause: { ...stop.cause, values: { time: timeOf(deletion.time) } } }
}

const isBefore = ({ step }: SeenStep): boolean => rankOf(step) < rankOf('introduced')

const connectionOf = (
  { events, isUnknownUser }: OwnedEvents,
  strangers: Strangers,
  surroundings: StopContext,
): Connection | undefined => {
  const attempt = lastAttempt(stepsOf(events))
  const latest = attempt.at(-1)
  if (latest === undefined) return undefined
  const unnamed = stepsOf(ofPrograms(attempt, strangers))
  const steps = [...unnamed.filter(isBefore), ...attempt].sort(
    (one, other) => one.event.time - other.event.time,
  )
  const returns = unnamed.filter(({ isFailure, event }) => isFailure || event.type === 'call.refused')
  const own = attempt.map(({ event }) => event)
  const program = own.findLast((event) => agentOf(event) !== undefined)
  return {
    clientId: clientOf(latest.event),
    subject: events.findLast(({ subject }) => subject !== undefined)?.subject,
    isUnknownUser,
    address: eventText(program ?? latest.event, 'address'),
    agent: program && agentOf(program),
    steps,
    stop: withDeletion(stopOfClient(steps, returns, surroundings), events),
    time: latest.event.time,
  }
}

const strangerOf = (events: readonly EventRecord[], surroundings: StopContext): Connection | undefined => {
  const steps = stepsOf(events)
  const latest = steps.at(-1)
  if (latest === undefined) return undefined
  const stop = stopOfStranger(steps, surroundings)
  if (stop === undefined) return undefined
  return {
    clientId: undefined,
    subject: undefined,
    isUnknownUser: false,
    address: eventText(latest.event, 'address'),
    agent: agentOf(latest.event),
    steps,
    stop,
    time: latest.event.time,
  }
}

/** After so many events others have their turn. */
const turn = 500

/** Makes results of groups, one after another, with turns for other requests between. */
const inTurns = async <Group, Result>(
  groups: readonly Group[],
  sizeOf: (group: Group) => number,
  make: (group: Group) => readonly Result[],
): Promise<Result[]> => {
  const made: Result[] = []
  let size = 0
  for (const group of groups) {
    size += sizeOf(group)
    made.push(...make(group))
    if (size < turn) continue
    size = 0
    await othersFirst()
  }
  return made
}

/** The connections that events show, newest first. The events may have any order. */
export const connectionsOf = async (
  given: readonly EventRecord[],
  surroundings: StopContext,
): Promise<Connection[]> => {
  const events = withUsers(given)
  const named = events.filter((event) => clientOf(event) !== undefined)
  const strangers = strangersIn(
    events.filter((event) => clientOf(event) === undefined && event.subject === undefined),
  )
  const sizeOf = ({ length }: readonly EventRecord[]): number => length
  const ofClients = [...groupBy(named, (event) => clientOf(event) ?? '').values()]
  const owned = await inTurns(ofClients, sizeOf, byOwner)
  const clients = await inTurns(
    owned,
    ({ events: each }) => each.length + mostOfProgram,
    (each) => [connectionOf(each, strangers, surroundings) ?? []].flat(),
  )
  const left = strangers.events.filter((event) => !isTaken(strangers, event))
  const programs = await inTurns([...groupBy(left, programOf).values()], sizeOf, (each) =>
    [strangerOf(each, surroundings) ?? []].flat(),
  )
  return [...clients, ...programs].sort((one, other) => other.time - one.time)
}
