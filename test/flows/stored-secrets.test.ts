import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RequestHandler } from 'express'
import { seedClients, seedUsers } from '../../lib/index.ts'
import { openJwk } from '../../lib/keys/sealed-jwk.ts'
import { hashAtIssuer, hashSecret } from '../../lib/keys/secrets.ts'
import { serverBehind } from '../../lib/router.ts'
import { openSharedDatabase, type SharedDatabase } from '../support/database.ts'
import { authorizeUrl, callback, type Host, issuer, pkce, secret, startHost } from '../support/host.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { answerOf, codeFor, post, redeem, refresh, userinfo, web } from '../support/tokens.ts'

const serverSecret = 'a server secret of the tests that is long enough'
const person = { email: 'eve@example.com', password: 'a password that nobody may read' }
const wrongPassword = 'a wrong password that was typed'

/** The secrets that came up, by their kind. */
const stolen = new Map<string, Set<string>>()
const note = (kind: string, ...values: (string | null | undefined)[]): void => {
  const known = stolen.get(kind) ?? new Set()
  for (const value of values) if (value) known.add(value)
  stolen.set(kind, known)
}

/** Notes the ids of pending requests, and the cookies of the browser. */
const watch: RequestHandler = (req, _res, next) => {
  const requested = new URL(req.url, 'http://localhost').searchParams
  note('request id', requested.get('authorization_request'))
  for (const cookie of (req.headers.cookie ?? '').split('; ').filter(Boolean)) {
    const value = decodeURIComponent(cookie.slice(cookie.indexOf('=') + 1))
    if (value.startsWith('lk_br_')) note('browser secret', value)
    if (value.startsWith('lk_se_')) note('session secret', value)
  }
  next()
}

let database: SharedDatabase
let host: Host
let logged: string

beforeAll(async () => {
  database = openSharedDatabase()
  const { knex, tablePrefix } = database
  if (database.folder) await knex.raw('PRAGMA journal_mode = WAL')
  const lines: string[] = []
  const log = (...parts: unknown[]): void => {
    lines.push(parts.map((part) => (part instanceof Error ? part.stack : JSON.stringify(part))).join(' '))
  }
  const logger = { info: log, warn: log, error: log }
  const options = {
    users: undefined,
    secrets: [serverSecret],
    logger,
    storedEvents: true,
    codeChallengeMethods: ['S256', 'plain'] as const,
  }
  host = await startHost({ database, before: [watch], options })
  await runFlows()
  await makeSeeds()
  logged = lines.join('\n')

  async function makeSeeds(): Promise<void> {
    // Only the seed that creates a secret prints it, once and on purpose.
    const made = await seedClients(knex, [{ client_id: 'made', redirect_uris: [callback] }], {
      database: { tablePrefix },
      logger: { ...logger, info: () => {} },
    })
    note('client secret', secret, ...made.map(({ client_secret }) => client_secret))
    note('server secret', serverSecret)
    for (const { private_key } of await database.table('signing_keys')) {
      const opened = openJwk([serverSecret], private_key)
      const jwk: Record<string, unknown> = { ...opened?.jwk }
      for (const member of ['d', 'p', 'q', 'dp', 'dq', 'qi']) {
        if (typeof jwk[member] === 'string') note('private key member', jwk[member])
      }
    }
  }
})
afterAll(() => host.close())

/** Sends every kind of request once, also failing ones, so that everything is stored that can be stored. */
const runFlows = async (): Promise<void> => {
  const { knex, tablePrefix } = database
  await seedUsers(knex, [{ username: person.email, ...person, name: 'Eve' }], { database: { tablePrefix } })
  note('password', person.password, wrongPassword)
  const agent = new RawBrowser(host.app)
  const visit = { agent, as: person }

  const login = await agent.open(authorizeUrl({ client_id: 'web', scope: 'openid', nonce: 'n', state: 's' }))
  expect((await agent.signIn(login, person.email, wrongPassword)).status).toBe(400)

  const code = await codeFor(host, { scope: 'openid profile email offline_access' }, visit)
  const first = await answerOf(redeem(host, code))
  const second = await answerOf(refresh(host, first.refresh_token))
  const repeated = await answerOf(refresh(host, first.refresh_token))
  const third = await answerOf(refresh(host, second.refresh_token))
  expect((await userinfo(host, third.access_token)).status).toBe(200)

  const replayed = await codeFor(host, {}, visit)
  const lost = await answerOf(redeem(host, replayed))
  expect((await redeem(host, replayed)).status).toBe(400)

  const { verifier, challenge } = pkce()
  const s256 = { client_id: 'native', code_challenge: challenge, code_challenge_method: 'S256' }
  const pending = await codeFor(host, s256, visit)
  const used = await codeFor(host, s256, visit)
  const native = { client_id: 'native', client_secret: undefined, code_verifier: verifier }
  const app = await answerOf(redeem(host, used, native))

  const own = await answerOf(post(host, { grant_type: 'client_credentials', ...web }))
  const wrong = await post(host, { grant_type: 'client_credentials', ...web, client_secret: 'wrong' })
  expect(wrong.status).toBe(401)
  await agent.open(authorizeUrl({ client_id: 'web', scope: 'openid', prompt: 'login' }))

  note('code', code, replayed, pending, used)
  note('code verifier', verifier)
  for (const tokens of [first, second, repeated, third, lost, app, own]) {
    note('access token', tokens.access_token)
    note('refresh token', tokens.refresh_token)
    note('ID token', tokens.id_token)
  }
  await runMistakes(agent, third.access_token)
}

