import type { Knex } from 'knex'
import { askedBy, createAuthenticator, passkeyForm } from '../support/authenticator.ts'
import { other, redemption, refreshing, type SignedIn } from '../support/fault-family.ts'
import { authorizeUrl } from '../support/host.ts'
import { codeOf, expectExpiredPage } from '../support/outcomes.ts'
import { type Answer, formOf, RawBrowser } from '../support/raw-browser.ts'
import { asserted, assertion, type ClientKey } from '../support/signing-client.ts'
import { web } from '../support/tokens.ts'

type Fields = Readonly<Record<string, string>>

/** Something that a client or a browser does. */
export interface Scenario {
  readonly name: string
  readonly kind: 'json' | 'page'
  /** Comes before it, unharmed; gives the request, which may be sent again. */
  readonly prepare: () => Promise<() => Promise<Answer>>
  /** What it answers when nothing fails. */
  readonly expect: (answer: Answer) => void
  /** What it answers when it is sent again after its only answer was lost, and it was done. */
  readonly expectRepeated?: (answer: Answer) => void
  /**
   * Whether the answer shows that it was done all the same: only the answer of a statement was lost, or a later statement
   * failed.
   */
  readonly showsWhatWasDone?: (answer: Answer, isAnswerLost: boolean) => boolean
  /** Tables in which a page that failed half-way may leave rows. No request can reach them. */
  readonly leaves?: readonly string[]
}

export const ok = ({ status, html }: Answer): void => {
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

/** Where scenarios happen; each part exists once the tests run. */
export interface ScenarioPlace {
  origin(): string
  ada(): SignedIn
  /** Ada at a client without rotation. */
  steady(): SignedIn
  /** Of the client that signs. */
  key(): ClientKey
  table(name: string): Knex.QueryBuilder
}

const request = { client_id: 'web', scope: 'openid email notes:read', state: 's' }

/** Every request of clients and browsers, and the openings that other tests share. */
export const createScenarios = (place: ScenarioPlace) => {
  const bare = (): RawBrowser => new RawBrowser(place.origin())
  const post = (path: string, fields: Fields) => (): Promise<Answer> => bare().post(path, fields)
  const bearer = (path: string, token: string) => (): Promise<Answer> =>
    bare().get(path, { authorization: `Bearer ${token}` })
  const tokenAnswer = async (fields: Fields): Promise<Record<string, string>> => {
    const answer = await bare().post('/oauth/token', fields)
    ok(answer)
    return JSON.parse(answer.html)
  }
  const tokens = async (parameters: Fields = {}, fields: Fields = {}): Promise<Record<string, string>> =>
    tokenAnswer(redemption(await place.ada().code(parameters), fields))

  /** A browser of its own, with a request that waits at the sign-in page. */
  const atLogin = async () => {
    const browser = bare()
    return { browser, page: await browser.open(authorizeUrl(request)) }
  }
  const bob = { username: 'bob@example.com', password: 'bob’s password' }
  const atConsent = async () => {
    const { browser, page } = await atLogin()
    await place.table('consents').where({ subject: '2' }).delete()
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
  ): Scenario => ({ name, kind: 'page', prepare, expect, ...more })
  /** Ada, who has allowed the client, with a page open that `address` leads to. */
  const adaAt = async (address: string) => {
    const browser = place.ada().browser.clone()
    return { browser, page: await browser.open(address) }
  }
  const choice = authorizeUrl({ ...request, prompt: 'select_account' })
  const isCode = (answer: Answer): void => void codeOf(answer)
  const isActive = ({ html }: Answer): void => expect(JSON.parse(html).active).toBe(true)
  const ownToken = { grant_type: 'client_credentials' }

  const scenarios: Scenario[] = [
    // Sent again it is a replay: it was redeemed.
    asClient(
      'a code is redeemed',
      async () => post('/oauth/token', redemption(await place.ada().code())),
      ok,
      {
        expectRepeated: refused(400, 'invalid_grant'),
      },
    ),
    asClient(
      'a code is replayed',
      async () => {
        const fields = redemption(await place.ada().code())
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
      const { refresh_token } = await tokenAnswer(redemption(await place.steady().code(), steadyClient))
      return post('/oauth/token', refreshing(refresh_token, steadyClient))
    }),
    asClient('a client asks for a token of its own', async () =>
      post('/oauth/token', { ...ownToken, ...web }),
    ),
    // An assertion is good for one request, whatever became of it; a client writes another.
    asClient(
      'a client authenticates with an assertion',
      async () => async () => {
        const jwt = await assertion('signing', place.key(), {}, { kid: 'k' })
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
        const browser = place.ada().browser.clone()
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
      // The sign-in page sends a user who is signed in to the next page.
      {
        leaves: ['logins'],
        showsWhatWasDone: ({ status, location }, isAnswerLost) =>
          isAnswerLost && status === 303 && location?.pathname === '/oauth/consent',
      },
    ),
    // A challenge is good for one answer, whatever became of it; the page makes another.
    inBrowser(
      'a user signs in with a passkey',
      async () => {
        const { browser, page } = await atLogin()
        const authenticator = createAuthenticator()
        await place.table('passkeys').delete()
        await place.table('passkeys').insert(authenticator.row('2'))
        return async () => {
          const login = await browser.get(page.url.href)
          if (!login.html.includes('id="passkey"')) return login
          return submitLogin(browser, login, { passkey: authenticator.get(askedBy(login)) })()
        }
      },
      redirectsTo('/oauth/consent'),
      { leaves: ['logins', 'replays'] },
    ),
    inBrowser(
      'a passkey is added',
      async () => {
        const browser = bare()
        const url = '/oauth/account/passkeys'
        await place.table('passkeys').delete()
        await browser.submit(await browser.open(url), 'name="password"', bob)
        return async () => {
          const list = await browser.get(url)
          if (!list.html.includes('id="passkey"')) return list
          const passkey = createAuthenticator().create(askedBy(list))
          const answer = await browser.post(url, { ...passkeyForm(list).fields, passkey })
          return answer.location ? browser.get(answer.location.href) : answer
        }
      },
      (answer) => {
        ok(answer)
        expect(answer.html).toContain('Passkey added.')
      },
      { leaves: ['replays'] },
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
      const browser = place.ada().browser.clone()
      return () => browser.get('/oauth/logout')
    }),
    inBrowser(
      'a user signs out',
      async () => {
        const { browser } = await atConsent()
        return submit(browser, await browser.open('/oauth/logout'), 'csrf_token')
      },
      ok,
      { leaves: ['logins'] },
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
      { leaves: ['logins'], showsWhatWasDone: ({ status }) => status === 200 },
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

  return { bare, atConsent, request, scenarios }
}
