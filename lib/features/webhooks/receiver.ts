import { randomId } from '../../keys/secrets.ts'
import type { ServerSetup } from '../../oauth/authorization-server.ts'
import type { Options } from '../../options/options.ts'
import { createOutbound, type Outbound, type OutboundOptions } from '../../outbound/outbound.ts'
import { isLoopbackHost } from '../../protocol/clients/redirect-uri.ts'
import type { Database } from '../../storage/database/types.ts'
import { type Delivery, type DueLane, type LanePlace, postponeLane } from './lanes.ts'
import { createSigner, messageOf, type SignMessage } from './message.ts'
import type { WebhookEndpoint } from './option.ts'
import { type DeliveryOutcome, outcomeOf, type Priority, pauseAfter, priority } from './rules.ts'
import {
  buryDelivery,
  disableEndpoint,
  removeDelivery,
  storeAttempt,
  storeFailure,
  storeRefusal,
} from './table.ts'

/** Milliseconds for one request, as Standard Webhooks suggests. */
const timeout = 15_000
/** The body of an answer says nothing, but some receivers send one. */
const maxBytes = 1024 * 1024
/** Seconds between two lines of the log about refused events. */
const refusalsEvery = 3600

/** The turns of the lanes of one priority. A round is over when each lane of its beginning has had its turn. */
export interface Round {
  /** Epoch seconds: what was due when the round began. */
  readonly until: number
  readonly after: LanePlace | undefined
}

/** A receiver, and what this process knows about it. */
export interface Receiver {
  readonly server: ServerSetup
  readonly database: Database
  readonly name: string
  readonly url: string
  readonly outbound: Outbound
  readonly sign: SignMessage
  /** Names this process and receiver. */
  readonly holder: string
  readonly rounds: Map<Priority, Round>
  /** Lanes whose turn comes next. */
  queue: DueLane[]
  /** Lanes that are being sent. */
  readonly running: Map<string, Promise<void>>
  /** Attempts that found it down since it last answered. */
  failures: number
  /** The number of times that it was left alone since. */
  rests: number
  /** Epoch seconds until which it is left alone. */
  restsUntil: number
  /** Epoch seconds until which this process may send. */
  heldUntil: number
  /** Whether a success waits to be stored. */
  hasSucceeded: boolean
  /** Epoch seconds of the last line of the log about a refused event. */
  refusalLoggedAt: number
  /** Epoch seconds: when it was last looked how long events wait. */
  backlogReadAt: number
  isGone: boolean
}

/** Sends one event. It does not throw. */
export const post = async (
  { server, url, outbound, sign }: Receiver,
  { event, eventId }: Pick<Delivery, 'event' | 'eventId'>,
): Promise<DeliveryOutcome> => {
  // The event expired, or its user was erased.
  if (event === undefined) return { kind: 'delivered' }
  try {
    const message = messageOf({ eventId, event }, sign, server.now())
    const { status, headers } = await outbound.request(url, { ...message, accept: '*/*', maxBytes })
    return outcomeOf(status, headers['retry-after'], server.now())
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { kind: 'down', reason: reason.slice(0, 200), retryAfter: 0 }
  }
}

const answered = (receiver: Receiver): void => {
  if (receiver.rests > 0)
    receiver.server.options.logger.info(`latchkey: webhooks to ${receiver.name} are sent again: it answers`)
  receiver.failures = 0
  receiver.rests = 0
}

const delivered = async (receiver: Receiver, { seq }: Delivery): Promise<true> => {
  answered(receiver)
  receiver.hasSucceeded = true
  await removeDelivery(receiver.database, { seq })
  return true
}

const gone = async (receiver: Receiver): Promise<false> => {
  const { server, database, name } = receiver
  receiver.isGone = true
  if (!(await disableEndpoint(database, { name, now: server.now() }))) return false
  server.events.announce('webhook.disabled', undefined, { endpoint: name })
  server.options.logger.warn(
    `latchkey: webhooks to ${name} are disabled: the answer has status 410; latchkey webhooks enable ${name} sends them again`,
  )
  return false
}

type Failed = Extract<DeliveryOutcome, { kind: 'refused' | 'down' }>

/** Notes a failure for the page of the receiver and for the log. */
const noteFailure = async (receiver: Receiver, { seq }: Delivery, outcome: Failed): Promise<void> => {
  const { server, database, name } = receiver
  const now = server.now()
  if (outcome.kind === 'down') {
    receiver.failures += 1
    receiver.restsUntil = Math.max(receiver.restsUntil, now + outcome.retryAfter)
    return void (await storeFailure(database, { name, now, failure: outcome.reason }))
  }
  answered(receiver)
  await storeRefusal(database, { name, now, refusal: outcome.reason })
  if (now - receiver.refusalLoggedAt < refusalsEvery) return
  receiver.refusalLoggedAt = now
  server.options.logger.warn(
    `latchkey: ${name} refuses the webhook ${seq}: ${outcome.reason}; the next attempts are on the page of webhooks`,
  )
}

/** After a failure what follows in the lane waits, too, unless this event is given up. Returns whether the lane goes on. */
const failed = async (receiver: Receiver, delivery: Delivery, outcome: Failed): Promise<boolean> => {
  const { server, database, name: endpoint } = receiver
  const { seq, lane, event } = delivery
  const { reason: failure } = outcome
  const attempts = delivery.attempts + 1
  await noteFailure(receiver, delivery, outcome)
  const now = server.now()
  const pause = pauseAfter(attempts, Math.random())
  if (pause === undefined) {
    await buryDelivery(database, { seq, attempts, failure, now })
    server.events.announce('webhook.failed', undefined, {
      endpoint,
      deliveryId: String(seq),
      event: event?.type ?? '',
      reason: failure,
    })
    const why = outcome.kind === 'down' ? 'is down' : 'refuses it'
    server.options.logger.warn(
      `latchkey: webhook ${seq} was given up for ${endpoint}, which ${why}: ${failure}`,
    )
    return true
  }
  const until = now + (outcome.kind === 'down' ? Math.max(pause, outcome.retryAfter) : pause)
  await storeAttempt(database, { seq, attempts, failure, until })
  await postponeLane(database, { endpoint, lane, priority: priority.ordinary, failure, until })
  return false
}

/** Stores what became of an attempt. Returns whether the lane goes on. */
export const settle = (
  receiver: Receiver,
  delivery: Delivery,
  outcome: DeliveryOutcome,
): Promise<boolean> => {
  if (outcome.kind === 'delivered') return delivered(receiver, delivery)
  if (outcome.kind === 'gone') return gone(receiver)
  return failed(receiver, delivery, outcome)
}

/** The host named the receiver, so it may have a private address; through a proxy only if its origin is listed. */
const rulesFor = (url: string, { outbound }: Options): Pick<OutboundOptions, 'allow' | 'proxy'> => {
  const { origin, hostname } = new URL(url)
  const isDirect = outbound.proxy === undefined || isLoopbackHost(hostname) || outbound.allow.includes(origin)
  return isDirect ? { allow: [origin] } : { allow: [], proxy: outbound.proxy }
}

/** A receiver that was not sent anything yet. */
export const receiverOf = async (
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
  rounds: new Map(),
  queue: [],
  running: new Map(),
  failures: 0,
  rests: 0,
  restsUntil: 0,
  heldUntil: 0,
  hasSucceeded: false,
  refusalLoggedAt: 0,
  backlogReadAt: server.now(),
  isGone: false,
})
