import type { Connection } from './connections.ts'
import { connectionSteps, type StepName } from './steps.ts'

/** A step as pages and the command line show it. */
export interface ConnectionStep {
  readonly step: StepName
  readonly state: 'done' | 'failed' | 'missing' | 'unseen' | 'later'
  /** Epoch seconds of the last time; undefined if it was not seen. */
  readonly time: number | undefined
  /** How often it was seen. */
  readonly count: number
}

/** Steps that only some connections have. */
const optional: readonly StepName[] = ['refreshed', 'step-up', 'removed']

/**
 * Every step of a connection in order, with what is known of it. The first one that is missing or failed is marked.
 *
 * @example allSteps(connection).find(({ state }) => state === 'missing')
 */
export const allSteps = ({ steps, stop }: Connection): ConnectionStep[] => {
  const furthest = Math.max(
    stop === undefined ? -1 : connectionSteps.indexOf(stop.step),
    ...steps.filter(({ isFailure }) => !isFailure).map(({ step }) => connectionSteps.indexOf(step)),
  )
  return connectionSteps.flatMap((step, index): ConnectionStep[] => {
    const seen = steps.filter((each) => each.step === step)
    const time = seen.at(-1)?.event.time
    const count = seen.length
    if (stop?.step === step && stop.cause.name !== 'removed') {
      const isFailure = seen.some(({ event }) => event === stop.event)
      return [{ step, time, count, state: isFailure ? 'failed' : 'missing' }]
    }
    if (count > 0) return [{ step, time, count, state: 'done' }]
    if (optional.includes(step)) return []
    return [{ step, time, count, state: index < furthest ? 'unseen' : 'later' }]
  })
}

/** The names of steps, for people. */
export const stepNames: Readonly<Record<StepName, string>> = {
  challenge: 'Asked to sign in',
  'resource-document': 'Document about the resource',
  metadata: 'Metadata of this server',
  introduced: 'Registered',
  requested: 'Sign-in opened',
  'signed-in': 'Signed in',
  allowed: 'Allowed',
  code: 'Code sent',
  token: 'Token issued',
  called: 'First call',
  refreshed: 'Refreshed',
  'step-up': 'Asked for more',
  removed: 'Removed',
}
