// Every statement of every request, failing in turn. No list of statements is kept: each request runs once unharmed and
// is counted, then once for each of its statements and each way to fail; without TEST_ALL=1 or FAULTS=1 for a sample.
import type { Knex } from 'knex'
import { listen, type TestServer } from '../support/client-server.ts'
import { stopClock } from '../support/clock.ts'
import { createChance, faultSeed } from '../support/fault-chance.ts'
import {
  type DatabaseKind,
  describeOnEach,
  type FaultDatabase,
  isExhaustive,
  openFaultDatabase,
  silence,
} from '../support/fault-databases.ts'
import {
  faultClients,
  other,
  redemption,
  refreshing,
  type SignedIn,
  signIn,
} from '../support/fault-family.ts'
import { sqlitePragmas } from '../support/fault-pragmas.ts'
import { createSaboteur, ways } from '../support/fault-saboteur.ts'
import { watched } from '../support/fault-statements.ts'
import { authorizeUrl, createUsers, type Host, startHost } from '../support/host.ts'
import {
  codeOf,
  expectErrorPage,
  expectExpiredPage,
  expectUnavailable as expectFormUnavailable,
} from '../support/outcomes.ts'
import { type Answer, formOf, RawBrowser } from '../support/raw-browser.ts'
import { asserted, assertion, type ClientKey, createClientKey } from '../support/signing-client.ts'
import { web } from '../support/tokens.ts'

jest.setTimeout(300_000)

/** Statements of each request and way to fail, out of up to thirty. */
const sampleSize = 2

type Fields = Readonly<Record<string, string>>

/** Clients are told of a sign-out beside the request, so what fails there is in the log and not in the answer. */
const isAnnouncement = (sql: string): boolean => /clients\W.*authorizations\W+where \W*sid\W/.test(sql)

/** Something that a client or a browser does. */
interface Scenario {
  readonly name: string
  readonly kind: 'json' | 'page'
  /** Comes before it, unharmed; gives the request, which may be sent again. */
  readonly prepare: () => Promise<() => Promise<Answer>>
  /** What it answers when nothing fails. */
  readonly expect: (answer: Answer) => void
  /** What it answers when it is sent again after its only answer was lost, and it was done. */
  readonly expectRepeated?: (answer: Answer) => void
  /** Whether the page after it shows that it was done, although a later statement failed. */
  readonly showsWhatWasDone?: boolean
  /** Tables whose rows may remain of a page that failed half-way: nobody can reach them. */
  readonly leaves?: readonly string[]
}

// Nothing here is about power cuts, and a disk takes its time.
const pragmas = [...sqlitePragmas, 'synchronous = OFF']

const codeTables = ['access_tokens', 'refresh_tokens', 'authorizations', 'pending_requests']
const tables = [...codeTables, 'consents', 'logins', 'sessions', 'replays']

const ok = ({ status, html }: Answer): void => {
  expect({ status, html }).toEqual({ status: 200, html: expect.anything() })
}
const refused =
  (status: number, error: string) =>
  (answer: Answer): void => {
    expect({ status: answer.status, error: JSON.parse(answer.html).error }).toEqual({ status, error })
  }
const redirectsTo =
  (path: string) =>
  ({ status, location }: Answer): void => {
    expect({ status, path: location?.pathname }).toEqual({ status: 303, path })
  }
const codeOrGone = (answer: Answer): void => {
  if (answer.status === 303) codeOf(answer)
  else expectExpiredPage(answer)
}

const expectNothingTold = ({ html, headers }: Answer): void => {
  const told = html + JSON.stringify(headers)
  expect(told).not.toMatch(
    /\b(select|insert|update|delete|commit|rollback|begin)\b[\s\S]*\b(from|into|set|where)\b/i,
  )
  expect(told).not.toMatch(/no space left|secret-place|SQLITE|ER_[A-Z]|node_modules|\.ts:\d/)
}

