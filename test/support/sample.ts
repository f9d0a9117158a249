import { faultSeed } from './fault-chance.ts'

/** Whether every test runs with every case, as before a release, and not a sample of what is expensive. */
export const testsAll = process.env.TEST_ALL === '1'

/**
 * Some of the cases of an expensive test: each day the next ones, so that a few days try all of them; with TEST_ALL=1 all.
 *
 * @param count how many of them on one day
 * @example describe.each(ofToday(modes, 1))('%s', (…) => { … })
 */
export const ofToday = <T>(cases: readonly T[], count: number): readonly T[] =>
  testsAll || count >= cases.length
    ? cases
    : Array.from({ length: count }, (_, index) => cases[(faultSeed * count + index) % cases.length]!)
