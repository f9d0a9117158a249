import { authenticationCode, isEqual } from './secrets.ts'

/** Seconds by which the clocks of the operator and the server may differ. */
const tolerance = 300

const codeFor = (secret: string, time: string): string => authenticationCode(secret, 'operator', [time])

/**
 * Proves that a request comes from someone who has the secret of the server.
 *
 * @param time epoch seconds
 */
export const createOperatorCode = (secret: string, time: number): string =>
  `${time}.${codeFor(secret, String(time))}`

/** Whether a code was made with one of these secrets, at most five minutes before or after `now`. */
export const isOperatorCode = (code: string, secrets: readonly string[], now: number): boolean => {
  const [time = '', proof = ''] = code.split('.')
  return (
    Math.abs(Number(time) - now) <= tolerance &&
    secrets.some((secret) => isEqual(proof, codeFor(secret, time)))
  )
}
