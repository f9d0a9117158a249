import { createInterface } from 'node:readline'
import { text as textOf } from 'node:stream/consumers'
import { styleText } from 'node:util'
import { Cancelled } from '../command.ts'

type Style = Parameters<typeof styleText>[0]

/** Styles the text if the stream is a terminal with colours; `NO_COLOR` turns them off. */
export const styled = (stream: NodeJS.WriteStream, style: Style, text: string): string =>
  stream.isTTY && stream.hasColors() ? styleText(style, text) : text

/** A heading for {@link print}. */
export const heading = (text: string): string => styled(process.stdout, 'bold', text)

/** Writes a result to standard output. */
export const print = (text: string): void => void process.stdout.write(`${text}\n`)

/** Writes a note to standard error, where it does not mix with the result. */
export const note = (text: string): void => void process.stderr.write(`${text}\n`)

/** Writes an error message to standard error. */
export const printError = (text: string): void =>
  note(`${styled(process.stderr, 'red', 'latchkey:')} ${text}`)

/** Formats rows as columns, each as wide as its widest cell. */
export const table = (rows: readonly (readonly string[])[]): string => {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** Formats rows as columns below their names, which are the first row. */
export const titledTable = (rows: readonly (readonly string[])[]): string => {
  const [title = '', ...lines] = table(rows).split('\n')
  return [heading(title), ...lines].join('\n')
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
