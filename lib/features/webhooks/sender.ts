import type { ServerSetup } from '../../authorization-server.ts'
import type { Database } from '../../database/types.ts'
import { randomId } from '../../keys/secrets.ts'
import type { Options } from '../../options/options.ts'
import { createOutbound, type Outbound, type OutboundOptions } from '../../outbound/outbound.ts'
import { isLoopbackHost } from '../../protocol/clients/redirect-uri.ts'
import type { Bell } from './bell.ts'
import { createSigner, messageOf, type SignMessage } from './message.ts'
import type { WebhookEndpoint, WebhookEndpoints } from './option.ts'
import { type Outcome, outcomeOf, pauseAfter, restAfter } from './rules.ts'
import {
  buryDelivery,
  createEndpoint,
  type Delivery,
  disableEndpoint,
  findDueLanes,
  holdEndpoint,
  listDeliveries,
  postponeLane,
  removeDelivery,
  restEndpoint,
  storeAttempt,
  storeFailure,
  storeSuccess,
} from './table.ts'
import './announced.ts'

/** Milliseconds for one request, as Standard Webhooks suggests. */
const timeout = 15_000
/** The body of an answer says nothing, but some receivers send one. */
const maxBytes = 1024 * 1024
/** How many lanes are sent to a receiver at one time. */
const atOnce = 8
/** Seconds for which a process may send to a receiver without asking again. */
const holdSeconds = 60
/** Seconds that a request and the statement after it can take: none begins later. */
const reserve = 30
/** Milliseconds after which a process looks for what others stored, and for what is due again. */
const lookEvery = (): number => 4000 + 2000 * Math.random()

/** A receiver, and what this process knows about it. */
interface Receiver {
  readonly server: ServerSetup
  readonly database: Database
  readonly name: string
  readonly url: string
  readonly outbound: Outbound
  readonly sign: SignMessage
  /** Names this process and receiver. */
  readonly holder: string
  /** Failures since the last success. */
  failures: number
  /** The same within this round: it ends when each line of work has met one. */
  failuresNow: number
  /** Successes of this round. */
  successes: number
  /** Epoch seconds until which the receiver is left alone. */
  restsUntil: number
  /** Epoch seconds until which this process may send. */
  heldUntil: number
  isGone: boolean
}

const post = async ({ server, url, outbound, sign }: Receiver, delivery: Delivery): Promise<Outcome> => {
  const { event, eventId } = delivery
  // The event expired, or its user was erased.
  if (event === undefined) return { kind: 'delivered' }
  try {
    const message = messageOf({ eventId, event }, sign, server.now())
    const { status, headers } = await outbound.request(url, { ...message, accept: '*/*', maxBytes })
    return outcomeOf(status, headers['retry-after'], server.now())
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { kind: 'failed', reason: reason.slice(0, 200), retryAfter: 0 }
  }
}

/** After a failure the next event of the lane waits, too, unless this one is given up. Returns whether the lane goes on. */
const failed = async (
  receiver: Receiver,
  { seq, lane, attempts, event }: Delivery,
  { reason: failure, retryAfter }: Extract<Outcome, { kind: 'failed' }>,
): Promise<boolean> => {
  const { server, database, name } = receiver
  const now = server.now()
  const tried = attempts + 1
  receiver.failures += 1
  receiver.failuresNow += 1
  receiver.restsUntil = Math.max(receiver.restsUntil, now + retryAfter)
  const pause = pauseAfter(tried, Math.random())
  await storeFailure(database, { name, now, failure })
  if (pause === undefined) {
    await buryDelivery(database, { seq, attempts: tried, failure, now })
    server.events.announce('webhook.failed', undefined, {
      endpoint: name,
      deliveryId: String(seq),
      event: event?.type ?? '',
      reason: failure,
    })
    server.options.logger.warn(`latchkey: webhook ${seq} was given up for ${name}: ${failure}`)
    return true
  }
  await storeAttempt(database, { seq, attempts: tried, failure })
  await postponeLane(database, { endpoint: name, lane, until: now + Math.max(pause, retryAfter) })
  return false
}

const gone = async (receiver: Receiver): Promise<void> => {
  const { server, database, name } = receiver
  receiver.isGone = true
  if (!(await disableEndpoint(database, { name, now: server.now() }))) return
  server.events.announce('webhook.disabled', undefined, { endpoint: name })
  server.options.logger.warn(
    `latchkey: webhooks to ${name} are disabled: the answer has status 410; latchkey webhooks enable ${name} sends them again`,
  )
}

const mayGoOn = ({ server, heldUntil, failuresNow, restsUntil, isGone }: Receiver): boolean =>
  !server.closing.aborted &&
  !isGone &&
  failuresNow < atOnce &&
  restsUntil <= server.now() &&
  server.now() + reserve < heldUntil

