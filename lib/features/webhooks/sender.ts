import type { ServerSetup } from '../../oauth/authorization-server.ts'
import { isAhead } from '../../protocol/stored-time.ts'
import type { Bell } from './bell.ts'
import type { WebhookEndpoints } from './option.ts'
import { post, type Receiver, receiverOf, settle } from './receiver.ts'
import { longestWait, restAfter } from './rules.ts'
import { createEndpoint, findBacklog, holdEndpoint, isWaiting, restEndpoint, storeSuccess } from './table.ts'
import { nextLanes, turnOf } from './turns.ts'

/** The number of lanes that are sent to a receiver at one time. */
const atOnce = 8
/** Seconds for which a process may send to a receiver without asking again. */
const holdSeconds = 60
/** Seconds after which the log says that events wait. */
const longWait = 600
/** Seconds that a request and the statement after it can take: none begins later. */
const reserve = 30
/** Milliseconds after which a process looks for what others stored, and for what is due again. */
const lookEvery = (): number => 4000 + 2000 * Math.random()

/** One event shows whether a receiver that was down is there again. */
const slotsOf = ({ rests }: Receiver): number => (rests > 0 ? 1 : atOnce)

const isDown = (receiver: Receiver): boolean => receiver.failures >= slotsOf(receiver)

const mayGoOn = (receiver: Receiver): boolean => {
  const { server, heldUntil, restsUntil, isGone } = receiver
  const now = server.now()
  return (
    !server.closing.aborted &&
    !isGone &&
    !isDown(receiver) &&
    !isAhead(restsUntil, now, longestWait) &&
    isAhead(heldUntil, now + reserve, holdSeconds)
  )
}

/** Sends what it is the turn of a lane to send, until one event fails. */
const sendLane = async (receiver: Receiver, lane: string): Promise<void> => {
  for (const [place, delivery] of (await turnOf(receiver, lane)).entries()) {
    if (!mayGoOn(receiver)) return
    // While the one before was sent, its user may have been erased.
    if (place > 0 && !(await isWaiting(receiver.database, delivery))) continue
    if (!(await settle(receiver, delivery, await post(receiver, delivery)))) return
  }
}

const storeSucceeded = async (receiver: Receiver): Promise<void> => {
  const { server, database, name } = receiver
  if (!receiver.hasSucceeded) return
  receiver.hasSucceeded = false
  await storeSuccess(database, { name, now: server.now() })
}

/** Says in the log that events wait for long, every ten minutes. */
const warnOfBacklog = async (receiver: Receiver): Promise<void> => {
  const { server, database, name } = receiver
  const now = server.now()
  if (isAhead(receiver.backlogReadAt + longWait, now, longWait)) return
  receiver.backlogReadAt = now
  const { count, oldest } = await findBacklog(database, { endpoint: name })
  if (oldest === null || now - oldest <= longWait) return
  server.options.logger.warn(
    `latchkey: ${count} webhooks wait for ${name}, the oldest for ${Math.floor((now - oldest) / 60)} minutes`,
  )
}

/** Takes the right to send, or prolongs it while little of it is left. */
const hold = async (receiver: Receiver): Promise<boolean> => {
  const { server, database, name, holder, heldUntil } = receiver
  const now = server.now()
  if (isAhead(heldUntil, now + (reserve + holdSeconds) / 2, holdSeconds)) return true
  await storeSucceeded(receiver)
  const until = now + holdSeconds
  if (!(await holdEndpoint(database, { name, holder, now, until }))) return false
  receiver.heldUntil = until
  await warnOfBacklog(receiver)
  return true
}

/** Begins as many lanes as may be sent at one time. Returns whether it began one. */
const begin = async (receiver: Receiver, onFault: (fault: unknown) => void): Promise<boolean> => {
  const { server, running, isGone, restsUntil } = receiver
  if (server.closing.aborted || isGone || isDown(receiver) || isAhead(restsUntil, server.now(), longestWait))
    return false
  const free = slotsOf(receiver) - running.size
  if (free <= 0) return false
  if (receiver.queue.length === 0) receiver.queue = await nextLanes(receiver)
  receiver.queue = receiver.queue.filter(({ lane }) => !running.has(lane))
  if (receiver.queue.length === 0 || !(await hold(receiver))) return false
  for (const { lane } of receiver.queue.splice(0, free)) {
    if (running.has(lane)) continue
    const sent = sendLane(receiver, lane)
      .catch(onFault)
      .finally(() => running.delete(lane))
    running.set(lane, sent)
  }
  return true
}

/** Leaves a receiver alone that is down, and lets others send. */
const rest = async (receiver: Receiver): Promise<void> => {
  const { server, database, name, holder } = receiver
  receiver.queue = []
  receiver.isGone = false
  if (receiver.heldUntil === 0) return
  await storeSucceeded(receiver)
  if (isDown(receiver)) {
    if (receiver.rests === 0)
      server.options.logger.warn(
        `latchkey: webhooks to ${name} wait: it is down; one shows whether it is back`,
      )
    const pause = restAfter(receiver.rests, Math.random())
    receiver.restsUntil = Math.max(receiver.restsUntil, server.now() + pause)
    receiver.rests += 1
    receiver.failures = 0
  }
  receiver.heldUntil = 0
  const until = server.closing.aborted ? 0 : Math.max(receiver.restsUntil, server.now())
  await restEndpoint(database, { name, holder, until })
  // From now on the database says how long it rests, so that an administrator can end that.
  receiver.restsUntil = 0
}

/** Sends to one receiver until the server closes. Logs the first of several failures of the database. */
const keepSendingTo = async (receiver: Receiver, bell: Bell): Promise<void> => {
  const { server, database, name, running } = receiver
  const { closing } = server
  let isFailing = false
  let isStored = false
  let fault: unknown
  const onFault = (error: unknown): void => {
    fault = error
  }
  const someEnds = (): Promise<void> => Promise.race(running.values())
  /** Sends until nothing is due, or something fails. */
  const work = async (): Promise<void> => {
    await server.ready()
    if (!isStored) await createEndpoint(database, name)
    isStored = true
    for (;;) {
      const count = bell.count()
      const hasBegun = await begin(receiver, onFault)
      if (fault !== undefined) throw fault
      if (hasBegun && running.size < slotsOf(receiver)) continue
      if (running.size === 0) return
      // While a slow lane is sent, others that become due need not wait for it.
      const ended = new AbortController()
      await Promise.race([someEnds(), bell.wait(count, lookEvery(), ended.signal)])
      ended.abort()
    }
  }
  const look = async (): Promise<void> => {
    try {
      await work()
      isFailing = false
    } catch (error) {
      if (!isFailing) server.options.logger.error(`latchkey: webhooks to ${name} could not be sent`, error)
      isFailing = true
    }
    await Promise.all(running.values())
    fault = undefined
    await rest(receiver)
  }
  while (!closing.aborted) {
    const count = bell.count()
    await look()
    await bell.wait(count, lookEvery(), closing)
  }
}

/**
 * Sends stored events to their receivers until the server closes. Several processes can do this at the same time: of each receiver
 * one of them has the right to send, for a minute, and prolongs it. When it dies, another goes on after this minute.
 */
export const keepSending = async (
  server: ServerSetup,
  endpoints: WebhookEndpoints,
  bell: Bell,
): Promise<void> => {
  const loops = Object.entries(endpoints).map(async ([name, endpoint]) =>
    keepSendingTo(await receiverOf(server, name, endpoint), bell),
  )
  await Promise.all(loops)
}
