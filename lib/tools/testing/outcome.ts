import { parseJsonObject } from '../../protocol/json.ts'
import { visibleText } from './html.ts'
import type { Answer } from './wire.ts'

/** Whether the input was refused. A 429 does not count, because a rate limiter refuses everything. */
export const isRefused = ({ status, headers }: Answer): boolean =>
  status >= 400 && status < 500 && status !== 429 && headers.location === undefined

/** The text without tokens, codes, request ids and JWTs. */
export const blackedOut = (text: string): string =>
  text.replace(/(lk_[a-z]{2}_)[\w-]+/g, '$1…').replace(/eyJ[\w-]{8,}\.[\w-]+\.[\w-]*/g, 'eyJ…')

const isHtml = ({ headers }: Answer): boolean => /html/.test(headers['content-type'] ?? '')

const gist = (answer: Answer): string => (isHtml(answer) ? visibleText(answer.body) : answer.body)

/** A response in one line: its status, and its location or text. */
export const described = (answer: Answer): string => {
  const { location } = answer.headers
  // Secrets are removed before shortening, because a shortened token would not be recognized.
  const what = blackedOut(location === undefined ? gist(answer) : `Location: ${location}`)
  return `${answer.status} ${what.replace(/\s+/g, ' ').trim().slice(0, 250)}`.trim()
}

/** A line for each answer that is not as it should be. */
export const wrongAnswers = (
  answers: Readonly<Record<string, Answer>>,
  isRight: (answer: Answer) => boolean,
): string[] =>
  Object.entries(answers).flatMap(([what, answer]) =>
    isRight(answer) ? [] : [`${what}: ${described(answer)}`],
  )

/** Like {@link wrongAnswers}, for requests that are sent one after another. */
export const wrongWhenSent = async <Sent>(
  requests: Readonly<Record<string, Sent>>,
  send: (request: Sent) => Promise<Answer>,
  isRight: (answer: Answer) => boolean,
): Promise<string[]> => {
  const wrong: string[] = []
  for (const [what, request] of Object.entries(requests))
    wrong.push(...wrongAnswers({ [what]: await send(request) }, isRight))
  return wrong
}

/** The body as a JSON object; empty if it is none. */
export const jsonOf = ({ body }: Answer): Readonly<Record<string, unknown>> => parseJsonObject(body) ?? {}

/** A string field of a JSON response. */
export const textField = (answer: Answer, name: string): string | undefined => {
  const value = jsonOf(answer)[name]
  return typeof value === 'string' ? value : undefined
}
