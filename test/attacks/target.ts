import type { IncomingMessage, ServerResponse } from 'node:http'
import compression from 'compression'
import express, { type RequestHandler } from 'express'
import session from 'express-session'
import helmet from 'helmet'
import type { Knex } from 'knex'
import { listen } from '../support/client-server.ts'
import { type Host, type HostSettings, startHost } from '../support/host.ts'
import { type Answer, RawBrowser } from '../support/raw-browser.ts'
import { testsAll } from '../support/sample.ts'

/** A mounted authorization server as an attacker sees it: from outside, by HTTP. */
export interface Target {
  readonly host: Host
  readonly issuer: string
  /** Path of the issuer, '' at the root: `${base}/token`. */
  readonly base: string
  /** A browser that has never been here. */
  browser(): RawBrowser
  /** One request of a program that keeps no cookies: `form` as fields or as text on the wire. */
  post(path: string, form: Form | string, headers?: Fields): Promise<Answer>
  get(path: string, headers?: Fields): Promise<Answer>
  /** Every row of ours by table, to compare before and after. */
  rows(): Promise<Rows>
  /** A table of ours, behind the server's back. */
  table(name: string): Knex.QueryBuilder
  /** The host's row of a person. */
  person(person: { readonly email: string }): Knex.QueryBuilder
}

export type Fields = Readonly<Record<string, string>>
/** Fields as a test writes them; undefined leaves one out. */
export type Asked = Readonly<Record<string, string | undefined>>

export type Form = Fields | readonly [string, string][]
type Rows = Readonly<Record<string, readonly string[]>>

/** Where a host has mounted the router. The same attacks must fail in each place. */
export interface Mount {
  readonly name: string
  /** Where the router is mounted in the app. */
  readonly path: string
  /** The host's own parsers, session, helmet and compression come first. */
  readonly isParsed?: boolean
  readonly isNested?: boolean
  /** A proxy ends TLS and strips a prefix. */
  readonly isProxied?: boolean
}

export const plainMount: Mount = { name: 'at /oauth', path: '/oauth' }
export const parsedMount: Mount = {
  name: 'at /, after the host’s own parsers, session, helmet and compression',
  path: '/',
  isParsed: true,
}
const proxiedMount: Mount = {
  name: 'in a nested router, behind a proxy that strips a prefix',
  path: '/v1/id/oauth',
  isNested: true,
  isProxied: true,
}
/** Each respect in which the places differ, alone. */
const singleMounts: readonly Mount[] = [
  { name: 'at /', path: '/' },
  { name: 'in a nested router', path: '/v1/id/oauth', isNested: true },
  { ...parsedMount, name: 'at /oauth, after the host’s own parsers', path: '/oauth' },
  { name: 'at /oauth, behind a proxy that strips a prefix', path: '/oauth', isProxied: true },
]

/**
 * Where attacks run that a host's parsers, cookies, headers or paths can change; together the places differ in every
 * respect, and with TEST_ALL=1 in each respect alone. A host's middleware never reaches the database, so one place is
 * enough on a database server.
 *
 * @example
 * describe.each(mounts)('the token endpoint, mounted $name', (mount) => {
 *   const target = targetIn(mount)
 *   test('…', async () => expect((await target().post(`${target().base}/token`, {})).status).toBe(400))
 * })
 */
export const mounts: readonly Mount[] =
  process.env.DATABASE_URL !== undefined
    ? [plainMount]
    : [plainMount, parsedMount, proxiedMount, ...(testsAll ? singleMounts : [])]

const crowd = (): RequestHandler[] => [
  helmet(),
  compression({ threshold: 0 }),
  express.json(),
  express.urlencoded({ extended: true }),
  session({ secret: 'of the host', resave: false, saveUninitialized: true, name: 'host.sid' }),
]

const issuerOf = ({ path, isProxied }: Mount): string =>
  `${isProxied ? 'https://id.example.com/apps' : 'http://localhost:3000'}${path === '/' ? '' : path}`

/** What a proxy adds to each request. */
const headersOf = ({ isProxied }: Mount): Fields =>
  isProxied ? { 'X-Forwarded-Proto': 'https', 'X-Forwarded-For': '203.0.113.7' } : {}

