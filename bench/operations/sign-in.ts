import { setTimeout as wait } from 'node:timers/promises'
import { signInAnew } from '../load/authorization.ts'
import { expect } from '../load/http.ts'
import type { Prepare } from '../load/worker.ts'

/** A sign-in with a password. After a 503 it tries again, five seconds later as `Retry-After` says. */
export const signIn: Prepare = async (worker) => async () => {
  for (let attempt = 1; ; attempt += 1) {
    const end = await signInAnew(worker)
    if (end.status === 0) return
    expect(end.status === 503 && attempt < 20, 'status of a sign-in', end)
    await wait(5000)
  }
}
