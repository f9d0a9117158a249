import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLocalJWKSet, jwtVerify } from 'jose'
import knex, { type Knex } from 'knex'
import supertest from 'supertest'
import { seedClients, seedUsers } from '../../lib/index.ts'
import { hashSecret } from '../../lib/keys/secrets.ts'
import type { StartFaultServer } from '../support/fault-server.ts'
import { type FaultServer, startServer } from '../support/fault-servers.ts'
import { authorizeUrl, callback, clients, issuer, secret } from '../support/host.ts'
import { codeOf } from '../support/outcomes.ts'
import { RawBrowser } from '../support/raw-browser.ts'

jest.setTimeout(60_000)

const folder = mkdtempSync(join(tmpdir(), 'latchkey-restart-'))
const database: Knex.Config = {
  client: 'better-sqlite3',
  connection: { filename: join(folder, 'app.sqlite') },
  useNullAsDefault: true,
}
const settings: StartFaultServer = {
  database,
  tablePrefix: 'oauth_',
  secrets: ['a secret of the tests that is long enough'],
  // Long enough for any restart.
  refreshTokenGracePeriod: 600,
}

let server: FaultServer | undefined
let origin = ''
let ownKnex: Knex

/** A server process on the file; resolves when it listens. */
const startAgain = async (): Promise<void> => {
  server = await startServer(settings)
  origin = server.origin
}

/** Ends it as a power cut would. */
const kill = async (): Promise<void> => server?.kill()

beforeAll(async () => {
  await startAgain()
  ownKnex = knex(database)
  const scopes = { 'notes:read': 'Read', 'notes:write': 'Write' }
  await seedClients(ownKnex, clients, { scopes })
  await seedUsers(ownKnex, [{ username: 'ada@example.com', password: 'ada’s password' }])
})
afterAll(async () => {
  await kill()
  await ownKnex.destroy()
  rmSync(folder, { recursive: true })
})

const request = authorizeUrl({ client_id: 'web', scope: 'openid email', state: 's' })
const silent = `${request}&prompt=none`
const browserWith = (cookies: Iterable<[string, string]>): RawBrowser => {
  const agent = new RawBrowser(origin)
  for (const [name, value] of cookies) agent.cookies.set(name, value)
  return agent
}
/** A POST to the token endpoint of whichever server runs now. */
const post = (fields: Record<string, string>) =>
  supertest(origin)
    .post('/oauth/token')
    .type('form')
    .send({ client_id: 'web', client_secret: secret, ...fields })
    .ok(() => true)
const redeem = (code: string) => post({ grant_type: 'authorization_code', code, redirect_uri: callback })
const refresh = (token: string) => post({ grant_type: 'refresh_token', refresh_token: token })
const jwks = async () => (await supertest(origin).get('/oauth/jwks')).body
/** What the file holds of one code. */
const stateOf = async (code: string) => {
  const [row] = await ownKnex('oauth_authorizations').where({ code_hash: hashSecret(code) })
  const of = { authorization_id: row.id }
  return {
    consumed: row.consumed_at !== null,
    refreshTokens: (await ownKnex('oauth_refresh_tokens').where(of)).length,
    accessTokens: (await ownKnex('oauth_access_tokens').where(of)).length,
  }
}

test('session, consent, waiting request, code, tokens and keys survive', async () => {
  const agent = new RawBrowser(origin)
  const { body: tokens } = await redeem(codeOf(await agent.grant(request)))
  const unused = codeOf(await agent.get(silent))
  const stranger = new RawBrowser(origin)
  const page = await stranger.open(request)
  const keysBefore = await jwks()

  await kill()
  await startAgain()

  expect(await jwks()).toEqual(keysBefore)
  const { payload } = await jwtVerify(tokens.id_token, createLocalJWKSet(await jwks()), {
    issuer,
    audience: 'web',
    algorithms: ['RS256'],
  })
  expect(payload.sub).toEqual(expect.any(String))
  const userinfo = await supertest(origin)
    .get('/oauth/userinfo')
    .auth(tokens.access_token, { type: 'bearer' })
  expect({ status: userinfo.status, sub: userinfo.body.sub }).toEqual({ status: 200, sub: payload.sub })

  const later = browserWith(agent.cookies)
  const { body: again } = await redeem(codeOf(await later.get(silent)))
  const { payload: next } = await jwtVerify(again.id_token, createLocalJWKSet(keysBefore))
  expect(next).toMatchObject({ sub: payload.sub, auth_time: payload.auth_time })

  expect((await redeem(unused)).status).toBe(200)
  expect((await redeem(unused)).body.error).toBe('invalid_grant')
  const refreshed = await refresh(tokens.refresh_token)
  expect(refreshed.status).toBe(200)
  expect((await refresh(refreshed.body.refresh_token)).status).toBe(200)
  // A person who was about to sign in goes on with the page that was on the screen.
  codeOf(await browserWith(stranger.cookies).signIn(page))
})

test('a code that was being redeemed is usable or consumed with one child, wherever the cut falls', async () => {
  const agent = new RawBrowser(origin)
  const code = codeOf(await agent.grant(request))
  const cookies = agent.cookies
  const codes = [code]
  for (let more = 0; more < 11; more += 1) codes.push(codeOf(await agent.get(silent)))
  // Every answer that got out counts as a promise kept; the first one cuts the power for all the others.
  const answered = new Map<string, number>()
  const redemptions = codes.map((each) =>
    redeem(each).then(
      ({ status }) => {
        answered.set(each, status)
        server?.kill()
      },
      () => {},
    ),
  )
  await Promise.all(redemptions)
  await kill()
  await startAgain()
  expect(answered.size).toBeGreaterThan(0)
  for (const each of codes) {
    const state = await stateOf(each)
    const children = state.consumed ? 1 : 0
    expect(state).toEqual({ consumed: state.consumed, refreshTokens: children, accessTokens: children })
    if (answered.has(each))
      expect({ status: answered.get(each), consumed: state.consumed }).toEqual({
        status: 200,
        consumed: true,
      })
    const { status, body } = await redeem(each)
    expect({ status, error: body.error }).toEqual(
      state.consumed ? { status: 400, error: 'invalid_grant' } : { status: 200, error: undefined },
    )
  }
  codeOf(await browserWith(cookies).get(silent))
})

test('a refresh token that was being rotated leads to one successor, wherever the cut falls', async () => {
  const agent = new RawBrowser(origin)
  const first = codeOf(await agent.grant(request))
  const codes = [first]
  for (let more = 0; more < 5; more += 1) codes.push(codeOf(await agent.get(silent)))
  const tokens: { code: string; token: string }[] = []
  for (const code of codes) tokens.push({ code, token: (await redeem(code)).body.refresh_token })
  await Promise.all(
    tokens.map(({ token }) =>
      refresh(token).then(
        () => void server?.kill(),
        () => {},
      ),
    ),
  )
  await kill()
  await startAgain()
  for (const { code, token } of tokens) {
    const [row] = await ownKnex('oauth_refresh_tokens').where({ hash: hashSecret(token) })
    expect((await stateOf(code)).refreshTokens).toBe(row.consumed_at === null ? 1 : 2)
    // Within the window a client that never saw the answer asks again and gets the one successor.
    const { status, body } = await refresh(token)
    expect({ status, error: body.error }).toEqual({ status: 200, error: undefined })
    expect((await stateOf(code)).refreshTokens).toBe(2)
    expect((await refresh(body.refresh_token)).status).toBe(200)
  }
})
