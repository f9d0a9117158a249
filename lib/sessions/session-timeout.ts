import type { Response } from 'express'
import { withTimeout } from '../database/timeout.ts'

/** Milliseconds that a session store may take; as many as the database. */
const timeoutMs = 5000

const noAnswer = (): Error => new Error(`the session store did not answer within ${timeoutMs} ms`)

/**
 * Waits for a session store. The store may call back twice, throw, or never answer.
 *
 * @param start calls the store
 * @throws the error that the store reports, or one after the timeout
 */
export const storeAnswer = (start: (done: (error?: unknown) => void) => unknown): Promise<void> => {
  const answer = new Promise<void>((resolve, reject) => {
    start((error) => (error ? reject(error) : resolve()))
  })
  return withTimeout(answer, timeoutMs, () => {
    throw noAnswer()
  })
}

/**
 * Closes the connection if the session store does not answer at the end of a response. express-session holds back the
 * end until the session is stored, so the browser would wait for ever.
 */
export const endInTime = (res: Response, onTimeout: (error: Error) => void): void => {
  const { end } = res
  const endWithTimeout = (...parameters: unknown[]): Response => {
    const timer = setTimeout(() => {
      if (res.writableEnded) return
      onTimeout(noAnswer())
      res.destroy()
    }, timeoutMs)
    res.once('close', () => clearTimeout(timer))
    return Reflect.apply(end, res, parameters)
  }
  res.end = endWithTimeout as typeof end
}
