import { decodeProtectedHeader } from 'jose'
import supertest from 'supertest'
import { clientAnswer } from '../support/client-answer.ts'
import { authorizeUrl, issuer, secret } from '../support/host.ts'
import { codeOf } from '../support/outcomes.ts'
import { everyClaim, grace } from '../support/person.ts'
import { type Answer, fieldsOf, type RawBrowser } from '../support/raw-browser.ts'
import { answerOf, expectError, introspect, redeem, refresh, userinfo } from '../support/tokens.ts'
import {
  algorithms,
  asking,
  browser,
  type Claims,
  everyScope,
  host,
  lean,
  ofTheUser,
  refusal,
  scopeLines,
  signedIn,
  sub,
  told,
  toldBy,
  user,
  verify,
  withClaims,
} from './claims-host.ts'

withClaims()

const credentials = { client_id: 'lean', client_secret: secret }
const { roles: _roles, rank: _rank, ...standardClaims } = everyClaim
const { email, email_verified, address, phone_number, phone_number_verified, ...profile } = standardClaims

/** A browser in which the user has signed in and allowed the client `lean` to know who they are. */
const known = async (): Promise<RawBrowser> => {
  const agent = browser()
  codeOf(await agent.grant(authorizeUrl(lean), grace.email, grace.password))
  return agent
}

describe('the standard scopes', () => {
  test.each([
    ['openid', {}],
    ['openid profile', profile],
    ['openid email', { email, email_verified }],
    ['openid address', { address }],
    ['openid phone', { phone_number, phone_number_verified }],
    [everyScope, standardClaims],
  ])('%s returns exactly its claims in UserInfo', async (scope, claims) => {
    const { idToken, userinfo } = await told(authorizeUrl({ ...lean, scope }))
    expect(userinfo).toEqual({ sub, ...claims })
    expect(idToken).toEqual({ sub })
  })

  test('are in the ID token too if the client is registered with id_token_scope_claims', async () => {
    const url = authorizeUrl({ ...lean, client_id: 'full', scope: everyScope })
    const { idToken } = await told(url, 'full')
    expect(idToken).toEqual({ sub, ...standardClaims })
  })
})

