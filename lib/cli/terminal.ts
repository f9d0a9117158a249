import { createInterface } from 'node:readline'
import { text as textOf } from 'node:stream/consumers'
import { styleText } from 'node:util'
import { Cancelled } from './command.ts'

type Style = Parameters<typeof styleText>[0]

/** Styled where the stream is a terminal that shows colours; `NO_COLOR` turns them off. */
const styled = (stream: NodeJS.WriteStream, style: Style, text: string): string =>
  stream.isTTY && stream.hasColors() ? styleText(style, text) : text

/** A heading of what {@link print} writes. */
export const heading = (text: string): string => styled(process.stdout, 'bold', text)

/** Writes what was asked for. */
export const print = (text: string): void => void process.stdout.write(`${text}\n`)

/** Writes what a person should know beside it; a script that reads the result does not see it. */
export const note = (text: string): void => void process.stderr.write(`${text}\n`)

/** Writes what went wrong. */
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

/** Whatever is piped in, without the line break at its end. */
export const readInput = async (): Promise<string> => (await textOf(process.stdin)).replace(/\r?\n$/, '')

/** Whether somebody sits there to be asked. */
export const isInteractive = (): boolean => process.stdin.isTTY === true

/**
 * Asks for something that must not appear on the screen.
 *
 * @throws Cancelled at Ctrl-C or the end of input
 */
export const askInSilence = (question: string): Promise<string> =>
  new Promise((resolve, reject) => {
    // Readline turns the terminal's own echo off; without an output it writes none of its own.
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

/** Something secret: asked for where somebody sits, else whatever is piped in. */
export const readSecret = (question: string): Promise<string> =>
  isInteractive() ? askInSilence(question) : readInput()
