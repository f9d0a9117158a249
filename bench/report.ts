import { reference } from './contestants.ts'
import type { Operation } from './operations/index.ts'
import type { Rate } from './rates.ts'
import { megabytes, table } from './table.ts'

type Cell = (rate: Rate, of: readonly Rate[]) => string

const find = (rates: readonly Rate[], contestant: string): Rate | undefined =>
  rates.find((rate) => rate.contestant === contestant)

/** A server's rate divided by the reference's in the same run; NaN without the reference. */
export const ratioOf = (rate: Rate, rates: readonly Rate[]): number =>
  rate.rate / (find(rates, reference)?.rate ?? Number.NaN)

const grid = (operations: readonly Operation[], rates: readonly Rate[], cell: Cell): string => {
  const names = [...new Set(rates.map((rate) => rate.contestant))]
  const rows = operations.map(({ name }) => {
    const of = rates.filter((rate) => rate.operation === name)
    return [
      name,
      ...names.map((contestant) => {
        const rate = find(of, contestant)
        return rate ? cell(rate, of) : '–'
      }),
    ]
  })
  return table(['', ...names], rows)
}

const round = (value: number, digits = 0): string => (Number.isNaN(value) ? '–' : value.toFixed(digits))

/** Processor time of the reference divided by a server's own. */
const processorRatio = (rate: Rate, rates: readonly Rate[]): number =>
  (find(rates, reference)?.processor ?? Number.NaN) / rate.processor

const titles: readonly (readonly [string, Cell])[] = [
  [`rate ÷ ${reference}`, (rate, of) => round(ratioOf(rate, of), 2)],
  [`processor time of ${reference} ÷ own`, (rate, of) => round(processorRatio(rate, of), 2)],
  ['operations per second', (rate) => round(rate.rate)],
  ['µs of processor time of the server per operation', (rate) => round(rate.processor)],
  ['HTTP requests of one operation', (rate) => round(rate.requests, 1)],
  ['latency in ms, p50 / p99', (rate) => `${round(rate.p50, 1)} / ${round(rate.p99, 1)}`],
  ['peak RSS in MB until then', (rate) => megabytes(rate.peakResident)],
]

const ours = 'Latchkey + SQLite'
const others = [
  ['oidc-provider in memory', '÷ in memory'],
  ['oauth2-server + SQLite', '÷ oauth2-server'],
  ['oauth2-server, prepared', '÷ the same, prepared'],
  ['ceiling', '÷ ceiling'],
] as const

/** Compares Latchkey on SQLite with its goals, the peers and the ceiling. */
const standing = (operations: readonly Operation[], rates: readonly Rate[]): string => {
  const rows = operations.map(({ name, aim }) => {
    const of = rates.filter((rate) => rate.operation === name)
    const own = find(of, ours)
    const ratio = own ? ratioOf(own, of) : Number.NaN
    const over = (contestant: string): string =>
      own ? round(own.rate / (find(of, contestant)?.rate ?? Number.NaN), 2) : '–'
    const verdict = aim === undefined || Number.isNaN(ratio) ? '' : ratio >= aim ? 'reached' : 'missed'
    const rest = others.map(([contestant]) => over(contestant))
    return [name, round(ratio, 2), aim === undefined ? '–' : aim.toFixed(1), verdict, ...rest]
  })
  const head = [ours, `÷ ${reference}`, 'goal', '', ...others.map(([, title]) => title)]
  return table(head, rows)
}

/** The results of a run as Markdown. */
export const report = (operations: readonly Operation[], rates: readonly Rate[]): string =>
  [
    ...titles.map(([title, cell]) => `${title}\n\n${grid(operations, rates, cell)}`),
    standing(operations, rates),
  ].join('\n\n')