describe('the claims parameter', () => {
  test.each([['userinfo'], ['id_token']])(
    'returns claims in %s alone, however they are requested there',
    async (place) => {
      const { name, given_name, family_name, nickname, rank } = everyClaim
      const claims = {
        name: null,
        given_name: { essential: true },
        family_name: { value: family_name },
        nickname: { values: ['Another Name', nickname] },
        birthdate: { purpose: 'why not', essential: 'yes' },
        gender: 7,
        address: { value: address },
        rank: { value: rank },
        // Another value, of another type or within an object, leaves the claim out.
        email: { value: 'another@example.com' },
        updated_at: { essential: true, values: [String(everyClaim.updated_at), 7] },
        phone_number: { value: { phone_number } },
        auth_time: { essential: true },
      }
      const received = await told(asking({ [place]: claims }))
      const { birthdate, gender } = everyClaim
      const expected = { sub, name, given_name, family_name, nickname, birthdate, gender, address, rank }
      expect([received.userinfo, received.idToken]).toEqual(
        place === 'userinfo' ? [expected, { sub }] : [{ sub }, expected],
      )
    },
  )

  test.each(['lean', 'full'])(
    'with another value leaves the claim of %s out where it was requested, despite the scope',
    async (client_id) => {
      const [more, name] = [{ client_id, scope: 'openid profile' }, { value: 'Another User' }]
      const { userinfo, idToken } = await told(asking({ userinfo: { name } }, more), client_id)
      expect(userinfo).toMatchObject({ nickname: everyClaim.nickname })
      expect(userinfo).not.toHaveProperty('name')
      expect('name' in idToken).toBe(client_id === 'full')
      const again = await told(asking({ id_token: { name } }, more), client_id)
      expect(again.idToken).not.toHaveProperty('name')
      expect(again.userinfo).toHaveProperty('name')
    },
  )

  test('may request different claims for each place, also after a refresh', async () => {
    const claims = { userinfo: { given_name: null, address: { essential: true } }, id_token: { email: null } }
    const { tokens, userinfo: received, idToken } = await told(asking(claims, { scope: 'openid email' }))
    expect(received).toEqual({ sub, given_name: 'Grace', address, email, email_verified })
    expect(idToken).toEqual({ sub, email })
    const refreshed = await answerOf(refresh(host, tokens.refresh_token, credentials))
    expect(ofTheUser(await verify(refreshed.id_token, 'lean'))).toEqual(idToken)
    expect((await userinfo(host, refreshed.access_token)).body).toEqual(received)
  })

  test('is accepted if it is unknown, empty or absent', async () => {
    user.said = { name: '', nickname: null }
    const members = { name: null, nickname: { essential: true }, shoe_size: { essential: true } }
    const claims = { userinfo: members, id_token: members, other: { name: null } }
    const { userinfo, idToken } = await told(asking(claims))
    expect({ userinfo, idToken }).toEqual({ userinfo: { sub }, idToken: { sub } })
    for (const empty of ['{}', '{"userinfo":{}}', '{"id_token":{},"userinfo":{}}'])
      expect((await told(asking(empty))).userinfo).toEqual({ sub })
  })

  test('is invalid_request unless it is one short object of objects without control characters', async () => {
    const long = JSON.stringify({ userinfo: { name: { value: 'x'.repeat(2048) } } })
    const wrong = ['x', 'null', '7', '[]', '{"userinfo":null}', '{"userinfo":[]}', '{"id_token":7}']
    const nul = '{"userinfo":{"name":{"value":"\\u0000"}}}'
    const half = '{"userinfo":{"a\\ud800":null}}'
    const deep = `{"userinfo":{"name":{"value":${'['.repeat(20)}${']'.repeat(20)}}}}`
    const urls = [...wrong, '{"userinfo":{},}', '{"userinfo":{}}\u0000', nul, half, deep, long].map(
      (claims) => asking(claims),
    )
    for (const url of [...urls, `${asking('{}')}&claims=${encodeURIComponent('{}')}`])
      expect([url, clientAnswer(await browser().get(url))]).toEqual([url, refusal('invalid_request')])
  })
})

describe('a subject that is asked for', () => {
  const about = (value: unknown): Claims => ({ id_token: { sub: { value } } })

  test('must be one string; anything else is invalid_request, even for a signed-in user', async () => {
    const agent = await known()
    for (const claims of [
      about(4711),
      about(null),
      { id_token: { sub: { values: [sub, 'grace-2'] } } },
      { ...about(sub), userinfo: { sub: { value: 'grace-2' } } },
    ]) {
      const silent = await agent.get(asking(claims, { prompt: 'none' }))
      expect(clientAnswer(silent)).toEqual(refusal('invalid_request'))
    }
  })

  test('with prompt=none gives a code for that user, and login_required for others or no login', async () => {
    const agent = browser()
    const silent = (claims: Claims, more = {}) => agent.get(asking(claims, { prompt: 'none', ...more }))
    expect(clientAnswer(await silent(about(sub)))).toEqual(refusal('login_required'))
    const done = await agent.grant(asking(about(sub)), grace.email, grace.password)
    const { tokens } = await toldBy(done)
    for (const right of [
      about(sub),
      { userinfo: { sub: { value: sub } } },
      { userinfo: { sub: { values: [sub] } } },
    ])
      codeOf(await silent(right))
    const others = [about('grace-2'), about('GRACE-1'), about('')]
    for (const other of [
      ...others,
      { userinfo: { sub: { value: 'grace-2' } } },
      { userinfo: { sub: { values: ['grace-2'] } } },
    ])
      expect(clientAnswer(await silent(other))).toEqual(refusal('login_required'))
    // It must also be the subject of the hint.
    const hint = { id_token_hint: tokens.id_token }
    codeOf(await silent(about(sub), hint))
    expect(clientAnswer(await silent(about('grace-2'), hint))).toEqual(refusal('login_required'))
  })

  test('otherwise asks the user to sign in, and accepts no other user', async () => {
    const agent = await known()
    const page = await agent.open(asking(about('grace-2')))
    expect(page.url.pathname).toBe('/oauth/login')
    const done = await agent.signIn(page, grace.email, grace.password)
    expect(clientAnswer(done)).toEqual(refusal('login_required'))
  })
})

