import fc from 'fast-check'
import { testsAll } from './sample.ts'

// The same examples each time, so that only a change of the code makes a property fail; another seed finds others.
fc.configureGlobal({ seed: Number(process.env.PROPERTY_SEED ?? 20_261_121) })

export { fc }

/** How many examples a property gets: this many, and ten times as many with TEST_ALL=1. */
export const runs = (count: number): number => (testsAll ? 10 * count : count)
