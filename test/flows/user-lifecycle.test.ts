import session from 'express-session'
import { authRouter } from '../../lib/index.ts'
import { openTestDatabase } from '../support/database.ts'
import { authorizeUrl, callback, clients, type Host, issuer, secret, startHost } from '../support/host.ts'
import { claimsOf, codeOf, expectErrorRedirect } from '../support/outcomes.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import {
  answerOf,
  expectError,
  guarded,
  introspect,
  redeem,
  refresh,
  type TokenAnswer,
  userinfo,
} from '../support/tokens.ts'

const scope = 'openid notes:read'
const offline = `${scope} offline_access`

let host: Host
beforeAll(async () => {
  const other = { client_id: 'other', client_secret: secret, redirect_uris: [callback] }
  host = await startHost({ clients: [...clients, other] })
})
afterAll(() => host.close())

interface Person {
  readonly agent: RawBrowser
  /** Without and with `offline_access`. */
  readonly tokens: readonly [TokenAnswer, TokenAnswer]
}

const signedIn = async (as?: { email: string; password: string }, of = host): Promise<Person> => {
  const agent = new RawBrowser(of.app)
  const grant = async (asked: string): Promise<TokenAnswer> => {
    const done = await agent.grant(authorizeUrl({ client_id: 'web', scope: asked }), as?.email, as?.password)
    return answerOf(redeem(of, codeOf(done)))
  }
  return { agent, tokens: [await grant(scope), await grant(offline)] }
}

const silent = authorizeUrl({ client_id: 'web', scope, prompt: 'none' })

/** Whether session, access tokens and refresh tokens still work, the last being used up by it. */
const standing = async ({ agent, tokens }: Person, of = host): Promise<unknown[]> => {
  const answers: unknown[] = [(await agent.get(silent)).location?.searchParams.get('error') ?? 'signed in']
  for (const { access_token, refresh_token } of tokens) {
    answers.push([
      (await userinfo(of, access_token)).status,
      (await guarded(of, access_token)).status,
      (await introspect(of, access_token)).body.active,
      (await refresh(of, refresh_token)).status,
    ])
  }
  return answers
}
const alive = ['signed in', [200, 200, true, 200], [200, 200, true, 200]]
const dead = ['login_required', [401, 401, false, 400], [401, 401, false, 400]]

