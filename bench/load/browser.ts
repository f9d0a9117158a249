import type { Agent } from 'node:http'
import { callback } from '../registrations.ts'
import { type Answer, type Ask, send } from './http.ts'

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }
const attributeOf = (tag: string, name: string): string | undefined =>
  new RegExp(`\\s${name}="([^"]*)"`)
    .exec(tag)?.[1]
    ?.replace(/&(amp|lt|gt|quot|#39);/g, (_, entity: string) => entities[entity] ?? '')

/** Parses the sign-in or consent form of a page, with the values of its fields. */
const formOf = (html: string): { action: string; fields: Record<string, string> } => {
  const forms = html.match(/<form[\s\S]*?<\/form>/g) ?? []
  const form = forms.find((text) => /name="password"|value="allow"/.test(text)) ?? ''
  const fields: Record<string, string> = {}
  for (const tag of form.match(/<input[^>]*>/g) ?? []) {
    fields[attributeOf(tag, 'name') ?? ''] = attributeOf(tag, 'value') ?? ''
  }
  const button = form.match(/<button[^>]*>/g)?.find((tag) => attributeOf(tag, 'value') === 'allow')
  if (button) fields[attributeOf(button, 'name') ?? ''] = 'allow'
  return { action: attributeOf(form, 'action') ?? '', fields }
}

export type Browser = ReturnType<typeof createBrowser>

/** The last response of a navigation; status 0 at the client's redirect URI, which is not requested. */
export interface Stop extends Answer {
  readonly url: URL
}

/** A browser with cookies, without scripts. */
export const createBrowser = (agent: Agent) => {
  const cookies = new Map<string, { readonly pair: string; readonly path: string }>()

  const store = (url: URL, lines: string | string[] | undefined): void => {
    for (const line of [lines ?? []].flat()) {
      const [pair = '', ...attributes] = line.split(';').map((part) => part.trim())
      const path = attributes.find((text) => /^path=/i.test(text))?.slice(5) ?? url.pathname
      const name = pair.slice(0, pair.indexOf('='))
      if (attributes.some((text) => /^(expires=.* 1970|max-age=0)/i.test(text))) cookies.delete(name)
      else cookies.set(name, { pair, path })
    }
  }

  const cookie = ({ pathname }: URL): string =>
    [...cookies.values()]
      .filter(({ path }) => pathname.startsWith(path))
      .map(({ pair }) => pair)
      .join('; ')

  /** Follows redirects to a page or to the client's redirect URI. */
  const open = async (url: URL, ask: Ask = {}): Promise<Stop> => {
    if (url.href.startsWith(callback)) return { url, text: '', status: 0, headers: {} }
    const answer = await send(agent, url, { ...ask, headers: { cookie: cookie(url) } })
    store(url, answer.headers['set-cookie'])
    const { location } = answer.headers
    if (typeof location === 'string') return open(new URL(location, url))
    return { ...answer, url }
  }

  /** Submits the form of a page. */
  const submit = ({ url, text }: Stop, filled: Readonly<Record<string, string>> = {}): Promise<Stop> => {
    const { action, fields } = formOf(text)
    return open(new URL(action, url), { method: 'POST', form: { ...fields, ...filled } })
  }

  return { open, submit, cookie, formOf: (stop: Stop) => formOf(stop.text) }
}

/** Signs in and consents on the pages that the server shows. */
export const walk = async (
  browser: Browser,
  start: URL,
  username: string,
  password: string,
): Promise<Stop> => {
  let stop = await browser.open(start)
  for (let page = 0; page < 3 && stop.status === 200; page += 1) {
    stop = await browser.submit(stop, stop.text.includes('name="password"') ? { username, password } : {})
  }
  return stop
}

/**
 * Signs in and consents.
 *
 * @returns the cookies for the authorization endpoint
 * @throws Error if the browser does not reach the client
 */
export const signIn = async (
  agent: Agent,
  start: URL,
  username: string,
  password: string,
): Promise<string> => {
  const browser = createBrowser(agent)
  const stop = await walk(browser, start, username, password)
  if (!stop.url.searchParams.has('code')) {
    throw new Error(`signing in ended at ${stop.url}: ${stop.status} ${stop.text.slice(0, 600)}`)
  }
  return browser.cookie(start)
}
