import { callback } from './host.ts'
import type { Answer } from './raw-browser.ts'
import { formOf } from './raw-browser.ts'

/** An authorization response as the client reads it. */
export interface ClientAnswer {
  readonly mode: 'query' | 'fragment' | 'form_post'
  readonly fields: Readonly<Record<string, string>>
}

const fieldsIn = (text: string): Record<string, string> => {
  const pairs = [...new URLSearchParams(text)]
  const fields = Object.fromEntries(pairs)
  if (Object.keys(fields).length !== pairs.length) throw new Error(`a parameter is repeated: ${text}`)
  return fields
}

/**
 * What came to a redirect URI, and how.
 *
 * @throws Error when it came somewhere else, in two ways at once, or not at all
 */
export const clientAnswer = (answer: Answer, redirectUri = callback): ClientAnswer => {
  const { location } = answer.headers
  if (location === undefined) {
    const { action, fields } = formOf(answer.html, 'id="form-post"')
    if (answer.status !== 200 || action !== redirectUri)
      throw new Error(`a form to ${action}, ${answer.status}`)
    return { mode: 'form_post', fields }
  }
  if (answer.status !== 303 || !location.startsWith(redirectUri)) throw new Error(`went to ${location}`)
  const rest = location.slice(redirectUri.length)
  const [query = '', fragment] = rest.split('#')
  if (fragment !== undefined) {
    if (query !== '') throw new Error(`query and fragment at once: ${location}`)
    return { mode: 'fragment', fields: fieldsIn(fragment) }
  }
  return { mode: 'query', fields: fieldsIn(query.slice(1)) }
}
