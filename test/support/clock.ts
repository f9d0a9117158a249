/** Latchkey's clock, which stands still until a test moves it. Only `Date.now` is replaced; timers run as usual. */
export interface Clock {
  /** Epoch seconds. */
  now(): number
  travel(seconds: number): void
}

/** Stops `Date.now`; `jest.restoreAllMocks()` in `afterEach` sets it going again. */
export const stopClock = (): Clock => {
  let time = Math.floor(Date.now() / 1000) * 1000
  jest.spyOn(Date, 'now').mockImplementation(() => time)
  return {
    now: () => time / 1000,
    travel: (seconds) => {
      time += seconds * 1000
    },
  }
}
