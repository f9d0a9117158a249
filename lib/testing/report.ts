/** An attack that succeeded, or that the app did not answer as it must. */
export interface Finding {
  /** The attack's name. */
  readonly attack: string
  readonly expected: string
  /** One line for each answer that was wrong; tokens and codes are blacked out. */
  readonly came: string
  /** The section of the standard that asks for it. */
  readonly source: string
  /** What to do about it. */
  readonly remedy: string
}

/** What became of the attacks; as text it is what a failing assertion should show. */
export interface AttackReport {
  readonly findings: readonly Finding[]
  /** Names of attacks that failed, as they should. */
  readonly passed: readonly string[]
  readonly skipped: readonly { readonly attack: string; readonly why: string }[]
  toString(): string
}

const indented = (label: string, text: string): string =>
  `   ${label.padEnd(9)} ${text.replaceAll('\n', `\n${' '.repeat(13)}`)}`

const paragraph = ({ attack, expected, came, source, remedy }: Finding, number: number): string =>
  [
    `${number + 1}. ${attack}`,
    indented('expected', expected),
    indented('came', came),
    indented('source', source),
    indented('do', remedy),
  ].join('\n')

const counted = (count: number, one: string): string => `${count} ${one}${count === 1 ? '' : 's'}`

/** Puts a report together; `toString` is no field of it, so that two reports compare by what they found. */
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
