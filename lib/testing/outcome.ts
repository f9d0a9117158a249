import { textIn } from './html.ts'
import type { Answer } from './wire.ts'

/** Refused as input; a limiter that refuses everything proves nothing. */
export const isRefused = ({ status, headers }: Answer): boolean =>
  status >= 400 && status < 500 && status !== 429 && headers.location === undefined

/** What may stand in a log: no token, code, request id or JWT. */
export const blackedOut = (text: string): string =>
  text.replace(/(lk_[a-z]{2}_)[\w-]+/g, '$1…').replace(/eyJ[\w-]{8,}\.[\w-]+\.[\w-]*/g, 'eyJ…')

const isHtml = ({ headers }: Answer): boolean => /html/.test(headers['content-type'] ?? '')

const gist = (answer: Answer): string => (isHtml(answer) ? textIn(answer.body) : answer.body)

/** An answer in a line: its status, and where it leads or what it says. */
export const described = (answer: Answer): string => {
  const { location } = answer.headers
  // Blacked out first: a token that is cut short would not be known as one.
  const what = blackedOut(location === undefined ? gist(answer) : `Location: ${location}`)
  return `${answer.status} ${what.replace(/\s+/g, ' ').trim().slice(0, 250)}`.trim()
}

/** The body as a JSON object; empty when it is none. */
export const jsonOf = ({ body }: Answer): Readonly<Record<string, unknown>> => {
  try {
    const value: unknown = JSON.parse(body)
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}

/** A text field of a JSON answer. */
export const textField = (answer: Answer, name: string): string | undefined => {
  const value = jsonOf(answer)[name]
  return typeof value === 'string' ? value : undefined
}
