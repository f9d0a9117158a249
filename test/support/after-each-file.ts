import { secretsTold, stopListening } from './told.ts'

// Runs in every test file: whatever it was about, nothing it logged, announced or showed as an error holds a secret.
afterAll(() => {
  stopListening()
  expect(secretsTold()).toEqual([])
})