/** Sends a lane in order, until one event fails. */
const sendLane = async (receiver: Receiver, deliveries: readonly Delivery[], most: number): Promise<void> => {
  for (const delivery of deliveries.slice(0, most)) {
    if (!mayGoOn(receiver)) return
    const outcome = await post(receiver, delivery)
    if (outcome.kind === 'gone') return gone(receiver)
    if (outcome.kind === 'failed') {
      if (!(await failed(receiver, delivery, outcome))) return
    } else {
      await removeDelivery(receiver.database, { seq: delivery.seq })
      receiver.failures = 0
      receiver.failuresNow = 0
      receiver.successes += 1
    }
  }
}

/** The events of each lane, in order. */
const lanesOf = (deliveries: readonly Delivery[]): Delivery[][] => {
  const lanes = new Map<string, Delivery[]>()
  for (const delivery of deliveries) {
    const lane = lanes.get(delivery.lane)
    if (lane) lane.push(delivery)
    else lanes.set(delivery.lane, [delivery])
  }
  return [...lanes.values()]
}

/** An event that arrived while an earlier one of its lane waits for its next attempt waits with it. */
const postponeBlocked = async (
  { server, database, name: endpoint }: Receiver,
  lanes: readonly Delivery[][],
): Promise<Delivery[][]> => {
  const ready: Delivery[][] = []
  for (const lane of lanes) {
    const [first] = lane
    if (first && first.attemptAt > server.now())
      await postponeLane(database, { endpoint, lane: first.lane, until: first.attemptAt })
    else ready.push(lane)
  }
  return ready
}

/** Sends what is due, as far as it gets within the time for which it may. Returns whether more may be due. */
const sendDue = async (receiver: Receiver): Promise<boolean> => {
  const { server, database, name, holder } = receiver
  if (receiver.restsUntil > server.now()) return false
  const dueLanes = await findDueLanes(database, { endpoint: name, now: server.now() })
  if (dueLanes.length === 0) return false
  const now = server.now()
  if (!(await holdEndpoint(database, { name, holder, now, until: now + holdSeconds }))) return false
  receiver.heldUntil = now + holdSeconds
  receiver.isGone = false
  // Read now, because another process may have sent some of them meanwhile.
  const lanes = await postponeBlocked(
    receiver,
    lanesOf(await listDeliveries(database, { endpoint: name, lanes: dueLanes })),
  )
  // One event shows whether a receiver that failed is there again.
  const wasFailing = receiver.failures > 0
  receiver.failuresNow = 0
  receiver.successes = 0
  const queue = wasFailing ? lanes.slice(0, 1) : lanes
  const work = async (): Promise<void> => {
    for (let lane = queue.shift(); lane; lane = queue.shift())
      await sendLane(receiver, lane, wasFailing ? 1 : Infinity)
  }
  await Promise.all(Array.from({ length: wasFailing ? 1 : atOnce }, work))
  if (receiver.successes > 0) await storeSuccess(database, { name, now: server.now() })
  return receiver.failures === 0 && !receiver.isGone
}

/** Others may send, but not before a receiver has rested. */
const rest = async (receiver: Receiver): Promise<void> => {
  const { server, database, name, holder, failures, heldUntil } = receiver
  if (heldUntil === 0) return
  const pause = server.closing.aborted ? 0 : restAfter(failures, Math.random())
  const until = server.closing.aborted ? 0 : Math.max(receiver.restsUntil, server.now() + pause)
  receiver.restsUntil = until
  receiver.heldUntil = 0
  await restEndpoint(database, { name, holder, until })
}

/** Sends to one receiver until the server closes. Logs the first of several failures of the database. */
const keepSendingTo = async (receiver: Receiver, bell: Bell): Promise<void> => {
  const { server, database, name } = receiver
  const { closing } = server
  let isFailing = false
  let isStored = false
  const look = async (): Promise<boolean> => {
    try {
      await server.ready()
      if (!isStored) await createEndpoint(database, name)
      isStored = true
      const isMore = await sendDue(receiver)
      if (!isMore) await rest(receiver)
      isFailing = false
      return isMore
    } catch (error) {
      if (!isFailing) server.options.logger.error(`latchkey: webhooks to ${name} could not be sent`, error)
      isFailing = true
      return false
    }
  }
  while (!closing.aborted) {
    const count = bell.count()
    if (!(await look())) await bell.wait(count, lookEvery(), closing)
  }
  await rest(receiver)
}

/** The host named the receiver, so it may have a private address; through a proxy only if its origin is listed. */
const rulesFor = (url: string, { outbound }: Options): Pick<OutboundOptions, 'allow' | 'proxy'> => {
  const { origin, hostname } = new URL(url)
  const isDirect = outbound.proxy === undefined || isLoopbackHost(hostname) || outbound.allow.includes(origin)
  return isDirect ? { allow: [origin] } : { allow: [], proxy: outbound.proxy }
}

const receiverOf = async (
  server: ServerSetup,
  name: string,
  { url, secrets }: WebhookEndpoint,
): Promise<Receiver> => ({
  server,
  database: server.database,
  name,
  url,
  outbound: createOutbound({ ...rulesFor(url, server.options), timeout, tracing: server.tracing }),
  sign: await createSigner(secrets),
  holder: randomId(),
  failures: 0,
  failuresNow: 0,
  successes: 0,
  restsUntil: 0,
  heldUntil: 0,
  isGone: false,
})

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
