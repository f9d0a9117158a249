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
 * A number of days, as the user typed it.
 *
 * @returns undefined unless it is a whole number from 1 to `max`
 */
export const parseTokenDays = (typed: string, max: number): number | undefined => {
  const days = /^[0-9]{1,4}$/.test(typed) ? Number(typed) : 0
  return days >= 1 && days <= max ? days : undefined
}
