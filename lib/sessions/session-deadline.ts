import type { Response } from 'express'

/** Milliseconds that a session store may take to answer; as many as the database. */
const timeoutMs = 5000

const silence = (): Error => new Error(`the session store did not answer within ${timeoutMs} ms`)

/**
 * Hands on what a store says, once, whatever it does: it may call back twice, throw, or never answer at all.
 *
 * @param start asks the store
 * @param done hears the error, if there is one
 */
export const inTime = (
  start: (answered: (error?: unknown) => void) => unknown,
  done: (error?: unknown) => void,
): void => {
  let isSettled = false
  const settle = (error?: unknown): void => {
    if (isSettled) return
    isSettled = true
    clearTimeout(timer)
    done(error ?? undefined)
  }
  const timer = setTimeout(() => settle(silence()), timeoutMs)
  try {
    start(settle)
  } catch (error) {
    settle(error)
  }
}

/**
 * express-session holds back the end of an answer until the session is stored. Where the store has gone silent since it
 * gave the session, the connection is closed: a browser says so, instead of waiting for ever.
 */
export const endInTime = (res: Response, onLate: (error: Error) => void): void => {
  const { end } = res
  const endAsBefore = (...parameters: unknown[]): Response => {
    const timer = setTimeout(() => {
      if (res.writableEnded) return
      onLate(silence())
      res.destroy()
    }, timeoutMs)
    res.once('close', () => clearTimeout(timer))
    return Reflect.apply(end, res, parameters)
  }
  res.end = endAsBefore as typeof end
}
