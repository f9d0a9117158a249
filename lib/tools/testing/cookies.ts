/** A cookie as the server set it (RFC 6265 §4.1). */
export interface SetCookie {
  readonly name: string
  readonly value: string
  /** By lower-case name; one without a value is `''`. */
  readonly attributes: Readonly<Record<string, string>>
}

const halves = (text: string): [string, string] => {
  const at = text.indexOf('=')
  return at < 0 ? [text.trim(), ''] : [text.slice(0, at).trim(), text.slice(at + 1).trim()]
}

export const parseSetCookie = (line: string): SetCookie => {
  const [pair = '', ...rest] = line.split(';')
  const [name, value] = halves(pair)
  const attributes = rest.map(halves).map(([key, text]) => [key.toLowerCase(), text])
  return { name, value, attributes: Object.fromEntries(attributes) }
}

const isOver = ({ attributes: { 'max-age': age, expires } }: SetCookie): boolean => {
  if (age !== undefined) return Number(age) <= 0
  return expires !== undefined && Date.parse(expires) <= Date.now()
}

/** RFC 6265 §5.1.4. */
const matchesPath = (path: string, of: string): boolean =>
  path === of || (path.startsWith(of) && (of.endsWith('/') || path[of.length] === '/'))

const defaultPath = ({ pathname }: URL): string => pathname.replace(/\/[^/]*$/, '') || '/'

interface Kept {
  readonly cookie: SetCookie
  readonly path: string
}

/** The cookies of one origin (RFC 6265 §5.3), and every cookie that was ever set. */
export class CookieJar {
  readonly #kept = new Map<string, Kept>()
  readonly #received: SetCookie[] = []

  store(url: URL, lines: readonly string[]): void {
    for (const cookie of lines.map(parseSetCookie)) {
      const { path: given } = cookie.attributes
      const path = given?.startsWith('/') ? given : defaultPath(url)
      const key = JSON.stringify([cookie.name, path])
      this.#received.push(cookie)
      if (isOver(cookie)) this.#kept.delete(key)
      else this.#kept.set(key, { cookie, path })
    }
  }

  /** The Cookie header of a request. */
  header({ pathname }: URL): string | undefined {
    const sent = [...this.#kept.values()].filter(({ path }) => matchesPath(pathname, path))
    return sent.length === 0
      ? undefined
      : sent.map(({ cookie: { name, value } }) => `${name}=${value}`).join('; ')
  }

  /** The current cookies; a later path comes later. */
  current(): SetCookie[] {
    return [...this.#kept.values()].map(({ cookie }) => cookie)
  }

  /** The names of the current cookies. */
  names(): string[] {
    return [...new Set(this.current().map(({ name }) => name))]
  }

  /** Removes a cookie on every path. */
  delete(name: string): void {
    for (const [key, { cookie }] of this.#kept) if (cookie.name === name) this.#kept.delete(key)
  }

  /** Each cookie as it was last set, without those that have expired. */
  received(): SetCookie[] {
    const live = this.#received.filter((cookie) => !isOver(cookie))
    return [...new Map(live.map((cookie) => [cookie.name, cookie])).values()]
  }

  /** Another jar with the same cookies, except those named. */
  copy(without: readonly string[] = []): CookieJar {
    const other = new CookieJar()
    for (const [key, kept] of this.#kept) if (!without.includes(kept.cookie.name)) other.#kept.set(key, kept)
    return other
  }
}