describe('acr', () => {
  test.each([
    ['asked for', null],
    ['essential whatever it is', { essential: true }],
    ['preferred', { values: ['urn:mace:incommon:iap:silver'] }],
  ])('%s is accepted, and no acr is returned', async (_, acr) => {
    const { tokens } = await told(asking({ id_token: { acr } }))
    expect(await verify(tokens.id_token, 'lean')).not.toHaveProperty('acr')
  })

  test.each([
    ['value', { essential: true, value: 'gold' }],
    ['values', { essential: true, values: ['gold', 'silver'] }],
  ])('essential with a certain %s cannot be met, and fails', async (_, acr) => {
    const answer = clientAnswer(await browser().get(asking({ id_token: { acr } })))
    expect(answer).toEqual(refusal('unmet_authentication_requirements'))
  })
})

test.each(algorithms)(
  'UserInfo that is signed by %s is a JWT from us for the client, of the same user',
  async (algorithm) => {
    const client_id = `signed-${algorithm}`
    const agent = browser()
    const done = await agent.grant(
      authorizeUrl({ client_id, scope: everyScope }),
      grace.email,
      grace.password,
    )
    const tokens = await answerOf(redeem(host, codeOf(done), { client_id }))
    const body = `access_token=${tokens.access_token}`
    let signed = ''
    for (const res of [
      await userinfo(host, tokens.access_token),
      await supertest(host.app).post('/oauth/userinfo').type('form').send(body),
    ]) {
      expect([res.status, res.headers['content-type']]).toEqual([200, 'application/jwt'])
      expect(res.headers['cache-control']).toBe('no-store')
      signed = res.text ?? Buffer.from(res.body).toString()
      expect(decodeProtectedHeader(signed)).toMatchObject({ alg: algorithm, kid: expect.any(String) })
      const { iat, ...claims } = await verify(signed, client_id)
      expect(claims).toEqual({ iss: issuer, aud: client_id, sub, ...standardClaims })
      expect(Number.isInteger(iat)).toBe(true)
    }
    // It is neither an access token nor an ID token.
    expectError(await userinfo(host, signed), 401, 'invalid_token')
    const asked = { client_id, scope: 'openid', state: 's', prompt: 'none', id_token_hint: signed }
    expect(clientAnswer(await agent.get(authorizeUrl(asked)))).toEqual(refusal('login_required'))
  },
)

const signIn = 'Sign you in with your Latchkey account'

describe('a claim that no scope of the client reveals', () => {
  const claims = { userinfo: { name: null, rank: null }, id_token: { salary: null } }

  test.each([
    ['narrow', { sub }],
    ['ours', { sub, name: everyClaim.name }],
  ])('is neither on the page nor released, for the client %s', async (client_id, released) => {
    user.said = { salary: 5000 }
    const agent = browser()
    let done = await signedIn(agent, asking(claims, { client_id }))
    if (client_id === 'narrow') {
      expect(scopeLines(done)).toEqual([signIn])
      done = await agent.decide(done, 'allow')
    }
    const { userinfo, idToken } = await toldBy(done, client_id)
    expect(userinfo).toEqual(released)
    expect(idToken).not.toHaveProperty('salary')
    codeOf(await agent.get(asking(claims, { client_id, prompt: 'none' })))
  })
})

