import { formOf, pageOf, type Stop } from './browser-agent.ts'

interface Cookie {
  readonly value: string
  readonly path: string
}

/** RFC 6265 §5.1.4. */
const matchesPath = (path: string, of: string): boolean =>
  path === of || (path.startsWith(of) && (of.endsWith('/') || path[of.length] === '/'))

/** The cookies of one origin (RFC 6265 §5): by name and path, gone when the server ends them. */
class CookieJar {
  readonly #cookies = new Map<string, Cookie>()

  store(url: URL, lines: readonly string[]): void {
    for (const line of lines) {
      const [pair = '', ...attributes] = line.split(';').map((part) => part.trim())
      const name = pair.slice(0, pair.indexOf('='))
      const attribute = (wanted: string): string | undefined =>
        attributes.find((text) => text.toLowerCase().startsWith(`${wanted}=`))?.slice(wanted.length + 1)
      const path = attribute('path') ?? (url.pathname.replace(/\/[^/]*$/, '') || '/')
      const age = attribute('max-age')
      const ends =
        age === undefined ? Date.parse(attribute('expires') ?? '') : Date.now() + Number(age) * 1000
      const key = JSON.stringify([name, path])
      if (ends <= Date.now()) this.#cookies.delete(key)
      else this.#cookies.set(key, { value: pair, path })
    }
  }

  header(url: URL): Record<string, string> {
    const pairs = [...this.#cookies.values()].filter(({ path }) => matchesPath(url.pathname, path))
    return pairs.length === 0 ? {} : { cookie: pairs.map(({ value }) => value).join('; ') }
  }
}

/**
 * As BrowserAgent, a browser without scripts, for a server that listens on a real port: it keeps cookies, follows
 * redirects on one origin, fills in forms, and stops where the chain leaves for the client.
 *
 * @example
 * const browser = new HttpBrowser('http://localhost:3000')
 * const stop = await browser.signIn(await browser.get('/oauth/authorize?…'), 'ada', 'her password')
 */
export class HttpBrowser {
  readonly #jar = new CookieJar()
  readonly #origin: string

  /** @param origin the origin of the app; every other one is the client's */
  constructor(origin: string) {
    this.#origin = origin
  }

  async get(location: string): Promise<Stop> {
    return this.#open(new URL(location, this.#origin), {})
  }

  async post(location: string, fields: Readonly<Record<string, string>>): Promise<Stop> {
    return this.#open(new URL(location, this.#origin), {
      method: 'POST',
      body: new URLSearchParams(fields),
      headers: { origin: this.#origin, 'sec-fetch-site': 'same-origin' },
    })
  }

  async #open(url: URL, request: RequestInit): Promise<Stop> {
    if (url.origin !== this.#origin) return { location: url }
    const headers = { accept: 'text/html', ...request.headers, ...this.#jar.header(url) }
    const res = await fetch(url, { ...request, headers, redirect: 'manual' })
    this.#jar.store(url, res.headers.getSetCookie())
    const html = await res.text()
    const location = res.headers.get('location')
    if ((res.status === 302 || res.status === 303) && location !== null) {
      return this.get(new URL(location, url).href)
    }
    return {
      page: {
        status: res.status,
        url: url.pathname + url.search,
        html,
        headers: Object.fromEntries(res.headers),
      },
    }
  }

  /** Fills in the sign-in form of a page and sends it. */
  async signIn(stop: Stop, username: string, password: string): Promise<Stop> {
    const { action, fields } = formOf(pageOf(stop).html, 'name="password"')
    return this.post(action, { ...fields, username: fields.username || username, password })
  }

  /** Answers the consent page. */
  async decide(stop: Stop, decision: 'allow' | 'deny' | 'switch'): Promise<Stop> {
    const { action, fields } = formOf(pageOf(stop).html, `value="${decision}"`)
    return this.post(action, { ...fields, decision })
  }
}
