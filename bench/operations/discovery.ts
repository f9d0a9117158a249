import { expect, jsonOf, send } from '../load/http.ts'
import { type Prepare, urlOf } from '../load/worker.ts'

/** The server's metadata. */
export const discovery: Prepare = async (worker) => async () => {
  const answer = await send(worker.agent, urlOf(worker, 'discovery'))
  const { issuer, authorization_endpoint } = jsonOf(answer)
  expect(String(issuer).startsWith(worker.base), 'issuer', answer)
  expect(authorization_endpoint === urlOf(worker, 'authorize'), 'authorization_endpoint', answer)
}
