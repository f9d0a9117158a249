// The table of docs/mcp-clients.md: what each host did when the lab ran it last.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The steps of the table, in order, with their headings. */
export const steps = {
  login: 'logs in, calls',
  refresh: 'refreshes',
  write: 'writes',
  two: 'two at once',
  restart: 'server restarts',
  removed: 'removed, connects again',
  deleted: 'registration gone',
  more: 'without `ask`',
} as const

export type Step = keyof typeof steps

/** What a host did, by its name. */
export type Results = Readonly<
  Record<
    string,
    {
      readonly version: string
      readonly date: string
      readonly passed: Partial<Record<Step, boolean | undefined>>
    }
  >
>

const file = join(__dirname, 'results.json')
const page = join(__dirname, '../../docs/mcp-clients.md')
const [begin, end] = ['<!-- hosts: written by npm run test:mcp-hosts -->', '<!-- end of hosts -->']

export const readResults = (): Results => JSON.parse(readFileSync(file, 'utf8'))

/** @param faults the client's own fault where it did not pass, by name and step */
export const tableOf = (
  results: Results,
  faults: Readonly<Record<string, Partial<Record<Step, string>>>>,
): string => {
  const notes: string[] = []
  const cell = (name: string, step: Step, passed: boolean | undefined): string => {
    if (passed === undefined) return '–'
    if (passed) return '✓'
    const fault = faults[name]?.[step]
    if (fault === undefined) return '✗'
    if (!notes.includes(fault)) notes.push(fault)
    return `✗ (${notes.indexOf(fault) + 1})`
  }
  const columns = Object.keys(steps) as Step[]
  const rows = Object.entries(results).map(([name, { version, date, passed }]) =>
    [`${name} ${version}`, ...columns.map((step) => cell(name, step, passed[step])), date].join(' | '),
  )
  const head = ['client', ...Object.values(steps), 'tried on'].join(' | ')
  return [
    `| ${head} |`,
    `|${'---|'.repeat(columns.length + 2)}`,
    ...rows.map((row) => `| ${row} |`),
    ...(notes.length > 0 ? ['', ...notes.map((note, index) => `${index + 1}. ${note}`)] : []),
  ].join('\n')
}

/** The table as the page has it now. */
export const tableOfPage = (): string => {
  const text = readFileSync(page, 'utf8')
  return text.slice(text.indexOf(begin) + begin.length, text.indexOf(end)).trim()
}

/**
 * Keeps what a host did, beside what the same version did at other steps, and writes the table.
 * @param faults of every host of the lab, in the order of the table
 */
export const keep = (name: string, result: Results[string], faults: Parameters<typeof tableOf>[1]): void => {
  const earlier = readResults()
  const same = earlier[name]?.version === result.version ? earlier[name].passed : {}
  const known: Results = { ...earlier, [name]: { ...result, passed: { ...same, ...result.passed } } }
  const all: Results = Object.fromEntries(
    Object.keys(faults).flatMap((name) => (known[name] ? [[name, known[name]]] : [])),
  )
  writeFileSync(file, `${JSON.stringify(all, null, 2)}\n`)
  const text = readFileSync(page, 'utf8')
  const [before = '', rest = ''] = text.split(begin)
  const [, after = ''] = rest.split(end)
  writeFileSync(page, `${before}${begin}\n\n${tableOf(all, faults)}\n\n${end}${after}`)
}
