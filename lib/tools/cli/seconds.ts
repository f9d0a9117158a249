import { type Invocation, UsageError } from '../command.ts'

const day = 86_400

/**
 * An option that is a number of seconds.
 *
 * @returns a day if it is absent
 * @throws UsageError for anything but a whole number
 */
export const secondsOption = (invocation: Invocation, option: string): number => {
  const given = invocation.text(option) ?? String(day)
  if (!/^\d{1,9}$/.test(given)) throw new UsageError(`--${option} must be a whole number of seconds`)
  return Number(given)
}
