import { expect, jsonOf, send } from '../load/http.ts'
import { type Prepare, urlOf } from '../load/worker.ts'

/** The server's public keys. */
export const keySet: Prepare = async (worker) => async () => {
  const answer = await send(worker.agent, urlOf(worker, 'jwks'))
  expect(Array.isArray(jsonOf(answer).keys), 'keys', answer)
}
