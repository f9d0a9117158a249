/**
 * The result of work, or a rejection as soon as the signal is aborted, whatever becomes of the work.
 *
 * @throws the reason of the signal
 */
export const beforeEnd = async <Result>(signal: AbortSignal, work: Promise<Result>): Promise<Result> => {
  let end: (() => void) | undefined
  const ended = new Promise<never>((_resolve, reject) => {
    end = () => reject(signal.reason)
    if (signal.aborted) end()
    else signal.addEventListener('abort', end)
  })
  try {
    return await Promise.race([work, ended])
  } finally {
    if (end) signal.removeEventListener('abort', end)
  }
}

/** Runs work when its turn comes. */
export type TakeTurn = <Result>(
  key: string,
  signal: AbortSignal,
  work: () => Promise<Result>,
) => Promise<Result>

interface Line {
  running: number
  readonly waiting: Set<() => void>
}

/**
 * Lets at most this many pieces of work with one key run at one time. The others wait in their order, until their signal is
 * aborted.
 */
export const createTurns = (max: number): TakeTurn => {
  const lines = new Map<string, Line>()

  const leave = (key: string, line: Line): void => {
    const [next] = line.waiting
    if (next) {
      line.waiting.delete(next)
      next()
    } else {
      line.running -= 1
      if (line.running === 0) lines.delete(key)
    }
  }

  return async (key, signal, work) => {
    const line = lines.get(key) ?? { running: 0, waiting: new Set() }
    lines.set(key, line)
    if (line.running < max) {
      line.running += 1
    } else {
      let begin = (): void => {}
      const turn = new Promise<void>((resolve) => {
        begin = resolve
      })
      line.waiting.add(begin)
      try {
        await beforeEnd(signal, turn)
      } catch (error) {
        // The turn may have come in the same moment.
        if (!line.waiting.delete(begin)) leave(key, line)
        throw error
      }
    }
    try {
      return await work()
    } finally {
      leave(key, line)
    }
  }
}
