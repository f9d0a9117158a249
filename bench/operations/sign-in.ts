import { signInAnew } from '../load/authorization.ts'
import { expect } from '../load/http.ts'
import type { Prepare } from '../load/worker.ts'

/** A whole sign-in with a password; whoever comes when too many wait is told to try again. */
export const signIn: Prepare = async (worker) => async () => {
  const { status, html } = await signInAnew(worker)
  expect(status === 0 || status === 503, 'status of a sign-in', { status, headers: {}, text: html })
}
