import { codeFlow, startSession } from '../load/authorization.ts'
import type { Prepare } from '../load/worker.ts'

/** Authorization request and token request, with an existing login and consent. */
export const authorizationCode: Prepare = async (worker) => {
  const cookie = await startSession(worker)
  return async () => {
    await codeFlow(worker, cookie)
  }
}
