import type { RequestListener } from 'node:http'
import { Browser, type Sent } from '../../lib/tools/testing/browser.ts'
import { CookieJar } from '../../lib/tools/testing/cookies.ts'
import { type Form, findForm } from '../../lib/tools/testing/html.ts'
import { listening } from '../../lib/tools/testing/listening.ts'
import type { Answer as WireAnswer } from '../../lib/tools/testing/wire.ts'
import { note } from './told.ts'

/** One answer, as it came. */
export interface Answer extends Omit<WireAnswer, 'headers' | 'body'> {
  readonly headers: Readonly<Record<string, string>>
  readonly html: string
}

type Fields = Readonly<Record<string, string>>

/** Milliseconds: a test has a limit of its own. */
const timeoutMs = 300_000
const formType = { 'content-type': 'application/x-www-form-urlencoded' }

/** The first form of a page that holds this text, as a browser would send it. */
export const formOf = (html: string, has: string): Form => {
  const form = findForm(html, (candidate) => candidate.includes(has))
  if (form === undefined) throw new Error(`no form with ${has} in: ${html.slice(0, 2000)}`)
  return form
}

/** The fields of the form that holds this text. */
export const fieldsOf = (page: Answer, has: string): Fields => formOf(page.html, has).fields

/** The text of a page, without its markup. */
export const textOf = ({ html }: Answer): string =>
  html
    .replace(/<\/?(?:bdi|wbr)>/g, '')
    .replace(/<head>[\s\S]*<\/head>|<[^>]+>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim()

/** The status and the end of the path of one of our pages, such as `200 /login`. */
export const pageOf = ({ status, url }: Answer): string => `${status} ${url.pathname.replace(/.*\//, '/')}`

/** Where an answer sends the browser. */
export const locationOf = ({ location, status, html }: Answer): URL => {
  if (location === undefined) throw new Error(`expected a redirect, got ${status}: ${html}`)
  return location
}

/** The cookies of a browser by name: those that the server set, and those that a test planted. */
class Cookies implements Iterable<[string, string]> {
  readonly #planted = new Map<string, string>()
  readonly jar: CookieJar

  constructor(jar = new CookieJar(), planted: Iterable<[string, string]> = []) {
    this.jar = jar
    this.#planted = new Map(planted)
  }

  *[Symbol.iterator](): Iterator<[string, string]> {
    const own = this.jar.current().map(({ name, value }): [string, string] => [name, value])
    yield* new Map([...own, ...this.#planted])
  }

  get size(): number {
    return [...this].length
  }

  get(name: string): string | undefined {
    return new Map(this).get(name)
  }

  has(name: string): boolean {
    return this.get(name) !== undefined
  }

  keys(): string[] {
    return [...this].map(([name]) => name)
  }

  values(): string[] {
    return [...this].map(([, value]) => value)
  }

  /** Plants a cookie. It replaces any that the server set under this name. */
  set(name: string, value: string): void {
    this.jar.delete(name)
    this.#planted.set(name, value)
  }

  delete(name: string): void {
    this.jar.delete(name)
    this.#planted.delete(name)
  }

  clear(): void {
    for (const name of this.keys()) this.delete(name)
  }

  /** The Cookie header of a request. */
  header(url: URL): string | undefined {
    const planted = [...this.#planted].map(([name, value]) => `${name}=${value}`)
    return [this.jar.header(url) ?? [], planted].flat().join('; ') || undefined
  }

  /** A cookie that the server sets replaces the planted one. */
  forget(names: readonly string[]): void {
    for (const name of names) this.#planted.delete(name)
  }

  copy(): Cookies {
    return new Cookies(this.jar.copy(), this.#planted)
  }
}

/**
 * The browser of `latchkey/testing`, each of whose requests can be written by hand: a test sees every redirect, reads
 * and changes cookies, and adds headers. `open` and `submit` follow redirects as a browser does.
 */
export class RawBrowser {
  readonly cookies: Cookies
  readonly #target: RequestListener | string
  readonly #origin: string
  readonly #headers: Fields

  /**
   * @param target the app, or where it listens
   * @param origin the app's origin in browsers
   * @param headers sent with every request, such as those of a proxy
   */
  constructor(
    target: RequestListener | string,
    origin = 'http://localhost:3000',
    headers: Fields = {},
    cookies = new Cookies(),
  ) {
    this.#target = target
    this.#origin = origin
    this.#headers = headers
    this.cookies = cookies
  }

  /** Another browser with the same cookies, such as that of a thief. */
  clone(): RawBrowser {
    return new RawBrowser(this.#target, this.#origin, this.#headers, this.cookies.copy())
  }

  /** One request, one answer. */
  async send(method: string, location: string, { body, headers = {} }: Sent = {}): Promise<Answer> {
    const { base, close } = await listening(this.#target)
    const headersOfProxy = this.#headers
    const place = {
      base,
      origin: this.#origin,
      headers: headersOfProxy,
      redirectUri: 'about:blank',
      timeoutMs,
    }
    const usual = { accept: undefined, cookie: this.cookies.header(new URL(location, this.#origin)) }
    try {
      const answer = await new Browser(place, this.cookies.jar).send(method, location, {
        body,
        headers: { ...usual, ...headers },
      })
      this.cookies.forget(answer.setCookies.map((line) => line.slice(0, line.indexOf('='))))
      if (answer.body.includes('id="error-id"')) note(answer.body)
      return { ...answer, html: answer.body, headers: answer.headers as Fields }
    } finally {
      await close()
    }
  }

  /** One GET. */
  get(location: string, headers?: Fields): Promise<Answer> {
    return this.send('GET', location, { headers })
  }

  /** One POST of a form. */
  post(
    location: string,
    fields: Fields | readonly [string, string][],
    headers: Fields = {},
  ): Promise<Answer> {
    const body = new URLSearchParams(fields as Record<string, string>).toString()
    return this.send('POST', location, { body, headers: { ...formType, ...headers } })
  }

  /** Follows redirects, and our own form that sends itself again, until a page comes, or one that leaves the origin. */
  async follow(answer: Answer): Promise<Answer> {
    if (/<form id="form-post" method="post" action="\//.test(answer.html))
      return this.submit(answer, 'form-post')
    if (answer.location === undefined || answer.location.origin !== this.#origin) return answer
    return this.follow(await this.get(answer.location.href))
  }

  /** Opens an address and follows it. */
  async open(location: string): Promise<Answer> {
    return this.follow(await this.get(location))
  }

  /** Sends the form of a page that holds this text, with these fields changed or added, and follows it. */
  async submit(page: Answer, has: string, fields: Fields = {}): Promise<Answer> {
    const form = formOf(page.html, has)
    return this.follow(await this.post(form.action, { ...form.fields, ...fields }))
  }

  /** Fills in the sign-in page. */
  signIn(page: Answer, username = 'ada@example.com', password = 'ada’s password'): Promise<Answer> {
    return this.submit(page, 'name="password"', { username, password })
  }

  /** Presses a button of the consent page. */
  decide(page: Answer, decision: 'allow' | 'deny' | 'switch', fields: Fields = {}): Promise<Answer> {
    return this.submit(page, `value="${decision}"`, { decision, ...fields })
  }

  /** Chooses an organization, also instead of the one that a consent page is for, and allows the client in it. */
  async allowIn(page: Answer, organization: string): Promise<Answer> {
    const list = page.url.pathname.endsWith('/consent')
      ? await this.submit(page, 'value="organization"', { decision: 'organization' })
      : page
    return this.decide(await this.submit(list, 'name="organization"', { organization }), 'allow')
  }

  /** Signs in and allows, as far as either is asked. */
  async grant(location: string, username?: string, password?: string): Promise<Answer> {
    let answer = await this.open(location)
    if (answer.url.pathname.endsWith('/login')) answer = await this.signIn(answer, username, password)
    if (answer.url.pathname.endsWith('/consent')) answer = await this.decide(answer, 'allow')
    return answer
  }
}
