import { createInterface } from 'node:readline'
import { text as textOf } from 'node:stream/consumers'
import { styleText } from 'node:util'
import { Cancelled } from './command.ts'

type Style = Parameters<typeof styleText>[0]

/** Adds a style if the stream is a terminal with colours; `NO_COLOR` turns it off. */
const styled = (stream: NodeJS.WriteStream, style: Style, text: string): string =>
  stream.isTTY && stream.hasColors() ? styleText(style, text) : text

/** A heading for {@link print}. */
export const heading = (text: string): string => styled(process.stdout, 'bold', text)

/** Writes a result to standard output. */
export const print = (text: string): void => void process.stdout.write(`${text}\n`)

/** Writes a note to standard error, which scripts that read the result do not see. */
export const note = (text: string): void => void process.stderr.write(`${text}\n`)

/** Writes an error. */
export const printError = (text: string): void =>
  note(`${styled(process.stderr, 'red', 'latchkey:')} ${text}`)

/** Lines of columns, each as wide as its widest cell. */
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

/** Standard input, without the line break at its end. */
export const readInput = async (): Promise<string> => (await textOf(process.stdin)).replace(/\r?\n$/, '')

/** Whether the process runs at a terminal. */
export const isInteractive = (): boolean => process.stdin.isTTY === true

/**
 * Asks for a value that must not appear on the screen.
 *
 * @throws Cancelled at Ctrl-C or the end of input
 */
export const askInSilence = (question: string): Promise<string> =>
  new Promise((resolve, reject) => {
    // Readline turns off the terminal's echo, and writes nothing itself without an output.
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

/** A secret: asked for at a terminal, else read from standard input. */
export const readSecret = (question: string): Promise<string> =>
  isInteractive() ? askInSilence(question) : readInput()
