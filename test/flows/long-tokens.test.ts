import supertest from 'supertest'
import { lengths } from '../../lib/protocol/lengths.ts'
import { tokenExchangeGrantType, tokenTypes } from '../../lib/protocol/tokens/token-exchange.ts'
import { authorizeUrl, callback, type Host, secret, startHost } from '../support/host.ts'
import { codeOf, expectErrorRedirect } from '../support/outcomes.ts'
import { type Answer, formOf, pageOf, RawBrowser } from '../support/raw-browser.ts'
import {
  answerOf,
  guarded,
  introspect,
  post,
  redeem,
  revoke,
  type TokenAnswer,
  userinfo,
} from '../support/tokens.ts'

// A user may be in hundreds of groups, and a client may have scores of scopes.

type Fields = Record<string, string>

const api = 'https://api.example.com'
const bye = 'https://client.example.com/bye'
const scopes = Array.from({ length: 70 }, (_, number) => `https://api.example.com/scopes/area-${number}.read`)
const userScope = 'openid groups'

const warnings: string[] = []
let groups: string[] = []
let host: Host
beforeAll(async () => {
  host = await startHost({
    options: {
      logger: { info: () => {}, warn: (line: string) => warnings.push(line), error: () => {} },
      users: {
        find: (id) => ({ id }),
        authenticate: () => ({ id: '1' }),
        claims: () => ({ groups }),
      },
      scopes: {
        groups: { description: 'See your groups', claims: ['groups'] },
        'notes:read': 'Read your notes',
        ...Object.fromEntries(scopes.map((name, number) => [name, `Read area ${number}`])),
      },
      resources: {
        [api]: {
          scopes: [...scopes, 'notes:read'],
          accessToken: 'jwt',
          introspection: ['web'],
          claims: () => ({ groups }),
        },
      },
      protocol: { tokenExchange: { allow: () => true } },
    },
    clients: [
      {
        client_id: 'web',
        client_secret: secret,
        redirect_uris: [callback],
        post_logout_redirect_uris: [bye],
        grant_types: ['authorization_code', 'refresh_token', tokenExchangeGrantType],
        id_token_scope_claims: true,
        scope: [userScope, 'notes:read', ...scopes].join(' '),
      },
    ],
  })
  host.app.get('/api/area', host.oauth.requireToken('notes:read', { resource: api }), (_req, res) => {
    res.json({ isRead: true })
  })
})
afterAll(() => host.close())

/** A person whose tokens have about as many characters. */
const visitor = async (characters: number, parameters: Fields = {}) => {
  const count = Math.floor((characters * 3) / 4 / 40)
  groups = Array.from({ length: count }, (_, number) => `group-${number}`.padEnd(37, 'x'))
  const agent = new RawBrowser(host.app)
  const done = await agent.grant(authorizeUrl({ client_id: 'web', scope: userScope, ...parameters }))
  return { agent, tokens: await answerOf(redeem(host, codeOf(done))) }
}

describe('an ID token of 10 kB', () => {
  const asHint = async () => {
    const { agent, tokens } = await visitor(10_000)
    expect(tokens.id_token.length).toBeGreaterThan(10_000)
    return { agent, id_token_hint: tokens.id_token }
  }

  test('is a hint at /authorize', async () => {
    const { agent, id_token_hint } = await asHint()
    codeOf(
      await agent.get(authorizeUrl({ client_id: 'web', scope: userScope, prompt: 'none', id_token_hint })),
    )
  })

  test.each(['GET', 'POST'])(
    'is a hint at /logout by %s, and the user is signed out at once',
    async (way) => {
      const { agent, id_token_hint } = await asHint()
      const asked = { id_token_hint, post_logout_redirect_uri: bye }
      const left =
        way === 'GET'
          ? await agent.get(`/oauth/logout?${new URLSearchParams(asked)}`)
          : await agent.submit(await agent.post('/oauth/logout', asked), 'id="form-post"')
      expect(left.headers.location).toBe(bye)
    },
  )
})

describe('a JWT access token of 9.9 kB is read', () => {
  let token = ''
  beforeAll(async () => {
    const { tokens } = await visitor(9900, { scope: 'notes:read', resource: api })
    token = tokens.access_token
    expect(token.length).toBeGreaterThan(9900)
  })

  test('by a guard', async () => {
    expect((await guarded(host, token, '/api/area')).body).toEqual({ isRead: true })
  })

  test('at introspection', async () => {
    expect((await introspect(host, token)).body).toMatchObject({ active: true })
  })

  test('in a token exchange, as the token of the user and of the actor', async () => {
    const answer = await post(host, {
      grant_type: tokenExchangeGrantType,
      client_id: 'web',
      client_secret: secret,
      subject_token: token,
      subject_token_type: tokenTypes.accessToken,
      actor_token: token,
      actor_token_type: tokenTypes.accessToken,
      resource: api,
    })
    expect(answer.body).toMatchObject({ issued_token_type: tokenTypes.accessToken })
  })

  test('at revocation, which says that it ends by itself', async () => {
    expect((await revoke(host, token)).body).toMatchObject({ error: 'unsupported_token_type' })
  })
})

