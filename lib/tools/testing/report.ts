/** An attack that succeeded, or that the app answered in a wrong way. */
export interface Finding {
  /** The attack's name. */
  readonly attack: string
  /** The right answer. */
  readonly expected: string
  /** One line for each wrong response, without tokens and codes. */
  readonly actual: string
  /** The section of the standard that requires it. */
  readonly source: string
  /** The remedy. */
  readonly remedy: string
}

/** The result of all attacks. As a string it is a useful message for a failing assertion. */
export interface AttackReport {
  /** Attacks that succeeded, or that the app answered in a wrong way. */
  readonly findings: readonly Finding[]
  /** Names of the attacks that failed, as they should. */
  readonly passed: readonly string[]
  /** Attacks that did not run, with the reason. */
  readonly skipped: readonly { readonly attack: string; readonly why: string }[]
  /** The report as text, with a remedy for each finding. */
  toString(): string
}

const indented = (label: string, text: string): string =>
  `   ${label.padEnd(9)} ${text.replaceAll('\n', `\n${' '.repeat(13)}`)}`

const paragraph = ({ attack, expected, actual, source, remedy }: Finding, number: number): string =>
  [
    `${number + 1}. ${attack}`,
    indented('expected', expected),
    indented('actual', actual),
    indented('source', source),
    indented('remedy', remedy),
  ].join('\n')

const counted = (count: number, one: string): string => `${count} ${one}${count === 1 ? '' : 's'}`

/** Creates a report. `toString` is not enumerable, so that reports compare by their findings. */
export const reportOf = (fields: Omit<AttackReport, 'toString'>): AttackReport => {
  const { findings, passed, skipped } = fields
  const text = (): string =>
    [
      `${counted(findings.length, 'finding')}; ${counted(passed.length, 'attack')} failed as they should; ${skipped.length} skipped`,
      ...findings.map(paragraph),
      ...skipped.map(({ attack, why }) => `skipped: ${attack}: ${why}`),
    ].join('\n\n')
  return Object.defineProperty({ ...fields }, 'toString', { value: text })
}