const expectUnavailable = (kind: Scenario['kind'], answer: Answer): void => {
  expectNothingTold(answer)
  expect(answer.headers['retry-after']).toBe('1')
  if (kind === 'page') {
    if (answer.html.includes('name="password"')) expectFormUnavailable(answer)
    else expectErrorPage(answer, 503)
    return
  }
  expect({ status: answer.status, body: JSON.parse(answer.html) }).toEqual({
    status: 503,
    body: { error: 'temporarily_unavailable', error_description: expect.any(String) },
  })
  expect(answer.headers).toMatchObject({ 'content-type': 'application/json', 'cache-control': 'no-store' })
}

const onDatabase = (kind: DatabaseKind): void => {
  const saboteur = createSaboteur(kind)
  let database: FaultDatabase
  let host: Host
  let listener: TestServer
  let ada: SignedIn
  let steady: SignedIn
  let key: ClientKey
  /** The sessions of those two. */
  let sessions: string[]
  const unhandled: unknown[] = []
  const noteUnhandled = (error: unknown) => void unhandled.push(error)

  const table = (name: string): Knex.QueryBuilder => database.knex(`${database.tablePrefix}${name}`)

  beforeAll(async () => {
    process.on('unhandledRejection', noteUnhandled)
    // Or the keys would be read again once a minute, and be counted.
    stopClock()
    // Pauses before another attempt are of chance; none of them is waited for here.
    jest.spyOn(Math, 'random').mockReturnValue(0)
    key = await createClientKey('ES256')
    database = openFaultDatabase(kind, {
      own: (config) => ({ ...watched(config, saboteur.watch, pragmas), log: silence }),
    })
    // A table of the host's, which the kit reads through the host's own Knex instance.
    await createUsers(database, `${database.tablePrefix}people`)
    const unrotated = { ...faultClients[0]!, client_id: 'steady', refresh_token_rotation: false }
    const { client_secret: _, ...signing } = { ...faultClients[0]!, client_id: 'signing' }
    const jwks = { keys: [{ ...key.publicJwk, kid: 'k', alg: 'ES256', use: 'sig' }] }
    host = await startHost({
      database,
      clients: [
        ...faultClients,
        unrotated,
        { ...signing, token_endpoint_auth_method: 'private_key_jwt', jwks: jwks as never },
      ],
      options: { throttle: false, prune: false, refreshTokenGracePeriod: 3600 },
      before: [saboteur.middleware],
    })
    listener = await listen(host.app)
    ada = await signIn(listener.origin, { scope: 'openid email notes:read' })
    steady = await signIn(listener.origin, { client_id: 'steady' })
    sessions = (await table('sessions').select('id')).map(({ id }: { id: string }) => id)
  })
  afterAll(async () => {
    process.off('unhandledRejection', noteUnhandled)
    jest.restoreAllMocks()
    await listener.close()
    await host.close()
  })

  const bare = (): RawBrowser => new RawBrowser(listener.origin)
  const post = (path: string, fields: Fields) => (): Promise<Answer> => bare().post(path, fields)
  const bearer = (path: string, token: string) => (): Promise<Answer> =>
    bare().get(path, { authorization: `Bearer ${token}` })
  const tokenAnswer = async (fields: Fields): Promise<Record<string, string>> => {
    const answer = await bare().post('/oauth/token', fields)
    ok(answer)
    return JSON.parse(answer.html)
  }
  const tokens = async (parameters: Fields = {}, fields: Fields = {}): Promise<Record<string, string>> =>
    tokenAnswer(redemption(await ada.code(parameters), fields))

  const request = { client_id: 'web', scope: 'openid email notes:read', state: 's' }
  /** A browser of its own, with a request that waits at the sign-in page. */
  const atLogin = async () => {
    const browser = bare()
    return { browser, page: await browser.open(authorizeUrl(request)) }
  }
  const bob = { username: 'bob@example.com', password: 'bob’s password' }
  const atConsent = async () => {
    const { browser, page } = await atLogin()
    await table('consents').where({ subject: '2' }).delete()
    return { browser, page: await browser.submit(page, 'name="password"', bob) }
  }
  /** One request at a time, redirects not followed: each of them is a scenario of its own. */
  const submit = (browser: RawBrowser, page: Answer, has: string, fields: Fields = {}) => {
    const form = formOf(page.html, has)
    return () => browser.post(form.action, { ...form.fields, ...fields })
  }
  /** Signs in. What did not succeed is said on the page that the answer leads to. */
  const submitLogin =
    (browser: RawBrowser, page: Answer, fields: Fields = bob) =>
    async (): Promise<Answer> => {
      const answer = await submit(browser, page, 'name="password"', fields)()
      const isRefused = answer.setCookies.some((line) => /notice=[^;]/.test(line))
      return isRefused && answer.location ? browser.get(answer.location.href) : answer
    }
  /** Bob, who has allowed the client. */
  const allowed = async (): Promise<RawBrowser> => {
    const { browser, page } = await atConsent()
    codeOf(await browser.decide(page, 'allow'))
    return browser
  }

  const chance = createChance()
  /** Numbers of the statements that fail in turn. */
  const sampled = (statements: number): number[] =>
    chance
      .shuffled(Array.from({ length: statements }, (_, index) => index + 1))
      .slice(0, isExhaustive ? statements : sampleSize)

  const steadyClient = { client_id: 'steady', client_secret: web.client_secret }

  const asClient = (
    name: string,
    prepare: Scenario['prepare'],
    expect: Scenario['expect'] = ok,
    more: Partial<Scenario> = {},
  ): Scenario => ({ name, kind: 'json', prepare, expect, ...more })
  const inBrowser = (
    name: string,
    prepare: Scenario['prepare'],
    expect: Scenario['expect'] = ok,
    more: Partial<Scenario> = {},
  ): Scenario => ({ name, kind: 'page', prepare, expect, leaves: ['sessions'], ...more })
  /** Ada, who has allowed the client, with a page open that `address` leads to. */
  const adaAt = async (address: string) => {
    const browser = ada.browser.clone()
    return { browser, page: await browser.open(address) }
  }
  const choice = authorizeUrl({ ...request, prompt: 'select_account' })
  const isCode = (answer: Answer): void => void codeOf(answer)
  const isActive = ({ html }: Answer): void => expect(JSON.parse(html).active).toBe(true)
  const ownToken = { grant_type: 'client_credentials' }

  const scenarios: Scenario[] = [
    // Sent again it is a replay: it was redeemed.
    asClient('a code is redeemed', async () => post('/oauth/token', redemption(await ada.code())), ok, {
      expectRepeated: refused(400, 'invalid_grant'),
    }),
    asClient(
      'a code is replayed',
      async () => {
        const fields = redemption(await ada.code())
        await tokenAnswer(fields)
        return post('/oauth/token', fields)
      },
      refused(400, 'invalid_grant'),
    ),
    asClient('a token is refreshed', async () =>
      post('/oauth/token', refreshing((await tokens()).refresh_token)),
    ),
    asClient('a lost answer is repeated', async () => {
      const fields = refreshing((await tokens()).refresh_token)
      await tokenAnswer(fields)
      return post('/oauth/token', fields)
    }),
    asClient(
      'a refresh token is used again after its successor',
      async () => {
        const fields = refreshing((await tokens()).refresh_token)
        await tokenAnswer(refreshing((await tokenAnswer(fields)).refresh_token))
        return post('/oauth/token', fields)
      },
      refused(400, 'invalid_grant'),
    ),
    asClient('a token is refreshed without rotation', async () => {
      const { refresh_token } = await tokenAnswer(redemption(await steady.code(), steadyClient))
      return post('/oauth/token', refreshing(refresh_token, steadyClient))
    }),
    asClient('a client asks for a token of its own', async () =>
      post('/oauth/token', { ...ownToken, ...web }),
    ),
    // An assertion is good for one request, whatever became of it; a client writes another.
    asClient(
      'a client authenticates with an assertion',
      async () => async () => {
        const jwt = await assertion('signing', key, {}, { kid: 'k' })
        return post('/oauth/token', { ...ownToken, ...asserted(jwt) })()
      },
      ok,
      { leaves: ['replays'] },
    ),
    asClient(
      'a client is unknown',
      async () => post('/oauth/token', { ...ownToken, ...other, client_id: 'x' }),
      refused(401, 'invalid_client'),
    ),
    asClient('userinfo is read', async () => bearer('/oauth/userinfo', (await tokens()).access_token!)),
    asClient('the host’s API is called', async () =>
      bearer('/api/notes', (await tokens({ scope: 'openid notes:read' })).access_token!),
    ),
    ...(['access_token', 'refresh_token'] as const).flatMap((kind) => [
      asClient(`the ${kind} is revoked`, async () =>
        post('/oauth/revoke', { token: (await tokens())[kind]!, ...web }),
      ),
      asClient(
        `the ${kind} is introspected`,
        async () => post('/oauth/introspect', { token: (await tokens())[kind]!, ...web }),
        isActive,
      ),
    ]),
    inBrowser(
      'a request arrives',
      async () => {
        const browser = bare()
        return () => browser.get(authorizeUrl(request))
      },
      redirectsTo('/oauth/login'),
      { leaves: [] },
    ),
    inBrowser(
      'a request is answered without a page',
      async () => {
        const browser = ada.browser.clone()
        return () => browser.get(authorizeUrl({ ...request, scope: 'openid email', prompt: 'none' }))
      },
      isCode,
    ),
    inBrowser(
      'the sign-in page is shown',
      async () => {
        const { browser, page } = await atLogin()
        return () => browser.get(page.url.href)
      },
      ok,
      { leaves: [] },
    ),
    inBrowser(
      'a user signs in',
      async () => {
        const { browser, page } = await atLogin()
        return submitLogin(browser, page)
      },
      redirectsTo('/oauth/consent'),
      { leaves: ['logins', 'sessions'] },
    ),
    inBrowser(
      'a user signs in with a wrong password',
      async () => {
        const { browser, page } = await atLogin()
        return submitLogin(browser, page, { ...bob, password: 'wrong' })
      },
      ({ status }) => expect(status).toBe(400),
      { leaves: [] },
    ),
    inBrowser('the choice of an account is shown', async () => {
      const { browser, page } = await adaAt(choice)
      return () => browser.get(page.url.href)
    }),
    // Sent again: the request was used up by the answer that was lost.
    inBrowser(
      'an account is chosen',
      async () => {
        const { browser, page } = await adaAt(choice)
        return submit(browser, page, 'value="continue"', { decision: 'continue' })
      },
      isCode,
      { expectRepeated: codeOrGone },
    ),
    inBrowser('the consent page is shown', async () => {
      const { browser, page } = await atConsent()
      return () => browser.get(page.url.href)
    }),
    inBrowser(
      'a user allows',
      async () => {
        const { browser, page } = await atConsent()
        return submit(browser, page, 'value="allow"', { decision: 'allow' })
      },
      isCode,
      { expectRepeated: codeOrGone },
    ),
    inBrowser(
      'a user denies',
      async () => {
        const { browser, page } = await atConsent()
        return submit(browser, page, 'value="deny"', { decision: 'deny' })
      },
      (answer) => expect(answer.location?.searchParams.get('error')).toBe('access_denied'),
      { expectRepeated: expectExpiredPage },
    ),
    inBrowser('the sign-out page is shown', async () => {
      const browser = ada.browser.clone()
      return () => browser.get('/oauth/logout')
    }),
    inBrowser(
      'a user signs out',
      async () => {
        const { browser } = await atConsent()
        return submit(browser, await browser.open('/oauth/logout'), 'csrf_token')
      },
      ok,
      { leaves: ['logins', 'sessions'] },
    ),
    inBrowser('the account page is shown', async () => {
      const browser = await allowed()
      return () => browser.get('/oauth/account')
    }),
    inBrowser(
      'a user signs in on the account page',
      async () => {
        const browser = bare()
        return submitLogin(browser, await browser.get('/oauth/account'))
      },
      redirectsTo('/oauth/account'),
      { leaves: ['logins', 'sessions'], showsWhatWasDone: true },
    ),
    inBrowser(
      'a user removes a client',
      async () => {
        const browser = await allowed()
        return submit(browser, await browser.get('/oauth/account?client_id=web'), 'name="client_id"')
      },
      redirectsTo('/oauth/account'),
    ),
  ]

  /** Rows in one order. */
  const rowsOf = async (name: string): Promise<string[]> => {
    const rows: Record<string, unknown>[] = await table(name).select('*')
    return rows.map((row) => JSON.stringify(row)).sort()
  }

  const snapshot = async (without: readonly string[] = []): Promise<Record<string, string[]>> => {
    const contents: Record<string, string[]> = {}
    for (const name of tables) if (!without.includes(name)) contents[name] = await rowsOf(name)
    return contents
  }

  const expectFreePool = async (): Promise<void> => {
    const { pool } = database.knex.client
    // Work beside the request may go on for a moment.
    for (let look = 0; look < 500 && pool.numUsed() > 0; look += 1)
      await new Promise((resolve) => setTimeout(resolve, 2))
    expect({ used: pool.numUsed(), waiting: pool.numPendingAcquires() }).toEqual({ used: 0, waiting: 0 })
  }

  beforeEach(async () => {
    for (const name of codeTables) await table(name).delete()
    // Bob’s of the test before; each would be ended, and counted, when something ends all that he has.
    for (const name of ['logins', 'consents']) await table(name).where({ subject: '2' }).delete()
    await table('sessions').whereNotIn('id', sessions).delete()
  })

  describe.each(scenarios)('$name', (scenario) => {
    const { prepare, kind: answerKind, leaves } = scenario

    const tried = isExhaustive ? ways : chance.shuffled(ways).slice(0, kind === 'SQLite' ? 2 : 1)
    test.each(tried)('while a statement $name', async (way) => {
      const unharmed = await saboteur.during(undefined, 0, await prepare())
      scenario.expect(unharmed.result)
      expect(unharmed.statements).toBeGreaterThan(0)
      for (const statement of sampled(unharmed.statements)) {
        const send = await prepare()
        const before = await snapshot(leaves)
        const { result: answer, struck } = await saboteur.during(way, statement, send)
        await expectFreePool()
        const after = await snapshot(leaves)
        const isBeside = statement > unharmed.decidedAt || (struck !== undefined && isAnnouncement(struck))
        if (way.heals || struck === undefined || (isBeside && answer.status !== 503)) {
          scenario.expect(answer)
          continue
        }
        if (scenario.showsWhatWasDone && answer.status === 200) continue
        expect({ struck, status: answer.status }).toEqual({ struck, status: 503 })
        expectUnavailable(answerKind, answer)
        const isDone = JSON.stringify(after) !== JSON.stringify(before)
        // Only what ran and was not told may have been done.
        if (!way.loses) expect(after).toEqual(before)
        const again = await send()
        if (isDone && scenario.expectRepeated) scenario.expectRepeated(again)
        else scenario.expect(again)
      }
      expect(unhandled).toEqual([])
    })
  })

  test('users.revokeAll() rejects, and works the next time', async () => {
    for (const way of ways) {
      await table('logins').where({ subject: '2' }).delete()
      const tell = (): Promise<unknown> =>
        host.oauth.users.revokeAll(2).then(
          () => 'told',
          (error: unknown) => error,
        )
      await atConsent()
      const { statements } = await saboteur.during(undefined, 0, tell)
      for (const statement of sampled(statements)) {
        const { browser } = await atConsent()
        const { result, struck } = await saboteur.during(way, statement, tell)
        const isBeside = struck === undefined || isAnnouncement(struck)
        if (way.heals || (isBeside && result === 'told')) expect(result).toBe('told')
        else {
          expect(result).toMatchObject({ code: 'temporarily_unavailable' })
          expect(await tell()).toBe('told')
        }
        await expectFreePool()
        const silent = await browser.get(authorizeUrl({ ...request, prompt: 'none' }))
        expect(silent.location?.searchParams.get('error')).toBe('login_required')
      }
    }
  })

  test('discovery and keys need no statement', async () => {
    for (const path of ['/oauth/.well-known/openid-configuration', '/oauth/jwks']) {
      const { result, statements } = await saboteur.during(ways[1], 1, () => bare().get(path))
      ok(result)
      expect(statements).toBe(0)
    }
  })
}

describeOnEach(`every statement failing in turn (FAULT_SEED=${faultSeed})`, onDatabase)