describe('a claim of a scope that is optional and sensitive', () => {
  test('is shown like the scope, and only released if the user ticks it', async () => {
    user.said = { salary: 5000 }
    const line = 'Sensitive See: salary salary: 5000 Optional'
    const agent = browser()
    const url = asking({ id_token: { salary: null } }, { client_id: 'payroll' })
    const page = await signedIn(agent, url)
    expect(scopeLines(page)).toEqual([signIn, line])
    const unticked = await toldBy(await agent.decide(page, 'allow'), 'payroll')
    expect(unticked.idToken).not.toHaveProperty('salary')
    const again = await agent.open(url)
    expect(scopeLines(again)).toEqual([line.replace('salary salary', 'salary New salary'), signIn])
    const done = await agent.decide(again, 'allow', { 'scope:claim"salary': 'on' })
    expect((await toldBy(done, 'payroll')).idToken).toMatchObject({ salary: 5000 })
    codeOf(await agent.get(`${url}&prompt=none`))
  })

  test('is on the terms of the most sensitive scope, if the client has several that reveal it', async () => {
    const page = await signedIn(browser(), asking({ userinfo: { rank: null } }, { client_id: 'payroll' }))
    expect(scopeLines(page)[1]).toBe('Sensitive See: rank rank: 7 Optional')
  })
})

describe('a scope that the client loses', () => {
  const url = asking({ userinfo: { rank: null } }, { client_id: 'payroll', scope: 'openid profile roles' })
  const loses = () => host.oauth.clients.update('payroll', { scope: 'openid roles' })
  afterEach(() => host.oauth.clients.update('payroll', { scope: 'openid profile roles salary' }))
  const granted = async (): Promise<Answer> => {
    const agent = browser()
    const ticked = { 'scope:claim"rank': 'on', 'scope:roles': 'on' }
    return agent.decide(await signedIn(agent, url), 'allow', ticked)
  }

  test('before the page is neither shown nor granted', async () => {
    const agent = browser()
    const login = await agent.open(url)
    await loses()
    const page = await agent.signIn(login, grace.email, grace.password)
    expect(scopeLines(page)).toEqual([signIn, 'Know your roles roles: admiral Optional'])
    const done = await agent.decide(page, 'allow', { 'scope:roles': 'on' })
    const { tokens, userinfo } = await toldBy(done, 'payroll')
    expect(tokens.scope).toBe('openid roles')
    expect(userinfo).toEqual({ sub, roles: everyClaim.roles })
  })

  test('between the page and Allow shows the page again', async () => {
    const agent = browser()
    const page = await signedIn(agent, url)
    await loses()
    const done = await agent.decide(page, 'allow')
    expect(done.url.pathname).toBe('/oauth/consent')
    expect(done.html).toContain('This page has changed since you opened it.')
  })

  test('between Allow and the token is left out of it', async () => {
    const done = await granted()
    await loses()
    const { tokens, idToken } = await toldBy(done, 'payroll')
    expect(tokens.scope).toBe('openid roles')
    expect(idToken).toEqual({ sub, roles: everyClaim.roles })
  })

  test('after the token is no longer in it, nor are its claims', async () => {
    const { tokens, userinfo: before } = await toldBy(await granted(), 'payroll')
    expect(before).toMatchObject({ name: everyClaim.name, rank: 7 })
    await loses()
    const { body } = await userinfo(host, tokens.access_token)
    expect(body).toEqual({ sub, roles: everyClaim.roles })
    for (const token of [tokens.access_token, tokens.refresh_token])
      expect((await introspect(host, token, { client_id: 'payroll' })).body.scope).toBe('openid roles')
  })

  test('together with every other that was asked for is an error at the client', async () => {
    const agent = browser()
    const login = await agent.open(asking({}, { client_id: 'payroll', scope: 'profile' }))
    await loses()
    const done = await agent.signIn(login, grace.email, grace.password)
    expect(clientAnswer(done)).toEqual(refusal('invalid_scope'))
  })
})

