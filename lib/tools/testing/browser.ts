import { CookieJar, type SetCookie } from './cookies.ts'
import { type FrontEnd, standingFor } from './front-end.ts'
import { formWith, refreshOf } from './html.ts'
import { type Answer, exchange, withoutUndefined } from './wire.ts'

/** A request without its address. */
export interface Sent {
  readonly body?: string
  /** By lower-case name; `undefined` takes one away that would have been sent. */
  readonly headers?: Readonly<Record<string, string | undefined>>
}

/** The fields of a form by name. */
export type Fields = Readonly<Record<string, string>>

/** The address of the app: the one it knows, and the one on this machine. */
export interface Place {
  /** Where it listens. */
  readonly base: URL
  /** The origin of its issuer: what browsers know it by. */
  readonly origin: string
  /** With every request, such as those of a proxy; by lower-case name. */
  readonly headers: Readonly<Record<string, string>>
  /** Where the client waits, perhaps on the app's own origin: the browser stops there. */
  readonly redirectUri: string
  /** The address of this machine that requests come from. @default the system chooses */
  readonly from?: string
  /** Milliseconds to wait for an answer. @default 10,000 */
  readonly timeoutMs?: number
  /** The front end of the host, if it has one. */
  readonly frontEnd?: FrontEnd | undefined
}

const maxHops = 20

/** A browser without scripts whose every request can be written by hand; it keeps cookies and stays on the app's origin. */
export class Browser {
  readonly #place: Place
  readonly #jar: CookieJar

  constructor(place: Place, jar = new CookieJar()) {
    this.#place = place
    this.#jar = jar
  }

  /**
   * One request, one answer. A location that begins with `/` is sent as it is written, without its fragment. What the front end
   * of the host would show or do, stands for its answer.
   */
  async send(method: string, location: string, sent: Sent = {}): Promise<Answer> {
    const answer = await this.#exchange(method, location, sent)
    const { frontEnd } = this.#place
    if (frontEnd === undefined) return answer
    const { pathname, search } = answer.url
    if (pathname === frontEnd.interaction) return standingFor(frontEnd, answer)
    if (method !== 'GET' || pathname !== frontEnd.page || answer.status !== 200) return answer
    const headers = { 'sec-fetch-site': 'same-origin' }
    const told = await this.#exchange('GET', `${frontEnd.interaction}${search}`, { headers })
    return standingFor(frontEnd, told, answer)
  }

  async #exchange(method: string, location: string, { body, headers = {} }: Sent): Promise<Answer> {
    const url = new URL(location, this.#place.origin)
    const path = location.startsWith('/') ? location.replace(/#.*/s, '') : url.pathname + url.search
    const sent = {
      host: url.host,
      accept: 'text/html, application/json',
      'accept-encoding': 'identity',
      'user-agent': 'latchkey/testing',
      ...this.#place.headers,
      cookie: this.#jar.header(url),
      ...headers,
    }
    const answer = await exchange(this.#place.base, url, {
      method,
      path,
      headers: withoutUndefined(sent),
      body,
      from: this.#place.from,
      timeoutMs: this.#place.timeoutMs,
    })
    this.#jar.store(url, answer.setCookies)
    return answer
  }

  /** One GET. */
  get(location: string, headers?: Sent['headers']): Promise<Answer> {
    return this.send('GET', location, { headers })
  }

  /** One POST of a form, as a page of the app itself sends it. */
  post(location: string, fields: Fields, headers: Sent['headers'] = {}): Promise<Answer> {
    const own = {
      'content-type': 'application/x-www-form-urlencoded',
      origin: this.#place.origin,
      'sec-fetch-site': 'same-origin',
    }
    const body = new URLSearchParams(fields).toString()
    return this.send('POST', location, { body, headers: { ...own, ...headers } })
  }

  /** Follows redirects until a page stays, or a redirect leaves the app's origin. */
  async follow(answer: Answer, hops = maxHops): Promise<Answer> {
    const refresh = answer.location ? undefined : refreshOf(answer.body)
    const next = answer.location ?? (refresh === undefined ? undefined : new URL(refresh, answer.url))
    if (next === undefined || next.origin !== this.#place.origin || this.#isClient(next)) return answer
    if (hops === 0) throw new Error(`${answer.url.pathname} goes round in circles`)
    return this.follow(await this.get(next.href), hops - 1)
  }

  #isClient({ origin, pathname }: URL): boolean {
    const client = new URL(this.#place.redirectUri)
    return client.origin === origin && client.pathname === pathname
  }

  /** Opens an address and follows it. */
  async open(location: string): Promise<Answer> {
    return this.follow(await this.get(location))
  }

  /**
   * Fills in the first form of a page that has all of these fields, or buttons of these names and values, sends it
   * and follows.
   *
   * @throws Error when the page has no such form
   */
  async submit(page: Answer, fields: Fields): Promise<Answer> {
    const form = formWith(page.body, fields)
    if (form === undefined) {
      throw new Error(`${page.url.pathname} has no form with ${Object.keys(fields).join(' and ')}`)
    }
    const action = form.action === '' ? page.url.href : new URL(form.action, page.url).href
    return this.follow(await this.post(action, { ...form.fields, ...fields }))
  }

  /** The browser of someone who stole these cookies, except those named. */
  copy(without: readonly string[] = []): Browser {
    return new Browser(this.#place, this.#jar.copy(without))
  }

  /** The names of its cookies. */
  cookieNames(): string[] {
    return this.#jar.names()
  }

  /** Each cookie as it was last set in this browser. */
  receivedCookies(): SetCookie[] {
    return this.#jar.received()
  }
}
