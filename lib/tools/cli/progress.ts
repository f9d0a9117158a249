import { visible } from '../../protocol/foreign-text.ts'

/** Where progress is shown: standard error. */
interface Screen {
  readonly isTTY?: boolean
  readonly columns?: number
  write(text: string): unknown
}

interface Surroundings {
  readonly screen?: Screen
  /** Milliseconds of a clock that only goes forward. */
  readonly clock?: () => number
}

/** Milliseconds between texts; elsewhere than on a terminal also before the first. */
const pauseOnTerminal = 100
const pauseElsewhere = 10_000

const startOfLine = '\r'
const eraseLine = '\r\u001B[K'

/** Reports progress. Call it at each step. */
export type Say = (text: string) => void

/**
 * Shows how far long work is, without colours: on a terminal in one line, which is gone when the work ends; elsewhere in
 * a line every ten seconds, so that short work shows nothing.
 *
 * @param work gets a function that says how far it is
 */
export const withProgress = async <T>(
  work: (say: Say) => Promise<T>,
  { screen = process.stderr, clock = () => performance.now() }: Surroundings = {},
): Promise<T> => {
  // A dumb terminal cannot erase.
  const isTerminal = screen.isTTY === true && process.env.TERM !== 'dumb'
  const pause = isTerminal ? pauseOnTerminal : pauseElsewhere
  let [last, isShown] = [isTerminal ? Number.NEGATIVE_INFINITY : clock(), false]
  const say: Say = (text) => {
    if (clock() - last < pause) return
    last = clock()
    isShown = true
    const line = visible(text).slice(0, (screen.columns || 80) - 1)
    screen.write(isTerminal ? `${eraseLine}${line}${startOfLine}` : `${visible(text)}\n`)
  }
  try {
    return await work(say)
  } finally {
    if (isTerminal && isShown) screen.write(eraseLine)
  }
}
