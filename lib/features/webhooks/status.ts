import type { Database } from '../../storage/database/types.ts'
import type { WebhookEndpoints } from './option.ts'
import { type EndpointState, findBacklog, findNextAttempt, hasDeadLetter, listEndpoints } from './table.ts'

/** The state of a receiver, and its backlog. */
export interface EndpointStatus extends EndpointState {
  /** Without its path, which may hold a secret; undefined if the configuration has no such receiver any more. */
  readonly origin: string | undefined
  /** The number of events that wait. */
  readonly backlog: number
  /** Epoch seconds: when the first of them happened; null if none waits. */
  readonly oldest: number | null
  /** When an event is tried next, in epoch seconds; undefined if none waits. */
  readonly nextAt: number | undefined
  /** Whether an event was given up. */
  readonly hasDeadLetter: boolean
}

/**
 * The condition of a receiver. It is `down` if it did not answer the last attempt, or with 429 or 5xx, and it `refuses` if it
 * did not take the last event that it answered.
 */
export type EndpointCondition = 'ok' | 'down' | 'refuses' | 'disabled' | 'removed'

/** The condition of a receiver. */
export const conditionOf = ({
  origin,
  disabledAt,
  succeededAt,
  failedAt,
  refusedAt,
}: EndpointStatus): EndpointCondition => {
  if (origin === undefined) return 'removed'
  if (disabledAt !== null) return 'disabled'
  const [succeeded, refused] = [succeededAt ?? 0, refusedAt ?? 0]
  if ((failedAt ?? 0) > Math.max(succeeded, refused)) return 'down'
  return refused > succeeded ? 'refuses' : 'ok'
}

const unknown = {
  succeededAt: null,
  failedAt: null,
  failure: null,
  refusedAt: null,
  refusal: null,
  disabledAt: null,
}

/** The state of each receiver: those of the configuration, and others for which events wait. */
export const endpointStatuses = async (
  database: Database,
  endpoints: WebhookEndpoints,
): Promise<EndpointStatus[]> => {
  const stored = await listEndpoints(database, {})
  const names = [...new Set([...Object.keys(endpoints), ...stored.map(({ name }) => name)])].sort()
  const statuses = names.map(async (name) => {
    const { count: backlog, oldest } = await findBacklog(database, { endpoint: name })
    const known = stored.find((each) => each.name === name)
    return {
      ...unknown,
      ...known,
      name,
      origin: endpoints[name] && new URL(endpoints[name].url).origin,
      backlog,
      oldest,
      nextAt: backlog > 0 ? await findNextAttempt(database, { endpoint: name }) : undefined,
      hasDeadLetter: await hasDeadLetter(database, { endpoint: name }),
    }
  })
  const all = await Promise.all(statuses)
  return all.filter((each) => each.origin !== undefined || each.backlog > 0 || each.hasDeadLetter)
}