describe('consent', () => {
  const phone = { userinfo: { phone_number: null } }
  const isAskedAgain = async (agent: RawBrowser, url: string): Promise<void> =>
    expect(clientAnswer(await agent.get(`${url}&prompt=none`))).toEqual(refusal('consent_required'))

  test('names each claim beyond the scopes, with the value, and no other', async () => {
    const inIdToken = { name: null, shoe_size: null }
    const claims = { userinfo: { phone_number: null, email: null }, id_token: inIdToken }
    const page = await signedIn(browser(), asking(claims, { scope: 'openid email' }))
    expect(page.url.pathname).toBe('/oauth/consent')
    const said = [email.replace('@', ' @'), phone_number, everyClaim.name]
    expect(scopeLines(page)).toEqual([`See who you are ${said.join(' ')}`])
  })

  test('is remembered for these, and asked again when they grow; what is new is marked', async () => {
    const agent = browser()
    codeOf(await agent.decide(await signedIn(agent, asking(phone)), 'allow'))
    const { birthdate } = everyClaim
    expect((await toldBy(await agent.get(asking(phone)))).userinfo).toEqual({ sub, phone_number })
    codeOf(await agent.get(authorizeUrl(lean)))
    const more = { userinfo: { phone_number: null }, id_token: { birthdate: null } }
    await isAskedAgain(agent, asking(more))
    const page = await agent.open(asking(more))
    expect(scopeLines(page)).toEqual([`See who you are New ${phone_number} Date of birth: ${birthdate}`])
    expect((await toldBy(await agent.decide(page, 'allow'))).idToken).toEqual({ sub, birthdate })
    for (const claims of [more, phone]) codeOf(await agent.get(asking(claims, { prompt: 'none' })))
  })

  test('to claims covers neither their scope nor another client; to a scope it covers its claims', async () => {
    const agent = browser()
    const whole = { userinfo: { phone_number: null, phone_number_verified: null } }
    codeOf(await agent.decide(await signedIn(agent, asking(whole)), 'allow'))
    await isAskedAgain(agent, authorizeUrl({ ...lean, scope: 'openid phone' }))
    await isAskedAgain(agent, asking(whole, { client_id: 'full' }))
    const page = await agent.open(asking(phone, { scope: 'openid phone' }))
    codeOf(await agent.decide(page, 'allow'))
    codeOf(await agent.get(asking(phone, { scope: 'openid phone', prompt: 'none' })))
  })

  test.each(['userinfo', 'id_token'])(
    'a claim in %s of an optional scope that was unticked is not told',
    async (place) => {
      const agent = browser()
      const url = asking({ [place]: { roles: { essential: true } } }, { scope: 'openid roles' })
      const page = await signedIn(agent, url)
      const { 'scope:roles': box, ...fields } = fieldsOf(page, 'value="allow"')
      expect(box).toBe('on')
      const done = await agent.follow(await agent.post('/oauth/consent', { ...fields, decision: 'allow' }))
      const { tokens, idToken, userinfo } = await toldBy(done)
      expect([tokens.scope, idToken, userinfo]).toEqual(['openid', { sub }, { sub }])
      // While it is ticked it is released.
      const ticked = await toldBy(await agent.decide(await agent.open(url), 'allow'))
      expect(ticked.userinfo.roles).toEqual(['admiral'])
    },
  )

  test('a form cannot add a claim that was not asked for', async () => {
    const agent = browser()
    const page = await signedIn(agent, authorizeUrl(lean))
    const more = { 'scope:claim:email': 'on', 'claim:email': 'on', claims: '{"userinfo":{"email":null}}' }
    expect((await toldBy(await agent.decide(page, 'allow', more))).userinfo).toEqual({ sub })
  })
})
