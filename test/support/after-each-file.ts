import { closedAfterFile, secretsTold, stopListening } from './told.ts'

// Under CI a failed test gets a second try, which tells whether it is flaky; test/environment/reporter.cjs fails the run then.
if (process.env.CI === 'true') jest.retryTimes(1, { logErrorsBeforeRetry: true })

// Runs in every test file: what it logged, emitted or showed as an error contains no secret.
afterAll(async () => {
  // The last first, because routers use databases.
  for (const opened of closedAfterFile.reverse()) await opened.close()
  stopListening()
  expect(secretsTold()).toEqual([])
})
