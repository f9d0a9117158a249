import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLocalJWKSet, jwtVerify } from 'jose'
import knex, { type Knex } from 'knex'
import supertest from 'supertest'
import { seedClients, seedUsers } from '../../lib/index.ts'
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
  const rules = { issuer, audience: 'web', algorithms: ['RS256'] }
  const { payload } = await jwtVerify(tokens.id_token, createLocalJWKSet(await jwks()), rules)
  expect(payload.sub).toEqual(expect.any(String))
  const asking = supertest(origin).get('/oauth/userinfo')
  const userinfo = await asking.auth(tokens.access_token, { type: 'bearer' })
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
