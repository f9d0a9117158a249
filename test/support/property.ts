import fc from 'fast-check'
import { testSeed } from './fault-chance.ts'
import { testsAll } from './sample.ts'

// Each commit tries other examples, and the same ones each time.
fc.configureGlobal({ seed: testSeed })

export { fc }

/** How many examples a property gets: this many, and three times as many with TEST_ALL=1. */
export const runs = (count: number): number => (testsAll ? 3 * count : count)
