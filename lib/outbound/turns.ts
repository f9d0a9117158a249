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

/** The most pieces of work at one time. */
export interface AtOnce {
  readonly all: number
  readonly perHost: number
  readonly perCause: number
}

/** The host that is asked, and the cause of the work. */
export interface Turn {
  readonly host: string
  readonly cause: string
}

/** Runs work when its turn comes. */
export type TakeTurn = <Result>(
  turn: Turn,
  signal: AbortSignal,
  work: () => Promise<Result>,
) => Promise<Result>

/** The share of one kind of work. */
interface Share {
  readonly key: string
  readonly max: number
}

interface Waiting {
  readonly shares: readonly Share[]
  /** The key of who causes it. */
  readonly cause: string
  begin(): void
}

/**
 * Lets only so many pieces of work run at one time. The others wait until their signal is aborted. Who has the fewest running
 * comes first, so that causing many requests delays only their cause; then they come in their order.
 */
export const createTurns = ({ all, perHost, perCause }: AtOnce): TakeTurn => {
  const running = new Map<string, number>()
  const waiting = new Set<Waiting>()

  const runningOf = (key: string): number => running.get(key) ?? 0
  const isOpen = (shares: readonly Share[]): boolean => shares.every(({ key, max }) => runningOf(key) < max)
  const enter = (shares: readonly Share[]): void => {
    for (const { key } of shares) running.set(key, runningOf(key) + 1)
  }

  const next = (): Waiting | undefined => {
    let first: Waiting | undefined
    for (const one of waiting) {
      const isBefore = first === undefined || runningOf(one.cause) < runningOf(first.cause)
      if (isBefore && isOpen(one.shares)) first = one
    }
    return first
  }

  const leave = (shares: readonly Share[]): void => {
    for (const { key } of shares) {
      if (runningOf(key) > 1) running.set(key, runningOf(key) - 1)
      else running.delete(key)
    }
    for (let one = next(); one !== undefined; one = next()) {
      waiting.delete(one)
      enter(one.shares)
      one.begin()
    }
  }

  const waitFor = async (shares: readonly Share[], cause: string, signal: AbortSignal): Promise<void> => {
    let begin = (): void => {}
    const turn = new Promise<void>((resolve) => {
      begin = resolve
    })
    const one = { shares, cause, begin }
    waiting.add(one)
    try {
      await beforeEnd(signal, turn)
    } catch (error) {
      // The turn may have come in the same moment.
      if (!waiting.delete(one)) leave(shares)
      throw error
    }
  }

  return async (turn, signal, work) => {
    const cause = `cause ${turn.cause}`
    const shares = [
      { key: 'all', max: all },
      { key: `host ${turn.host}`, max: perHost },
      { key: cause, max: perCause },
    ]
    if (isOpen(shares)) enter(shares)
    else await waitFor(shares, cause, signal)
    try {
      return await work()
    } finally {
      leave(shares)
    }
  }
}
