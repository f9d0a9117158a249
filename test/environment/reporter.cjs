const { appendFileSync } = require('node:fs')
const { relative } = require('node:path')

/**
 * Prints how many tests passed, failed, were skipped and are flaky, and the seed. A flaky test failed and then passed; under CI
 * each failed test gets a second try, which tells the two apart. Either fails the run.
 */
module.exports = class {
  constructor({ rootDir }) {
    this.rootDir = rootDir
    this.flaky = []
  }

  onTestCaseResult({ path }, { status, invocations, fullName }) {
    if (status === 'passed' && invocations > 1)
      this.flaky.push(`${relative(this.rootDir, path)}: ${fullName}`)
  }

  onRunComplete(_, { numPassedTests, numFailedTests, numPendingTests, numRuntimeErrorTestSuites }) {
    const counts = {
      passed: numPassedTests - this.flaky.length,
      failed: numFailedTests + numRuntimeErrorTestSuites,
      skipped: numPendingTests,
      flaky: this.flaky.length,
    }
    const words = Object.entries(counts).map(([what, count]) => `${count} ${what}`)
    for (const name of this.flaky) console.log(`flaky: ${name}`)
    console.log(`\n${words.join(', ')}; TEST_SEED=${process.env.TEST_SEED} repeats the random tests`)
    if (process.env.TEST_COUNTS) appendFileSync(process.env.TEST_COUNTS, `${JSON.stringify(counts)}\n`)
  }

  getLastError() {
    if (this.flaky.length > 0) return new Error(`flaky tests: ${this.flaky.length}`)
  }
}
