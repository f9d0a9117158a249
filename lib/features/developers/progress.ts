import type { Explanation } from '../../protocol/explanation.ts'
import type { EventRecord } from '../../storage/repositories/events.ts'

/** The way of a new app to its first tokens, in order. */
export const progressSteps = ['registered', 'requested', 'allowed', 'exchanged'] as const
export type ProgressStep = (typeof progressSteps)[number]

/** A request of an app that was refused. */
export interface RefusedStep extends Partial<Explanation> {
  /** Epoch seconds. */
  readonly time: number
  /** The endpoint, below the mount. */
  readonly path: string
  /** In English, as the event says it. */
  readonly reason: string
}

/** The steps that an app has completed. */
export interface Progress {
  /** When each step was first seen, in epoch seconds; undefined if it was not. */
  readonly steps: readonly { readonly step: ProgressStep; readonly time: number | undefined }[]
  /** The newest refusal, unless a later request got tokens or the app was approved or enabled since. */
  readonly refused?: RefusedStep
}

/** Events that show a step. Each later step shows the earlier ones as well. */
const shows: Readonly<Record<Exclude<ProgressStep, 'registered'>, (event: EventRecord) => boolean>> = {
  requested: ({ type }) => !type.startsWith('client.') || type === 'client.refused',
  allowed: ({ type }) => type === 'authorization.issued' || type === 'consent.allowed',
  exchanged: ({ type, subject }) => type === 'tokens.issued' && subject !== undefined,
}

const refusals = ['request.refused', 'api.refused', 'client.refused']

/** An event after which a refusal is over: the app got tokens, or the host enabled an app that was refused as a whole. */
const ends =
  (refusal: EventRecord) =>
  (event: EventRecord): boolean =>
    shows.exchanged(event) ||
    ((refusal.type === 'client.refused' || refusal.details.code === 'unauthorized_client') &&
      (event.type === 'client.approved' || event.type === 'client.enabled'))

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

const refusedStep = ({ time, type, details }: EventRecord): RefusedStep => {
  const [expected, received] = [text(details.expected), text(details.received)]
  return {
    time,
    path: text(details.path) ?? text(details.endpoint) ?? '',
    reason:
      text(details.description) ?? (type === 'client.refused' ? 'the client secret or key is wrong' : ''),
    ...(expected !== undefined && received !== undefined && { expected, received }),
  }
}

/**
 * The steps that an app has completed, by the stored events about it.
 *
 * @param registeredAt in epoch seconds
 * @param events newest first; older ones may be missing
 * @example progressOf(client.createdAt, await listNewestEvents(database, { clientId }))
 */
export const progressOf = (registeredAt: number, events: readonly EventRecord[]): Progress => {
  const firstOf = (step: ProgressStep): number | undefined =>
    step === 'registered' ? registeredAt : events.findLast(shows[step])?.time
  const refused = events.find(({ type }) => refusals.includes(type))
  // Events of one second have no order: then the later step counts.
  const isNewest = refused !== undefined && refused.time > (events.find(ends(refused))?.time ?? 0)
  return {
    steps: progressSteps.map((step) => ({ step, time: firstOf(step) })),
    ...(isNewest && { refused: refusedStep(refused) }),
  }
}
