import { jsonOf } from './outcome.ts'
import type { Answer } from './wire.ts'

/** A front end of the host: the path of its page, and where it asks what to show. */
export interface FrontEnd {
  readonly page: string
  readonly interaction: string
}

const escaped = (text: unknown): string =>
  String(text).replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')

const hidden = ([name, value]: [string, unknown]): string =>
  `<input type="hidden" name="${escaped(name)}" value="${escaped(value)}">`

/** The fields and buttons of each page, which no model contains. */
const controls: Readonly<Record<string, string>> = {
  login: '<input name="username"><input type="password" name="password">',
  consent: '<button name="decision" value="allow"></button><button name="decision" value="deny"></button>',
  'select-account': '<button name="decision" value="continue"></button>',
}

/** The form that a front end makes of a model. */
const formOf = (action: string, page: string, model: Readonly<Record<string, unknown>>): string => {
  const fields = Object.entries(Object(model.hidden)).map(hidden).join('')
  // The account is already filled in, if the login is only renewed.
  const username = page === 'login' && model.confirm === true ? hidden(['username', model.username]) : ''
  return `<form method="post" action="${escaped(action)}">${fields}${username}${controls[page] ?? ''}</form>`
}

/**
 * The page or redirect that the front end of the host makes of an answer.
 *
 * @param told the JSON
 * @param page the page of the host that asked for it; without one, the answer to a form
 */
export const standingFor = ({ interaction }: FrontEnd, told: Answer, page: Answer = told): Answer => {
  const { redirectTo, page: name, model } = jsonOf(told)
  const setCookies = page === told ? told.setCookies : [...page.setCookies, ...told.setCookies]
  if (typeof redirectTo === 'string') {
    const location = URL.canParse(redirectTo, told.url.href) ? new URL(redirectTo, told.url) : undefined
    return { ...told, setCookies, status: 303, headers: { ...told.headers, location: redirectTo }, location }
  }
  if (typeof name !== 'string' || typeof model !== 'object' || model === null) return told
  const headers = { ...told.headers, ...page.headers }
  const form = formOf(`${interaction}${told.url.search}`, name, model as Record<string, unknown>)
  return { ...page, setCookies, status: told.status, headers, body: page.body + form }
}