test('an access token in a form at UserInfo may be as long as one in the header', async () => {
  const { tokens } = await visitor(100)
  const padded = { access_token: tokens.access_token.padEnd(9900, 'A') }
  const answers = [
    await userinfo(host, padded.access_token),
    await supertest(host.app).post('/oauth/userinfo').type('form').send(padded),
  ]
  expect(answers.map(({ status }) => status)).toEqual([401, 401])
})

test('a client gets all of its 70 scopes at once', async () => {
  const { tokens } = await visitor(100, { scope: scopes.join(' '), resource: api })
  expect(tokens.scope.split(' ')).toEqual(scopes)
})

test('a token that is longer than this server reads is in the log', async () => {
  const about = () => warnings.filter((line) => line.includes(`${lengths.token} characters`))
  await visitor(lengths.token - 1000)
  expect(about()).toEqual([])
  const { tokens } = await visitor(lengths.token)
  expect(tokens.id_token.length).toBeGreaterThan(lengths.token)
  expect(about()).toEqual([expect.stringContaining('an ID token is longer than')])
})

describe('the form of a client', () => {
  const long = { client_id: 'web', scope: userScope, state: 's'.repeat(4000) }
  const asked = { ...long, response_type: 'code', redirect_uri: callback }
  const hinted = (agent: RawBrowser, tokens: TokenAnswer, fields: Fields = {}): Promise<Answer> =>
    agent.post('/oauth/logout', { id_token_hint: tokens.id_token, ...fields })
  /** What our own page sends again, without a click. */
  const again = (agent: RawBrowser, page: Answer): Promise<Answer> => {
    expect({ status: page.status, location: page.location, cookies: page.setCookies }).toEqual({
      status: 200,
      location: undefined,
      cookies: [],
    })
    return agent.submit(page, 'id="form-post"')
  }

  test('at /authorize is sent again by our own page and not repeated in a URL', async () => {
    const agent = new RawBrowser(host.app)
    const login = await again(agent, await agent.post('/oauth/authorize', asked))
    expect([pageOf(login), login.url.href.length < 1000]).toEqual(['200 /login', true])
    const done = await agent.signIn(login)
    codeOf(pageOf(done) === '200 /consent' ? await agent.decide(done, 'allow') : done)
    const { location } = await again(agent, await agent.post('/oauth/authorize', asked))
    expect(location?.searchParams.get('state')).toBe(long.state)
  })

  test('at /authorize keeps each resource that it names', async () => {
    const agent = new RawBrowser(host.app)
    const named = [...Object.entries({ ...asked, scope: 'notes:read' }), ['resource', api], ['resource', 'x']]
    const page = await agent.post('/oauth/authorize', named as [string, string][])
    expectErrorRedirect(page, 'invalid_target', { state: long.state })
    const login = await again(
      agent,
      await agent.post('/oauth/authorize', named.slice(0, -1) as [string, string][]),
    )
    expect(pageOf(login)).toBe('200 /login')
  })

  test('at /authorize in a frame, which shows no page of ours, comes again by GET', async () => {
    const agent = new RawBrowser(host.app)
    const silent = { ...asked, state: 's', prompt: 'none' }
    const answer = await agent.post('/oauth/authorize', silent, { 'Sec-Fetch-Dest': 'iframe' })
    expectErrorRedirect(await agent.follow(answer), 'login_required', { state: 's' })
  })

  test('that is empty comes again by GET at /logout, and lacks a client at /authorize', async () => {
    for (const fields of [{}, { client_form: '' }] as Record<string, string>[]) {
      const answer = await new RawBrowser(host.app).post('/oauth/logout', fields)
      expect([answer.status, answer.headers.location]).toEqual([303, '/oauth/logout?#_'])
      expect((await new RawBrowser(host.app).post('/oauth/authorize', fields)).status).toBe(400)
    }
  })

  test('that our page sends again is refused from another site, and neither reads nor sets a cookie', async () => {
    const { agent, tokens } = await visitor(100)
    for (const page of [
      await agent.post('/oauth/authorize', asked),
      await hinted(agent, tokens, { post_logout_redirect_uri: bye }),
    ]) {
      const { action, fields } = formOf(page.html, 'id="form-post"')
      const foreign = await agent.post(action, fields, { 'Sec-Fetch-Site': 'cross-site' })
      expect([foreign.status, foreign.setCookies]).toEqual([403, []])
    }
    codeOf(await agent.get(authorizeUrl({ client_id: 'web', scope: userScope, prompt: 'none' })))
  })

  test('at /logout has its languages, and its ID token is on no page that asks the user', async () => {
    const { agent } = await visitor(100)
    const { tokens } = await visitor(100)
    const page = await hinted(agent, tokens, { post_logout_redirect_uri: bye, state: 's', ui_locales: 'de' })
    const question = await again(agent, page)
    expect(question.html).toContain('<html lang="de"')
    expect(question.html).not.toContain(tokens.id_token)
    const done = await agent.submit(question, 'csrf_token')
    expect(done.headers.location).toBe(`${bye}?state=s`)
  })

  test('is refused where it is larger than any form of a client', async () => {
    const form = { ...asked, note: 'x'.repeat(70_000) }
    expect((await new RawBrowser(host.app).post('/oauth/authorize', form)).status).toBe(413)
  })
})
