/** A string or an address stays as it is; a comment goes; other white space shrinks to what the syntax needs. */
const cssParts =
  /("(?:[^"\\]|\\.)*"|url\([^)]*\))|\/\*[^*]*\*+(?:[^/*][^*]*\*+)*\/\s*|\s*([{};,])\s*|(:)\s+|\s+/g

/**
 * A stylesheet of Latchkey without comments and needless white space.
 *
 * @example minifyCss('a {\n  color: red;\n}\n') // 'a{color:red}'
 */
export const minifyCss = (text: string): string =>
  text
    .replace(cssParts, (part, kept?: string, mark?: string, colon?: string) =>
      part.startsWith('/*') ? '' : (kept ?? mark ?? colon ?? ' '),
    )
    .replaceAll(';}', '}')
    .trim()

/** A script of Latchkey without indentation and comments, which have lines of their own. */
export const minifyScript = (text: string): string =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('//'))
    .join('\n')
