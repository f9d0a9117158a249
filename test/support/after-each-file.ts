import { closedAfterFile, secretsTold, stopListening } from './told.ts'

// Runs in every test file: what it logged, emitted or showed as an error contains no secret.
afterAll(async () => {
  for (const router of closedAfterFile) await router.close()
  stopListening()
  expect(secretsTold()).toEqual([])
})
