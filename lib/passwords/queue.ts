import { OAuthError } from '../protocol/errors.ts'

/** Runs a task when it is its turn. */
export type Queue = <T>(task: () => Promise<T>, isKnown: boolean) => Promise<T>

/**
 * Runs a few tasks at once. Those of known browsers wait apart from all others and every other turn is theirs, so that a
 * crowd of strangers can neither take their places nor hold them up.
 *
 * @param maxWaiting the most that wait, on each side
 * @returns a queue that throws OAuthError `temporarily_unavailable` if too many are waiting
 */
export const createQueue = (concurrency: number, maxWaiting: number): Queue => {
  const known: (() => void)[] = []
  const others: (() => void)[] = []
  let running = 0
  let isTurnOfKnown = true

  const next = (): (() => void) | undefined => {
    const [first, second] = isTurnOfKnown ? [known, others] : [others, known]
    isTurnOfKnown = !isTurnOfKnown
    return first.shift() ?? second.shift()
  }

  return async (task, isKnown) => {
    const waiting = isKnown ? known : others
    if (running < concurrency) {
      running += 1
    } else if (waiting.length < maxWaiting) {
      await new Promise<void>((resolve) => waiting.push(resolve))
    } else {
      throw new OAuthError('temporarily_unavailable', 'too many logins at once; try again in a moment', {
        headers: { 'Retry-After': '5' },
      })
    }
    try {
      return await task()
    } finally {
      // The next task takes over this slot directly; `running` stays the same.
      const start = next()
      if (start) start()
      else running -= 1
    }
  }
}