/** Sends secrets in wrong parameters, because refusals explain what was wrong. */
const runMistakes = async (agent: RawBrowser, accessToken: string): Promise<void> => {
  await agent.open(authorizeUrl({ client_id: secret }))
  await agent.open(authorizeUrl({ client_id: 'web', redirect_uri: `${callback}?token=${accessToken}` }))
  await post(host, { grant_type: 'client_credentials', client_id: secret, client_secret: 'web' })
  await post(host, { grant_type: accessToken, ...web })
  await post(host, { grant_type: 'client_credentials', ...web, scope: `notes:read ${accessToken}` })
  const plain = { code_challenge: pkce().verifier, code_challenge_method: 'plain' }
  const code = await codeFor(host, plain, { agent, as: person })
  const { verifier } = pkce()
  note('code', code)
  note('code verifier', verifier)
  expect((await redeem(host, code, { code_verifier: verifier })).status).toBe(400)
  await serverBehind(host.oauth)?.eventLog?.settled()
}

/** The encodings in which a server might store a value, with and without its prefix. */
const formsOf = (value: string): string[] =>
  [value, value.replace(/^lk_[a-z]{2}_/, '')].flatMap((text) => [
    text,
    encodeURIComponent(text),
    JSON.stringify(text).slice(1, -1),
    Buffer.from(text).toString('base64').replace(/=+$/, ''),
    Buffer.from(text).toString('base64url'),
    Buffer.from(text).toString('hex'),
    Buffer.from(text, 'base64url').toString('hex'),
  ])

const found = (text: string): string[] =>
  [...stolen].flatMap(([kind, values]) =>
    [...values].flatMap((value) =>
      formsOf(value)
        .filter((form) => form.length >= 8 && text.includes(form))
        .map((form) => `${kind}: ${form.slice(0, 12)}…`),
    ),
  )

const kinds = [
  'access token',
  'browser secret',
  'client secret',
  'code',
  'code verifier',
  'ID token',
  'password',
  'private key member',
  'refresh token',
  'request id',
  'server secret',
  'session secret',
]

const tableNames = async (): Promise<string[]> => {
  const { knex, tablePrefix, folder } = database
  const rows: { name: string }[] = await (folder === undefined
    ? knex('information_schema.tables').select('table_name as name')
    : knex('sqlite_master').where({ type: 'table' }).select('name'))
  return rows.map(({ name }) => name).filter((name) => name.startsWith(tablePrefix))
}

/** All rows of all our tables, as one string. */
const dump = async (): Promise<string> => {
  const rows: Record<string, unknown>[] = []
  for (const name of await tableNames()) rows.push(...(await database.knex(name)))
  return rows.map((row) => Object.values(row).map(String).join('\n')).join('\n')
}

test('the flows use every kind of secret', () => {
  const seen = [...stolen].filter(([, values]) => values.size > 0).map(([kind]) => kind)
  expect(seen.sort()).toEqual([...kinds].sort())
})

test('the dump holds what the flows stored: the hashes of their secrets', async () => {
  const text = await dump()
  for (const kind of ['code', 'access token', 'refresh token', 'browser secret', 'client secret']) {
    for (const value of stolen.get(kind) ?? []) {
      const stored = kind === 'browser secret' ? hashAtIssuer(issuer, value) : hashSecret(value)
      expect({ kind, isThere: text.includes(stored) }).toEqual({ kind, isThere: true })
    }
  }
  expect(text).toContain('$argon2id$')
  expect(text).toContain('one that is not registered')
  expect(text).toContain(pkce([...(stolen.get('code verifier') ?? [])][0]).challenge)
})

test('no table holds a secret in the clear', async () => {
  expect(found(await dump())).toEqual([])
})

test('neither an SQLite file nor its log holds one, deleted rows included', () => {
  const { folder } = database
  if (folder === undefined) return
  const files = readdirSync(folder)
  expect(files).toEqual(expect.arrayContaining(['latchkey.sqlite', 'latchkey.sqlite-wal']))
  const bytes = files.map((file) => readFileSync(join(folder, file), 'latin1'))
  expect(bytes.join('')).toContain(hashSecret(secret))
  for (const text of bytes) expect(found(text)).toEqual([])
})

test('no line of the log holds one', () => {
  expect(logged).toContain('code was redeemed before')
  expect(found(logged)).toEqual([])
})
