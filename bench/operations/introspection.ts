import { codeFlow, startSession } from '../load/authorization.ts'
import { basic, expect, jsonOf, send } from '../load/http.ts'
import { clientIdOf, type Prepare, urlOf } from '../load/worker.ts'
import { scope, secret } from '../registrations.ts'

/** Introspection of the client's own access token. */
export const introspection: Prepare = async (worker) => {
  const { accessToken } = await codeFlow(worker, await startSession(worker))
  const headers = basic(clientIdOf(worker), secret)
  const form = { token: accessToken }
  return async () => {
    const answer = await send(worker.agent, urlOf(worker, 'introspect'), { method: 'POST', headers, form })
    const body = jsonOf(answer)
    expect(body.active === true, 'active', answer)
    expect(body.client_id === clientIdOf(worker), 'client_id', answer)
    expect(body.sub === String(worker.person.id), 'sub', answer)
    expect(body.scope === scope, 'scope', answer)
    expect(typeof body.exp === 'number', 'exp', answer)
  }
}
