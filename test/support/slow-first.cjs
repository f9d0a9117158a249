const Sequencer = require('@jest/test-sequencer').default

/** What takes longest. Started last, one of these would run while the other workers have nothing left to do. */
const slow =
  /[/\\]test[/\\](browser|faults|recipes|package\.test|testing[/\\]attack\.test|example-app\.test|redis-sessions|pages[/\\]hostile-models)/

/** The order of jest, by the durations of the last run or by size, with the slow tests first. */
module.exports = class extends Sequencer {
  sort(tests) {
    const sorted = super.sort(tests)
    return [true, false].flatMap((first) => sorted.filter(({ path }) => slow.test(path) === first))
  }
}
