import { EventEmitter, once } from 'node:events'

/** One call of a host's function that is held. */
interface Held {
  /** Settles when the call arrives. */
  readonly arrival: Promise<unknown>
  /** Lets it go on. */
  open(): void
}

/** Holds calls of a host's function until a test lets them go on. */
interface Gate {
  /** What the host's function awaits; without {@link hold} it goes on at once. */
  pass(): Promise<unknown>
  /** Holds the next call that is not held yet. */
  hold(): Held
}

export const createGate = (): Gate => {
  const expected: EventEmitter[] = []
  return {
    pass: async () => {
      const call = expected.shift()
      if (call === undefined) return
      const opened = once(call, 'opened')
      call.emit('arrived')
      await opened
    },
    hold: () => {
      const call = new EventEmitter()
      expected.push(call)
      return { arrival: once(call, 'arrived'), open: () => void call.emit('opened') }
    },
  }
}
