import { codeFlow, startSession, tokensOf } from '../load/authorization.ts'
import { basic, expect, send } from '../load/http.ts'
import { clientIdOf, type Prepare, urlOf } from '../load/worker.ts'
import { secret } from '../registrations.ts'

/** A refresh with rotation; the new refresh token is used for the next one. */
export const refreshToken: Prepare = async (worker) => {
  let { refreshToken } = await codeFlow(worker, await startSession(worker))
  const headers = basic(clientIdOf(worker), secret)
  return async () => {
    const form = { grant_type: 'refresh_token', refresh_token: refreshToken }
    const answer = await send(worker.agent, urlOf(worker, 'token'), { method: 'POST', headers, form })
    const tokens = tokensOf(worker, answer)
    expect(tokens.refreshToken !== refreshToken, 'refresh_token was not rotated', answer)
    refreshToken = tokens.refreshToken
  }
}
