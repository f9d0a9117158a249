import { contestants, reference } from './contestants.ts'
import type { Operation } from './operations/index.ts'
import type { Rate } from './rates.ts'
import { ratioOf } from './report.ts'

/** Colours for light and dark pages that people with colour blindness can distinguish. */
const colours: Readonly<Record<string, string>> = {
  'Latchkey + SQLite': '#2f7fd6',
  'Latchkey + PostgreSQL': '#7fb2e8',
  [reference]: '#d08a1d',
  'oidc-provider in memory': '#e4bd78',
  'oauth2-server + SQLite': '#2aa089',
  'oauth2-server, prepared': '#8fcdbf',
  ceiling: '#9aa1a9',
}

const left = 150
const right = 60
const width = 860
const bar = 11
const gap = 2
const between = 16
const legendLine = 19

const text = (x: number, y: number, content: string, more = ''): string =>
  `<text x="${x}" y="${y}" ${more}>${content}</text>`

const rect = (x: number, y: number, w: number, fill: string, height = bar): string =>
  `<rect x="${x}" y="${y}" width="${w.toFixed(1)}" height="${height}" rx="2" fill="${fill}"/>`

const legendOf = (names: readonly string[]): string[] =>
  names.flatMap((name, index) => {
    const [x, y] = [left + (index % 3) * 225, 6 + Math.floor(index / 3) * legendLine]
    return [rect(x, y, 11, colours[name] ?? '#888'), text(x + 17, y + 10, name)]
  })

/** Draws the rates as bars: a group for each operation, with each server's rate divided by the reference's. */
export const chart = (operations: readonly Operation[], rates: readonly Rate[]): string => {
  const groups = operations.flatMap(({ name }) => {
    const of = rates.filter((rate) => rate.operation === name)
    const bars = of.map((rate) => ({ name: rate.contestant, ratio: ratioOf(rate, of) }))
    // Without the reference there is nothing to divide by.
    return bars.some(({ ratio }) => Number.isNaN(ratio)) ? [] : [{ name, bars }]
  })
  const max = Math.max(1, ...groups.flatMap(({ bars }) => bars.map(({ ratio }) => ratio)))
  const scale = (width - left - right) / max
  const names = contestants
    .map(({ name }) => name)
    .filter((name) => rates.some((rate) => rate.contestant === name))
  const parts = legendOf(names)
  const top = Math.ceil(names.length / 3) * legendLine + 8
  let y = top
  for (const { name, bars } of groups) {
    const height = bars.length * (bar + gap)
    parts.push(text(left - 10, y + height / 2 + 3, name, 'text-anchor="end" class="name"'))
    for (const { name: server, ratio } of bars) {
      parts.push(rect(left, y, ratio * scale, colours[server] ?? '#888'))
      parts.push(text(left + ratio * scale + 6, y + 9.5, `${ratio.toFixed(1)}×`))
      y += bar + gap
    }
    y += between
  }
  parts.push(`<path d="M${left + scale} ${top - 4}V${y - between}" stroke="#8b929a" stroke-dasharray="3 3"/>`)
  const title = `Rate of each server, divided by that of ${reference}`
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${y}" width="${width}" height="${y}" role="img" aria-label="${title}">
<title>${title}</title>
<style>text{font:11px system-ui,sans-serif;fill:#6f7a86}.name{font-weight:600}</style>
${parts.join('\n')}
</svg>
`
}
