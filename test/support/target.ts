import type { IncomingMessage, ServerResponse } from 'node:http'
import compression from 'compression'
import express, { type Express, type RequestHandler } from 'express'
import session from 'express-session'
import helmet from 'helmet'
import type { Knex } from 'knex'
import { listen } from './client-server.ts'
import { type Host, type HostSettings, startHost } from './host.ts'
import { type Answer, RawBrowser } from './raw-browser.ts'

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

export const given = (fields: Asked): Record<string, string> =>
  Object.fromEntries(
    Object.entries(fields).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )

export type Form = Fields | readonly [string, string][]
export type Rows = Readonly<Record<string, readonly string[]>>

/** Wherever a host may have put us: the same attacks must fail in each place. */
export const mounts = [
  'at /',
  'at /oauth',
  'in a nested router',
  'after the host’s own parsers, session, helmet and compression',
  'behind a proxy that strips a prefix',
] as const
export type Mount = (typeof mounts)[number]

const crowd = (): RequestHandler[] => [
  helmet(),
  compression({ threshold: 0 }),
  express.json(),
  express.urlencoded({ extended: true }),
  session({ secret: 'of the host', resave: false, saveUninitialized: true, name: 'host.sid' }),
]

interface Place {
  readonly issuer: string
  readonly settings?: HostSettings
  /** What answers requests, when that is not the app itself. */
  readonly front?: (app: Express, oauth: Host['oauth']) => Front
  /** What a proxy adds to each request. */
  readonly headers?: Fields
}

type Front = (req: IncomingMessage, res: ServerResponse) => void

const nested = (_: Express, oauth: Host['oauth']): Front =>
  express().use('/v1', express.Router().use('/id', express.Router().use('/oauth', oauth)))

const stripped = (app: Express): Front => {
  app.set('trust proxy', 1)
  return (req, res) => {
    req.url = req.url?.replace(/^\/apps(?=\/)/, '')
    app(req, res)
  }
}

const places: Readonly<Record<Mount, Place>> = {
  'at /': { issuer: 'http://localhost:3000', settings: { mount: '/' } },
  'at /oauth': { issuer: 'http://localhost:3000/oauth' },
  'in a nested router': { issuer: 'http://localhost:3000/v1/id/oauth', front: nested },
  'after the host’s own parsers, session, helmet and compression': {
    issuer: 'http://localhost:3000/oauth',
    settings: { before: crowd() },
  },
  'behind a proxy that strips a prefix': {
    issuer: 'https://id.example.com/apps/oauth',
    front: stripped,
    headers: { 'X-Forwarded-Proto': 'https', 'X-Forwarded-For': '203.0.113.7' },
  },
}

const tableNames = [
  ...['clients', 'users', 'logins', 'pending_requests', 'authorizations', 'access_tokens'],
  ...['refresh_tokens', 'consents', 'sessions', 'signing_keys', 'replays', 'salts'],
]

/**
 * Starts an app with us mounted in that place.
 *
 * @param settings added to those of the place; limits on failures are off unless they say otherwise
 */
export const startTarget = async (
  mount: Mount,
  settings: HostSettings = {},
): Promise<Target & { close(): Promise<void> }> => {
  const { issuer, front = (app) => app, headers = {}, ...place } = places[mount]
  const host = await startHost({
    ...place.settings,
    ...settings,
    // Nothing may be written between two looks at the tables but by the attack.
    options: { issuer, throttle: false, prune: false, ...settings.options },
  })
  const server = await listen(front(host.app, host.oauth))
  const { origin, pathname } = new URL(issuer)
  const browser = (): RawBrowser => new RawBrowser(server.origin, origin, headers)
  const { knex, tablePrefix } = host.database
  const table = (name: string): Knex.QueryBuilder => knex(`${tablePrefix}${name}`)
  const rows = async (): Promise<Rows> => {
    const contents = tableNames.map(async (name) => [name, await table(name)] as const)
    const tables = await Promise.all(contents)
    return Object.fromEntries(
      tables.map(([name, found]) => [name, found.map((row: unknown) => JSON.stringify(row)).sort()]),
    )
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

/** Jest's functions, which register tests in the first mount only, unless they are called inside `everyMount`. */
interface Attacks {
  readonly mount: Mount
  readonly describe: jest.Describe
  readonly test: jest.It
  /** Registers tests in every mount: for what a host's parsers, cookies, headers or paths can change. */
  everyMount(attacks: () => void): void
}

const firstMount: Mount = 'at /oauth'
const testsAll = process.env.TEST_ALL === '1'

/** A host's middleware never reaches the database, so one mount is enough on a database server. */
const moreMounts =
  process.env.DATABASE_URL === undefined ? mounts.filter((mount) => mount !== firstMount) : []

const attacksIn = (mount: Mount, onEveryMount: () => void): Attacks => {
  let isOpen = mount === firstMount || testsAll
  const whenOpen = <T extends jest.Describe | jest.It>(register: T): T => {
    const one = (...args: [string, () => void]): void => {
      if (isOpen) register(...args)
    }
    const each = (table: readonly unknown[]): unknown => (isOpen ? register.each(table) : () => {})
    return Object.assign(one, { each }) as unknown as T
  }
  const everyMount = (attacks: () => void): void => {
    onEveryMount()
    const before = isOpen
    isOpen = true
    attacks()
    isOpen = before
  }
  return { mount, describe: whenOpen(describe), test: whenOpen(test), everyMount }
}

/**
 * Runs attacks in one mount, and those inside `everyMount` in all of them; TEST_ALL=1 runs all in all.
 *
 * @example
 * underAttack('the token endpoint', (target, { test, everyMount }) => {
 *   everyMount(() => {
 *     test('…', async () => expect((await target().post(`${target().base}/token`, {})).status).toBe(400))
 *   })
 * })
 */
export const underAttack = (
  name: string,
  attacks: (target: () => Target, jest: Attacks) => void,
  settings: () => HostSettings = () => ({}),
): void => {
  let needsEveryMount = testsAll
  const attack = (mount: Mount): void =>
    describe(`${name}, mounted ${mount}`, () => {
      let target: Awaited<ReturnType<typeof startTarget>>
      beforeAll(async () => {
        target = await startTarget(mount, settings())
      })
      afterAll(() => target.close())
      attacks(
        () => target,
        attacksIn(mount, () => {
          needsEveryMount = true
        }),
      )
    })
  attack(firstMount)
  if (needsEveryMount) moreMounts.forEach(attack)
}

/** Asserts that work writes nothing of ours, but for the tables named. */
export const writesNothing = async <T>(
  target: Target,
  work: () => Promise<T>,
  { except = [] }: { except?: readonly string[] } = {},
): Promise<T> => {
  const others = (rows: Rows): Rows =>
    Object.fromEntries(Object.entries(rows).filter(([name]) => !except.includes(name)))
  const before = others(await target.rows())
  const result = await work()
  expect(others(await target.rows())).toEqual(before)
  return result
}
