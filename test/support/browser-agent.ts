import type { Express } from 'express'
import supertest from 'supertest'

/** A page as a plain HTML form client sees it. */
export interface Page {
  readonly status: number
  readonly url: string
  readonly html: string
  readonly headers: Readonly<Record<string, string>>
}

/** Where a redirect chain ended: a page of ours, or an address that is not ours. */
export type Stop = { readonly page: Page } | { readonly location: URL }

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }
const decode = (text: string): string =>
  text.replace(
    /&(amp|lt|gt|quot|#[0-9]+);/g,
    (_, name: string) => entities[name] ?? String.fromCodePoint(Number(name.slice(1))),
  )

const attribute = (tag: string, name: string): string | undefined => {
  const value = new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1]
  return value === undefined ? undefined : decode(value)
}

/** The first form of a page that holds a field or button of this name and value, as a browser would send it. */
export const formOf = (html: string, has: string): { action: string; fields: Record<string, string> } => {
  const forms = html.match(/<form[\s\S]*?<\/form>/g) ?? []
  const form = forms.find((candidate) => candidate.includes(has))
  if (form === undefined) throw new Error(`no form with ${has} in: ${html.slice(0, 2000)}`)
  const fields: Record<string, string> = {}
  for (const tag of form.match(/<input[^>]*>/g) ?? []) {
    const name = attribute(tag, 'name')
    const type = attribute(tag, 'type')
    const isBox = type === 'checkbox' || type === 'radio'
    if (name === undefined || (isBox && !/\schecked\b/.test(tag))) continue
    fields[name] = attribute(tag, 'value') ?? (type === 'checkbox' ? 'on' : '')
  }
  return { action: attribute(form.slice(0, form.indexOf('>') + 1), 'action') ?? '', fields }
}

/**
 * A browser without scripts: it keeps cookies, follows redirects on our own origin, fills in forms,
 * and stops where the chain leaves for the client.
 */
export class BrowserAgent {
  readonly #agent: ReturnType<typeof supertest.agent>
  readonly #origin: string

  /**
   * @param app the app, or the address where it listens already
   * @param origin the issuer's origin, under which the app is reachable in its own eyes
   */
  constructor(app: Express | string, origin = 'http://localhost:3000') {
    this.#agent = supertest.agent(app)
    this.#origin = origin
  }

  async get(location: string): Promise<Stop> {
    const url = new URL(location, this.#origin)
    if (url.origin !== this.#origin) return { location: url }
    return this.#settle(
      url,
      await this.#agent
        .get(url.pathname + url.search)
        .redirects(0)
        .ok(() => true),
    )
  }

  async post(location: string, fields: Readonly<Record<string, string>>): Promise<Stop> {
    const url = new URL(location, this.#origin)
    const request = this.#agent
      .post(url.pathname + url.search)
      .type('form')
      .redirects(0)
      .ok(() => true)
    return this.#settle(url, await request.send(fields))
  }

  async #settle(url: URL, res: supertest.Response): Promise<Stop> {
    const { location } = res.headers
    if (res.status === 303 || res.status === 302) return this.get(new URL(location ?? '', url).href)
    return {
      page: { status: res.status, url: url.pathname + url.search, html: res.text, headers: res.headers },
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

export const pageOf = (stop: Stop): Page => {
  if (!('page' in stop)) throw new Error(`expected a page, was sent to ${stop.location.href}`)
  return stop.page
}

export const locationOf = (stop: Stop): URL => {
  if (!('location' in stop)) throw new Error(`expected to leave, got ${stop.page.status}: ${stop.page.html}`)
  return stop.location
}
