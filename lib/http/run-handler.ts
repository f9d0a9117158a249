import type { ServerResponse } from 'node:http'
import { inspect } from 'node:util'
import { UnsentError } from './send.ts'

/** Express takes undefined and some strings for a way on. */
const asError = (thrown: unknown): Error =>
  thrown instanceof Error ? thrown : new Error('latchkey: a request could not be answered', { cause: thrown })

const giveUp = (res: ServerResponse, next: (error: Error) => void, thrown: unknown): void => {
  if (!res.headersSent && !(thrown instanceof UnsentError)) next(asError(thrown))
  // What the host has answered in the meantime is complete.
  else if (!res.writableEnded) res.destroy()
}

/**
 * Runs what answers a request. Each of our handlers runs through here, so that no failure ends the process: it goes to the
 * error handlers of the host. Where these could not answer either, because an answer has begun or a hook refuses every one,
 * the connection is closed.
 *
 * @param next of the middleware
 * @param handler renders its own errors, if it can
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
