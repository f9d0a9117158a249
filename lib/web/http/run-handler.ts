import type { ServerResponse } from 'node:http'
import { inspect } from 'node:util'
import { HostError } from '../../protocol/problem.ts'
import { UnsentError } from './send.ts'

/** Express continues with the next handler for `undefined` and some strings. */
const asError = (thrown: unknown): Error =>
  thrown instanceof Error ? thrown : new HostError('a request could not be answered', { cause: thrown })

const giveUp = (res: ServerResponse, next: (error: Error) => void, thrown: unknown): void => {
  if (!res.headersSent && !(thrown instanceof UnsentError)) next(asError(thrown))
  // An answer that the host has sent in the meantime is complete.
  else if (!res.writableEnded) res.destroy()
}

/**
 * Runs what answers a request. All our handlers run here, so that no failure ends the process. A failure goes to the host's error
 * handlers. If these could not answer either, because an answer has begun or a hook refuses every answer, the connection closes.
 *
 * @param next the middleware's `next`
 * @param handler answers, and renders its own errors if it can
 * @example (req, res, next) => runHandler(res, next, async () => sendJson(res, await find(req)))
 */
export const runHandler = (
  res: ServerResponse,
  next: (error: Error) => void,
  handler: () => Promise<void>,
): void => {
  handler()
    .catch((thrown: unknown) => giveUp(res, next, thrown))
    .catch((thrown: unknown) => {
      res.destroy()
      process.emitWarning(`latchkey: the app could not handle an error: ${inspect(thrown)}`)
    })
}
