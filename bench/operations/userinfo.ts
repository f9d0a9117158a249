import { codeFlow, startSession } from '../load/authorization.ts'
import { expect, jsonOf, send } from '../load/http.ts'
import { type Prepare, urlOf } from '../load/worker.ts'

/** The claims of a token's user. */
export const userinfo: Prepare = async (worker) => {
  const { accessToken } = await codeFlow(worker, await startSession(worker))
  const headers = { authorization: `Bearer ${accessToken}` }
  return async () => {
    const answer = await send(worker.agent, urlOf(worker, 'userinfo'), { headers })
    const { sub, name, email, email_verified } = jsonOf(answer)
    expect(sub === String(worker.person.id), 'sub', answer)
    expect(name === worker.person.full_name && email === worker.person.email, 'name and email', answer)
    expect(email_verified === true, 'email_verified', answer)
  }
}
