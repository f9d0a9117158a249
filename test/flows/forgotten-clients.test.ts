import supertest from 'supertest'
import { registration } from '../../lib/features/index.ts'
import { openDatabase } from '../../lib/storage/database/open.ts'
import { removeExpiredRows } from '../../lib/storage/repositories/pruning/schedule.ts'
import { type Clock, stopClock } from '../support/clock.ts'
import {
  type DatabaseKind,
  describeOnSampled,
  type FaultDatabase,
  openFaultDatabase,
} from '../support/fault-databases.ts'
import { expiredIn } from '../support/features.ts'
import { authorizeUrl, callback, createUsers, type Host, pkce, startHost } from '../support/host.ts'
import { codeOf, expectExpiredPage } from '../support/outcomes.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { answerOf, expectError, post, refresh } from '../support/tokens.ts'

const day = 86_400
const worker = 'Worker'

describeOnSampled('clients that describe themselves end after their last use', (kind: DatabaseKind) => {
  let database: FaultDatabase
  let host: Host
  let clock: Clock
  beforeAll(async () => {
    database = openFaultDatabase(kind)
    await createUsers(database, `${database.tablePrefix}people`)
    const allow = ({ client_name }: { client_name?: string | undefined }) =>
      client_name === worker && { grant_types: ['client_credentials' as const], scope: 'notes:read' }
    host = await startHost({
      database,
      clients: [],
      options: {
        database: { tablePrefix: database.tablePrefix, prune: false },
        features: [registration({ allow: (client) => allow(client) || undefined })],
        resources: { 'https://notes.example.com/api': { scopes: ['notes:read'] } },
        lifetimes: { refreshTokenIdle: 50 * day },
        limits: false,
      },
    })
  })
  afterAll(() => host.close())
  beforeEach(() => {
    clock = stopClock()
  })
  afterEach(() => jest.restoreAllMocks())

  const prune = () => {
    const { database: pruned } = openDatabase(database.knex, database.tablePrefix)
    return removeExpiredRows(pruned, {
      now: clock.now(),
      expired: expiredIn(host.oauth),
      refreshGracePeriod: 10,
    })
  }
  const after = async (days: number): Promise<void> => {
    clock.travel(days * day)
    await prune()
  }
  const native = {
    client_name: 'Notes',
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
    redirect_uris: [callback],
  }
  const register = async (members: object = native) => {
    const { body } = await supertest(host.app).post('/oauth/register').send(members).expect(201)
    return body
  }
  const grant = async (client_id: string, scope: string) => {
    const { verifier: code_verifier, challenge: code_challenge } = pkce()
    const asked = { client_id, scope, code_challenge, code_challenge_method: 'S256', prompt: 'consent' }
    const code = codeOf(await new RawBrowser(host.app).grant(authorizeUrl(asked)))
    const fields = { grant_type: 'authorization_code', redirect_uri: callback, client_id, code_verifier }
    return answerOf(post(host, { ...fields, code }))
  }
  const rowsOf = async (client_id: string): Promise<string[]> => {
    const names = ['clients', 'client_registrations', 'consents', 'authorizations']
    const found = await Promise.all(names.map((name) => database.table(name).where({ client_id })))
    return names.filter((_, place) => found[place]!.length > 0)
  }
  const refreshed = (client_id: string, token: string) =>
    refresh(host, token, { client_id, client_secret: undefined })

  test('90 days after the login, with its consents (I5)', async () => {
    const { client_id, registration_access_token: token } = await register()
    const { refresh_token } = await grant(client_id, 'openid notes:read')
    await after(1)
    await after(89)
    expect(await rowsOf(client_id)).toEqual(['clients', 'client_registrations', 'consents'])
    expectError(await refreshed(client_id, refresh_token), 400, 'invalid_grant')
    await after(2)
    expect(await rowsOf(client_id)).toEqual([])
    expectError(await refreshed(client_id, refresh_token), 401, 'invalid_client')
    const read = supertest(host.app).get(`/oauth/register/${client_id}`)
    expectError(await read.set('Authorization', `Bearer ${token}`), 401, 'invalid_token')
  })

  test('not while a refresh token works, but 90 days after the longest authorization (I5)', async () => {
    const { client_id } = await register()
    let { refresh_token } = await grant(client_id, 'openid offline_access')
    for (let month = 0; month < 9; month += 1) {
      await after(40)
      const answer = await answerOf(refreshed(client_id, refresh_token))
      refresh_token = answer.refresh_token
      // A later and shorter one changes nothing.
      if (month === 0) await grant(client_id, 'openid')
    }
    await after(90)
    expect(await rowsOf(client_id)).toEqual(['clients', 'client_registrations', 'consents'])
    await after(7)
    expect(await rowsOf(client_id)).toEqual([])
  })

  test('later if it gets another authorization meanwhile (I5)', async () => {
    const { client_id } = await register()
    await grant(client_id, 'openid')
    await after(80)
    await grant(client_id, 'openid')
    await after(80)
    expect(await rowsOf(client_id)).toEqual(['clients', 'client_registrations', 'consents'])
    await after(12)
    expect(await rowsOf(client_id)).toEqual([])
  })

  test('a client with tokens of its own stays while it gets some (I5)', async () => {
    const {
      client_id,
      registration_access_token: token,
      ...known
    } = await register({ redirect_uris: [callback] })
    const { client_secret } = known
    await supertest(host.app)
      .put(`/oauth/register/${client_id}`)
      .set('Authorization', `Bearer ${token}`)
      .send({ client_id, client_secret, client_name: worker, redirect_uris: [callback] })
      .expect(200)
    const ask = () => post(host, { grant_type: 'client_credentials' }).auth(client_id, client_secret)
    for (let month = 0; month < 5; month += 1) {
      await after(29)
      expect((await ask()).status).toBe(200)
    }
    await after(89)
    expect((await ask()).status).toBe(200)
    await after(92)
    expectError(await ask(), 401, 'invalid_client')
  })

  test('one that the host has let act for itself, or has disabled, stays (I5)', async () => {
    const own = await register({ client_name: worker, redirect_uris: [callback] })
    await post(host, { grant_type: 'client_credentials' }).auth(own.client_id, own.client_secret).expect(200)
    const disabled = await register()
    await grant(disabled.client_id, 'openid')
    await host.oauth.clients.disable(disabled.client_id)
    await after(1000)
    expect(await rowsOf(own.client_id)).toEqual(['clients', 'client_registrations'])
    expect(await rowsOf(disabled.client_id)).toEqual(['clients', 'client_registrations', 'consents'])
  })

  test('a client that ends at the moment of consent gets nothing (I5)', async () => {
    const { client_id } = await register()
    await grant(client_id, 'openid')
    clock.travel(92 * day)
    const browser = new RawBrowser(host.app)
    const { challenge: code_challenge } = pkce()
    const asked = {
      client_id,
      scope: 'openid',
      code_challenge,
      code_challenge_method: 'S256',
      prompt: 'consent',
    }
    const page = await browser.signIn(await browser.open(authorizeUrl(asked)))
    await prune()
    expectExpiredPage(await browser.decide(page, 'allow'))
    expect(await rowsOf(client_id)).toEqual([])
  })
})
