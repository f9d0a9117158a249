/** Wakes what waits for work. */
export interface Bell {
  /** The number of times that it has rung. */
  count(): number
  ring(): void
  /** Waits until it has rung more often than that, for a time, or until the signal is aborted. */
  wait(count: number, milliseconds: number, signal: AbortSignal): Promise<void>
}

/**
 * Creates a bell. What rings between the last look and the wait is not lost.
 *
 * @example
 * const count = bell.count()
 * if (!(await work())) await bell.wait(count, 5000, signal)
 */
export const createBell = (): Bell => {
  const waiting = new Set<() => void>()
  let rung = 0
  return {
    count: () => rung,
    ring: () => {
      rung += 1
      for (const wake of waiting) wake()
    },
    wait: (count, milliseconds, signal) =>
      new Promise((resolve) => {
        if (count !== rung || signal.aborted) return resolve()
        const wake = (): void => {
          clearTimeout(timer)
          signal.removeEventListener('abort', wake)
          waiting.delete(wake)
          resolve()
        }
        // The timer does not keep the process alive.
        const timer = setTimeout(wake, milliseconds).unref()
        signal.addEventListener('abort', wake)
        waiting.add(wake)
      }),
  }
}
