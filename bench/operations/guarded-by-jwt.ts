import { basic, expect, jsonOf, send } from '../load/http.ts'
import { clientIdOf, type Prepare, urlOf } from '../load/worker.ts'
import { secret } from '../registrations.ts'

/** A route of the host's API that requires a JWT access token. */
export const guardedByJwt: Prepare = async (worker) => {
  const form = { grant_type: 'client_credentials', resource: 'https://api.example.com/notes' }
  const credentials = basic(clientIdOf(worker), secret)
  const granted = await send(worker.agent, urlOf(worker, 'jwtToken'), {
    method: 'POST',
    headers: credentials,
    form,
  })
  const headers = { authorization: `Bearer ${jsonOf(granted).access_token}` }
  return async () => {
    const answer = await send(worker.agent, urlOf(worker, 'guardedByJwt'), { headers })
    expect(jsonOf(answer).client === clientIdOf(worker), 'client', answer)
  }
}
