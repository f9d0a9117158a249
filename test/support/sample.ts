/** Whether every test runs with every case, as in `npm run test:all`. */
export const testsAll = process.env.TEST_ALL === '1'

/**
 * Some of the cases of an expensive test, always the same ones, evenly spread; with TEST_ALL=1 all.
 *
 * @param count how many of them
 * @example describe.each(sampleOf(modes, 1))('%s', (…) => { … })
 */
export const sampleOf = <T>(cases: readonly T[], count: number): readonly T[] =>
  testsAll || count >= cases.length
    ? cases
    : Array.from({ length: count }, (_, index) => cases[Math.floor((index * cases.length) / count)]!)