type Front = (req: IncomingMessage, res: ServerResponse) => void

/** What answers requests: the app, or an app around the router, behind a proxy or not. */
const frontOf = ({ isNested, isProxied }: Mount, { app, oauth }: Host): Front => {
  const front = isNested
    ? express().use('/v1', express.Router().use('/id', express.Router().use('/oauth', oauth)))
    : app
  if (!isProxied) return front
  for (const each of [app, front]) each.set('trust proxy', 1)
  return (req, res) => {
    req.url = req.url?.replace(/^\/apps(?=\/)/, '')
    front(req, res)
  }
}

const tableNames = [
  'clients',
  'users',
  'logins',
  'pending_requests',
  'authorizations',
  'access_tokens',
  'refresh_tokens',
  'consents',
  'signing_keys',
  'replays',
  'salts',
]

/** A row without what any visit may change. */
const textOf = ({ idle_ends_at: _, last_seen_at: __, ...row }: Record<string, unknown>): string =>
  JSON.stringify(row)

/**
 * Starts an app with the router mounted in that place.
 *
 * @param settings added to those of the place; limits on failures are off unless they say otherwise
 */
export const startTarget = async (
  mount: Mount,
  settings: HostSettings = {},
): Promise<Target & { close(): Promise<void> }> => {
  const issuer = issuerOf(mount)
  const headers = headersOf(mount)
  const host = await startHost({
    mount: mount.isNested ? '/oauth' : mount.path,
    ...(mount.isParsed && { before: crowd() }),
    ...settings,
    // Nothing may be written between two looks at the tables but by the attack.
    options: {
      issuer,
      limits: false,
      database: { prune: false },
      ...(mount.isParsed && { session: 'host' }),
      ...settings.options,
    },
  })
  const server = await listen(frontOf(mount, host))
  const { origin, pathname } = new URL(issuer)
  const browser = (): RawBrowser => new RawBrowser(server.origin, origin, headers)
  const { knex } = host.database
  const table = (name: string): Knex.QueryBuilder => host.table(name)
  /** SQLite counts the rows that were ever changed, which is quicker than reading them all. */
  const countChanges = async (): Promise<unknown> =>
    process.env.DATABASE_URL === undefined ? (await knex.raw('SELECT total_changes() AS count'))[0].count : {}
  let known: { readonly count: unknown; readonly rows: Rows } | undefined
  const rows = async (): Promise<Rows> => {
    const count = await countChanges()
    if (known !== undefined && known.count === count) return known.rows
    const contents = tableNames.map(async (name) => [name, await table(name)] as const)
    const tables = await Promise.all(contents)
    const found = Object.fromEntries(tables.map(([name, found]) => [name, found.map(textOf).sort()]))
    known = { count, rows: found }
    return found
  }
  return {
    host,
    issuer,
    base: pathname === '/' ? '' : pathname,
    browser,
    post: (path, form, more = {}) =>
      typeof form === 'string'
        ? browser().send('POST', path, {
            body: form,
            headers: { 'Content-Type': 'application/x-www-form-urlencoded', ...more },
          })
        : browser().post(path, form, more),
    get: (path, more) => browser().get(path, more),
    rows,
    table,
    person: ({ email }) => knex(host.usersTable).where({ email }),
    close: async () => {
      await server.close()
      await host.close()
    },
  }
}

/** Starts a target in that place before the tests of a `describe`, and closes it after them. */
export const targetIn = (mount: Mount, settings: () => HostSettings = () => ({})): (() => Target) => {
  let target: Awaited<ReturnType<typeof startTarget>>
  beforeAll(async () => {
    target = await startTarget(mount, settings())
  })
  afterAll(() => target.close())
  return () => target
}

/** A page without the part that only those who write clients see, outside production, as text. */
export const forUsers = (html: string): string =>
  html.replace(/<section class="developers">.*?<\/section>/s, '')

/** Asserts that work writes nothing of ours. */
export const writesNothing = async <T>(target: Target, work: () => Promise<T>): Promise<T> => {
  const before = await target.rows()
  const result = await work()
  expect(await target.rows()).toEqual(before)
  return result
}