describe('users.revokeAll(id)', () => {
  test('takes the subject too', async () => {
    const person = await signedIn()
    await host.oauth.users.revokeAll('1')
    expect(await standing(person)).toEqual(dead)
  })

  test('an unknown id changes nothing', async () => {
    const person = await signedIn()
    for (const id of ['4711', 0, -1, '', ' 1', 'a\0b', '01', '1.0', "1' OR '1'='1", '%', 'ä'.repeat(300)])
      await host.oauth.users.revokeAll(id)
    expect(await standing(person)).toEqual(alive)
  })

  test('ends a code that was not redeemed, also one with offline_access', async () => {
    const { agent } = await signedIn()
    const codes = [
      codeOf(await agent.get(silent)),
      codeOf(await agent.get(authorizeUrl({ client_id: 'web', scope: offline, prompt: 'none' }))),
    ]
    await host.oauth.users.revokeAll(1)
    for (const code of codes) expectError(await redeem(host, code), 400, 'invalid_grant')
  })

  test('a refresh token has no replay window afterwards', async () => {
    const { tokens } = await signedIn()
    const next = await answerOf(refresh(host, tokens[1].refresh_token))
    await host.oauth.users.revokeAll(1)
    expectError(await refresh(host, tokens[1].refresh_token), 400, 'invalid_grant')
    expectError(await refresh(host, next.refresh_token), 400, 'invalid_grant')
  })

  test('pages ask for the password again, and later grants are valid', async () => {
    const { agent } = await signedIn()
    const before = agent.clone()
    await host.oauth.users.revokeAll(1)
    const login = await agent.open(authorizeUrl({ client_id: 'web', scope }))
    expect(login.url.pathname).toBe('/oauth/login')
    const tokens = await answerOf(redeem(host, codeOf(await agent.signIn(login))))
    expect((await userinfo(host, tokens.access_token)).status).toBe(200)
    expect((await refresh(host, tokens.refresh_token)).status).toBe(200)
    expectErrorRedirect(await before.get(silent), 'login_required')
  })

  test('a consent page that is open answers nothing any more', async () => {
    const { agent } = await signedIn()
    const consent = await agent.open(authorizeUrl({ client_id: 'other', scope, prompt: 'consent' }))
    await host.oauth.users.revokeAll(1)
    const answer = await agent.decide(consent, 'allow')
    expect(answer.url.pathname).toBe('/oauth/login')
    expect(answer.html).toContain('You were signed out.')
  })

  test('many times at once', async () => {
    const person = await signedIn()
    await Promise.all([1, 2, 3, 4, 5].map(() => host.oauth.users.revokeAll(1)))
    expect(await standing(person)).toEqual(dead)
  })

  test('rejects while the database fails, and works when it is back', async () => {
    const person = await signedIn()
    const { knex, tablePrefix } = host.database
    for (const name of ['logins', 'authorizations']) {
      await knex.schema.renameTable(`${tablePrefix}${name}`, `${tablePrefix}away`)
      const failed = host.oauth.users.revokeAll(1)
      await expect(failed).rejects.toMatchObject({ code: 'temporarily_unavailable' })
      await knex.schema.renameTable(`${tablePrefix}away`, `${tablePrefix}${name}`)
    }
    await host.oauth.users.revokeAll(1)
    expect(await standing(person)).toEqual(dead)
  })

  test('may be the first thing that a process asks: it waits for the schema', async () => {
    const database = openTestDatabase()
    const { knex, tablePrefix } = database
    const secrets = ['a secret of the tests that is long enough']
    const logger = { info: () => {}, warn: () => {}, error: () => {} }
    const oauth = authRouter({ issuer, database: knex, tablePrefix, secrets, logger })
    await oauth.users.revokeAll('1')
    await oauth.close()
    await database.close()
  })
})

describe('users.signedOut(req)', () => {
  let hosted: Host
  beforeAll(async () => {
    const before = [session({ secret: 'of the host', resave: false, saveUninitialized: false })]
    hosted = await startHost({ before })
    hosted.app.post('/sign-out', (req, res, next) => {
      hosted.oauth.users.signedOut(req).then(() => res.send('bye'), next)
    })
  })
  afterAll(() => hosted.close())

  test('ends the login of this browser and what hangs on it; what was granted offline stays', async () => {
    const [person, elsewhere] = [await signedIn(undefined, hosted), await signedIn(undefined, hosted)]
    expect((await person.agent.post('/sign-out', {})).html).toBe('bye')
    expect(await standing(person, hosted)).toEqual([dead[0], dead[1], alive[2]])
    expect(await standing(elsewhere, hosted)).toEqual(alive)
  })

  test('ends what was granted before the user signed in again', async () => {
    const { agent, tokens } = await signedIn(undefined, hosted)
    const again = await agent.grant(authorizeUrl({ client_id: 'web', scope, prompt: 'login' }))
    const later = await answerOf(redeem(hosted, codeOf(again)))
    expect(claimsOf(later.id_token).sid).not.toBe(claimsOf(tokens[0].id_token).sid)
    expect((await userinfo(hosted, tokens[0].access_token)).status).toBe(200)
    await agent.post('/sign-out', {})
    for (const { access_token } of [tokens[0], later])
      expect((await userinfo(hosted, access_token)).status).toBe(401)
  })

  test('changes nothing a second time, or for an unknown user', async () => {
    const { agent } = await signedIn(undefined, hosted)
    for (const browser of [agent, agent, new RawBrowser(hosted.app)]) {
      expect((await browser.post('/sign-out', {})).html).toBe('bye')
    }
  })

  test('is harmless on a route without any session', async () => {
    host.app.post('/sign-out', (req, res, next) => {
      host.oauth.users.signedOut(req).then(() => res.send('bye'), next)
    })
    expect((await new RawBrowser(host.app).post('/sign-out', {})).html).toBe('bye')
  })
})
