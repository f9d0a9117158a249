import type { Express } from 'express'
import supertest from 'supertest'
import { formOf } from './browser-agent.ts'
import { note } from './told.ts'

/** One answer, as it came. */
export interface Answer {
  readonly status: number
  /** What was asked for. */
  readonly url: URL
  readonly html: string
  readonly headers: Readonly<Record<string, string>>
  /** Each Set-Cookie header. */
  readonly setCookies: readonly string[]
  /** Absolute, when there is one. */
  readonly location: URL | undefined
}

interface Sent {
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
}

type Fields = Readonly<Record<string, string>>

const formType = { 'Content-Type': 'application/x-www-form-urlencoded' }

/**
 * A browser whose every request can be written by hand: the test sees each redirect, reads and changes cookies, and
 * adds headers. `open` and `submit` follow redirects as a person's browser would.
 */
export class RawBrowser {
  /** By name. */
  readonly cookies = new Map<string, string>()
  readonly #target: Express | string
  readonly #origin: string
  readonly #headers: Readonly<Record<string, string>>

  /**
   * @param target the app, or where it listens
   * @param origin as the app sees itself
   * @param headers with every request, such as those of a proxy
   */
  constructor(
    target: Express | string,
    origin = 'http://localhost:3000',
    headers: Readonly<Record<string, string>> = {},
  ) {
    this.#target = target
    this.#origin = origin
    this.#headers = headers
  }

  /** Another browser with the same cookies, as a thief of them or a second tab would have. */
  clone(): RawBrowser {
    const other = new RawBrowser(this.#target, this.#origin, this.#headers)
    for (const [name, value] of this.cookies) other.cookies.set(name, value)
    return other
  }

  /** One request, one answer. */
  async send(method: string, location: string, { body, headers = {} }: Sent = {}): Promise<Answer> {
    const url = new URL(location, this.#origin)
    // A path is sent as it was written, dots and all.
    const path = location.startsWith('/') ? location : url.pathname + url.search
    const verb = method.toLowerCase() as 'get' | 'post' | 'head' | 'put' | 'delete' | 'patch' | 'options'
    const request = supertest(this.#target as Express)
      [verb](path)
      .redirects(0)
      .ok(() => true)
      .set({ Host: url.host, ...this.#headers, ...this.#cookieHeader(), ...headers })
    const res = await (body === undefined ? request : request.send(body))
    const setCookies = [res.headers['set-cookie'] ?? []].flat()
    for (const cookie of setCookies) this.#keep(cookie)
    if (res.text?.includes('id="error-id"')) note(res.text)
    const { location: next } = res.headers
    return {
      status: res.status,
      url,
      html: res.text ?? '',
      headers: res.headers,
      setCookies,
      location: next === undefined ? undefined : new URL(next, url),
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

  /** Goes on until there is a page, or a redirect that leaves our origin. */
  async follow(answer: Answer): Promise<Answer> {
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

  /** Signs in and allows, as far as either is asked. */
  async grant(location: string, username?: string, password?: string): Promise<Answer> {
    let answer = await this.open(location)
    if (answer.url.pathname.endsWith('/login')) answer = await this.signIn(answer, username, password)
    if (answer.url.pathname.endsWith('/consent')) answer = await this.decide(answer, 'allow')
    return answer
  }

  #cookieHeader(): Record<string, string> {
    if (this.cookies.size === 0) return {}
    return { Cookie: [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ') }
  }

  #keep(cookie: string): void {
    const [pair = ''] = cookie.split(';')
    const separator = pair.indexOf('=')
    const name = pair.slice(0, separator)
    if (/expires=thu, 01 jan 1970/i.test(cookie)) this.cookies.delete(name)
    else this.cookies.set(name, pair.slice(separator + 1))
  }
}

/** The hidden fields of the form that holds this text. */
export const fieldsOf = (page: Answer, has: string): Record<string, string> => formOf(page.html, has).fields
