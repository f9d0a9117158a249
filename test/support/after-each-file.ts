import { closedAfterFile, secretsTold, stopListening } from './told.ts'

// Runs in every test file: what it logged, emitted or showed as an error contains no secret.
afterAll(async () => {
  // The last first, because routers use databases.
  for (const opened of closedAfterFile.reverse()) await opened.close()
  stopListening()
  expect(secretsTold()).toEqual([])
})
