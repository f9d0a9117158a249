import { setTimeout as wait } from 'node:timers/promises'
import { signInAnew } from '../load/authorization.ts'
import { expect } from '../load/http.ts'
import type { Prepare } from '../load/worker.ts'

/** A whole sign-in with a password; whoever is turned away comes again after the five seconds that the answer names. */
export const signIn: Prepare = async (worker) => async () => {
  for (let attempt = 1; ; attempt += 1) {
    const { status, html } = await signInAnew(worker)
    if (status === 0) return
    expect(status === 503 && attempt < 20, 'status of a sign-in', { status, headers: {}, text: html })
    await wait(5000)
  }
}
