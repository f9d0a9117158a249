// Text that others wrote, where a program or a person reads it as more than text.

/** Characters that are not seen, or that change how a terminal shows the text around them. */
const unseen = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

const escaped = (character: string): string =>
  character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')

/**
 * One line for a terminal or a log. Line breaks, control characters and invisible ones become escapes, which JSON reads as
 * the same characters.
 *
 * @example visible('red \u001b[31m') // 'red \\u001b[31m'
 */
export const visible = (text: string): string => text.replace(unseen, escaped)

/**
 * A value as one word of a POSIX shell.
 *
 * @example shellWord('$(id)') // "'$(id)'"
 */
export const shellWord = (value: string): string =>
  /^[\w@%+=:,./-]+$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`
