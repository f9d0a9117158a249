import { codeFlow, startSession } from '../load/authorization.ts'
import { expect, jsonOf, send } from '../load/http.ts'
import { type Prepare, urlOf } from '../load/worker.ts'

/** A route of the host's API that requires a token with a scope. */
export const guardedRoute: Prepare = async (worker) => {
  const { accessToken } = await codeFlow(worker, await startSession(worker))
  const headers = { authorization: `Bearer ${accessToken}` }
  return async () => {
    const answer = await send(worker.agent, urlOf(worker, 'guarded'), { headers })
    expect(jsonOf(answer).subject === String(worker.person.id), 'subject', answer)
  }
}
