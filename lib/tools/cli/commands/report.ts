import { type Assessed, assess } from '../../assessment/requirements.ts'
import type { Command } from '../../command.ts'
import { loadOptions } from '../config.ts'
import { print, printJson, printNote, titledTable } from '../terminal.ts'

const titles = ['document', 'number', 'requirement', 'state', 'setting or proof']

const cellsOf = (row: Assessed): string[] => [
  row.document,
  row.number,
  row.requirement,
  row.state,
  row.reason,
]

const markdownRow = (cells: readonly string[]): string =>
  `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`

const counted = (rows: readonly Assessed[]): string =>
  (['met', 'by configuration', 'host', 'not met'] as const)
    .map((state) => `${state}: ${rows.filter((row) => row.state === state).length}`)
    .join(', ')

/** `latchkey report` */
export const reportCommand: Command = {
  name: 'report',
  summary: 'compares the configuration with security standards',
  details: 'It reads the options only: no database and no running server. A report is no certification.',
  options: { json: { help: 'print JSON' }, markdown: { help: 'print a table in Markdown' } },
  example: 'latchkey report --markdown',
  async runAlone(invocation) {
    const { options } = await loadOptions(invocation.text('config'), {})
    const rows = assess(options)
    if (invocation.flag('json')) return printJson(rows)
    if (invocation.flag('markdown'))
      print(markdownRow(titles), markdownRow(titles.map(() => '---')), ...rows.map(cellsOf).map(markdownRow))
    else print(...titledTable([titles, ...rows.map(cellsOf)]))
    printNote(counted(rows))
  },
}
