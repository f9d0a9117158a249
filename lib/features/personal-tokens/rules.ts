/** Seconds. */
export const day = 86_400
/** Characters of the name of a token. */
const maxName = 60

/**
 * The name of a personal access token, as its user typed it.
 *
 * @returns undefined unless it has 1 to 60 visible characters
 */
export const parseTokenName = (typed: string): string | undefined => {
  const name = typed.normalize('NFC').trim()
  return name !== '' && [...name].length <= maxName && !/[\p{C}\p{Zl}\p{Zp}]/u.test(name) ? name : undefined
}

/**
 * A number of days, as the form offers it.
 *
 * @returns undefined unless it is a whole number from 1 to `max`
 */
export const parseTokenDays = (typed: string, max: number): number | undefined => {
  const days = /^[0-9]{1,4}$/.test(typed) ? Number(typed) : 0
  return days >= 1 && days <= max ? days : undefined
}

/** The date in UTC that is so many days after a time, as `<input type="date">` has it. */
export const dateAfter = (now: number, days: number): string =>
  new Date((now + days * day) * 1000).toISOString().slice(0, 10)

/**
 * The days from today to a date, as `<input type="date">` sends it. Both are days in UTC.
 *
 * @param now epoch seconds
 * @returns undefined unless the date is 1 to `max` days from now
 * @example parseTokenDate('2026-12-23', { now, max: 365 }) // 30, on November 23
 */
export const parseTokenDate = (
  typed: string,
  { now, max }: { readonly now: number; readonly max: number },
): number | undefined => {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(typed)) return undefined
  const days = Math.round((Date.parse(typed) / 1000 - (now - (now % day))) / day)
  return days >= 1 && days <= max && dateAfter(now, days) === typed ? days : undefined
}
