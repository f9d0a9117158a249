import { basic, expect, jsonOf, send } from '../load/http.ts'
import { clientIdOf, type Prepare, urlOf } from '../load/worker.ts'
import { secret } from '../registrations.ts'

/** A token for the client itself. */
export const clientCredentials: Prepare = async (worker) => {
  const headers = basic(clientIdOf(worker), secret)
  const form = { grant_type: 'client_credentials', scope: 'notes:read' }
  return async () => {
    const answer = await send(worker.agent, urlOf(worker, 'token'), { method: 'POST', headers, form })
    const { access_token, token_type, expires_in, scope } = jsonOf(answer)
    expect(typeof access_token === 'string' && access_token.length >= 32, 'access_token', answer)
    expect(token_type === 'Bearer', 'token_type', answer)
    expect(Number(expires_in) > 3500, 'expires_in', answer)
    expect(scope === 'notes:read' || !worker.contestant.openid, 'scope', answer)
  }
}
