import {
  correctTimes,
  type Delivery,
  type DueLane,
  findDueLanes,
  findUntriedLane,
  gatherLane,
  listDueOfLane,
  listLane,
  postponeLane,
} from './lanes.ts'
import type { Receiver } from './receiver.ts'
import { type Priority, priorities, priority } from './rules.ts'

// Lanes take turns, so that someone who causes many events holds up only their own.

/** The number of lanes of one priority that are looked up at one time. */
const lanesAtOnce = 8

/** The next lanes of one priority. A lane waits until all others that were due when the round began had their turn. */
const nextOf = async (receiver: Receiver, each: Priority): Promise<DueLane[]> => {
  const { server, database, name: endpoint, rounds } = receiver
  const round = rounds.get(each)
  if (round === undefined) await correctTimes(database, { endpoint, priority: each, now: server.now() })
  // A clock that was set back must not make anything due early.
  const until = Math.min(round?.until ?? Infinity, server.now())
  const lanes = await findDueLanes(database, {
    endpoint,
    priority: each,
    until,
    after: round?.after,
    most: lanesAtOnce,
  })
  for (const { lane, attemptAt, isSpread } of lanes)
    if (isSpread) await gatherLane(database, { endpoint, lane, priority: each, attemptAt, until })
  const last = lanes.at(-1)
  if (last) rounds.set(each, { until, after: last })
  else rounds.delete(each)
  return last === undefined && round !== undefined ? nextOf(receiver, each) : lanes
}

/**
 * A receiver that was down is asked by an event that has not failed, if there is one: others may be what it cannot take. The
 * newest resembles them least.
 */
const probe = async ({ server, database, name: endpoint }: Receiver): Promise<DueLane[]> => {
  const now = server.now()
  for (const each of priorities) await correctTimes(database, { endpoint, priority: each, now })
  const untried = await findUntriedLane(database, { endpoint, now })
  if (untried !== undefined) return [{ lane: untried, attemptAt: now, isSpread: false }]
  for (const each of priorities) {
    const lanes = await findDueLanes(database, { endpoint, priority: each, until: now, most: 1 })
    if (lanes.length > 0) return lanes
  }
  return []
}

/** The lanes whose turn is next: those whose events end access and the others by turns. None if nothing is due. */
export const nextLanes = async (receiver: Receiver): Promise<DueLane[]> => {
  if (receiver.rests > 0) return probe(receiver)
  const [urgent, ordinary] = [
    await nextOf(receiver, priority.endsAccess),
    await nextOf(receiver, priority.ordinary),
  ]
  const rows = Array.from({ length: lanesAtOnce }, (_, index) => [urgent[index], ordinary[index]])
  return rows.flat().filter((lane) => lane !== undefined)
}

/**
 * The events that a lane may send now, in order. What does not end access waits while an earlier event of the lane waits for its
 * next attempt, also if it came later than that failed.
 */
export const turnOf = async (receiver: Receiver, lane: string): Promise<Delivery[]> => {
  const { server, database, name: endpoint } = receiver
  const now = server.now()
  const first = await listLane(database, { endpoint, lane })
  const waiting = first.findIndex(({ attemptAt }) => attemptAt > now)
  const head = first[waiting]
  if (head === undefined || waiting > 0) return waiting > 0 ? first.slice(0, waiting) : first
  const until = head.attemptAt
  await postponeLane(database, { endpoint, lane, priority: priority.ordinary, failure: head.failure, until })
  return head.priority === priority.endsAccess
    ? listDueOfLane(database, { endpoint, lane, priority: priority.endsAccess, now })
    : []
}
