import { createInterface } from 'node:readline'
import { text as textOf } from 'node:stream/consumers'
import { styleText } from 'node:util'
import { visible } from '../../protocol/foreign-text.ts'
import { Cancelled } from '../command.ts'

type Style = Parameters<typeof styleText>[0]

/** A line that begins with words in a style. */
export interface Line {
  readonly style: Style
  readonly words: string
  readonly rest: string
}

export const styled = (style: Style, words: string, rest = ''): Line => ({ style, words, rest })

/** A heading for {@link print}, and what follows in its line. */
export const heading = (words: string, rest?: string): Line => styled('bold', words, rest)

/** A line as the stream gets it: with colours on a terminal that has them, unless `NO_COLOR` turns them off. */
const shown = (stream: NodeJS.WriteStream, line: string | Line): string => {
  if (typeof line === 'string') return visible(line)
  const words = visible(line.words)
  const hasColors = stream.isTTY && stream.hasColors()
  return (hasColors ? styleText(line.style, words) : words) + visible(line.rest)
}

/** The only way out: each text becomes one line without control characters, whatever it contains. */
const write = (stream: NodeJS.WriteStream, lines: readonly (string | Line)[]): void =>
  void stream.write(lines.map((line) => `${shown(stream, line)}\n`).join(''))

/** Writes lines of a result to standard output. */
export const print = (...lines: readonly (string | Line)[]): void => write(process.stdout, lines)

/** Writes a result as JSON, of several lines. */
export const printJson = (value: unknown): void => print(...JSON.stringify(value, null, 2).split('\n'))

/** Writes notes to standard error, where they do not mix with the result. */
export const printNote = (...lines: readonly (string | Line)[]): void => write(process.stderr, lines)

/** Writes an error message to standard error. Only its first line begins at the margin. */
export const printError = (text: string): void => {
  const [first = '', ...others] = text.split('\n')
  printNote(styled('red', 'latchkey:', ` ${first}`), ...others.map((line) => `  ${line}`))
}

/** Formats rows as columns, each as wide as its widest cell. */
export const table = (rows: readonly (readonly string[])[]): string[] => {
  const cells = rows.map((row) => row.map(visible))
  const widths = (cells[0] ?? []).map((_, column) =>
    Math.max(...cells.map((row) => row[column]?.length ?? 0)),
  )
  return cells.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}

/** Formats rows as columns below their names, which are the first row. */
export const titledTable = (rows: readonly (readonly string[])[]): (string | Line)[] => {
  const [title = '', ...lines] = table(rows)
  return [heading(title), ...lines]
}

/** Reads standard input without the line break at its end. */
export const readInput = async (): Promise<string> => (await textOf(process.stdin)).replace(/\r?\n$/, '')

/** Whether standard input is a terminal. */
export const isInteractive = (): boolean => process.stdin.isTTY === true

/**
 * Asks for a secret without showing it on the screen.
 *
 * @throws Cancelled at Ctrl-C or the end of input
 */
export const askInSilence = (question: string): Promise<string> =>
  new Promise((resolve, reject) => {
    // Readline turns the terminal's echo off, and without an output it writes nothing itself.
    const reader = createInterface({ input: process.stdin, terminal: true, historySize: 0 })
    process.stderr.write(question)
    reader.once('line', (line) => {
      resolve(line)
      reader.close()
    })
    reader.once('close', () => {
      process.stderr.write('\n')
      reject(new Cancelled('cancelled'))
    })
  })

/** Reads a secret from the terminal, or from standard input if it is piped. */
export const readSecret = (question: string): Promise<string> =>
  isInteractive() ? askInSilence(question) : readInput()
