import { decodeProtectedHeader } from 'jose'
import supertest from 'supertest'
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
  signedIn,
  sub,
  withClaims,
} from '../support/claims-host.ts'
import { clientAnswer } from '../support/client-answer.ts'
import { authorizeUrl, issuer, secret } from '../support/host.ts'
import { codeOf } from '../support/outcomes.ts'
import { everyClaim, grace } from '../support/person.ts'
import { answerOf, expectError, redeem, refresh, userinfo } from '../support/tokens.ts'

withClaims()

const credentials = { client_id: 'lean', client_secret: secret }
const { roles: _roles, rank: _rank, ...standardClaims } = everyClaim
const { email, email_verified, address, phone_number, phone_number_verified, ...profile } = standardClaims

describe('the standard scopes', () => {
  test.each([
    ['openid', {}],
    ['openid profile', profile],
    ['openid email', { email, email_verified }],
    ['openid address', { address }],
    ['openid phone', { phone_number, phone_number_verified }],
    [everyScope, standardClaims],
  ])('%s returns exactly its claims in UserInfo', async (scope, claims) => {
    const { idToken, userinfo } = await host.told(authorizeUrl({ ...lean, scope }))
    expect(userinfo).toEqual({ sub, ...claims })
    expect(idToken).toEqual({ sub })
  })

  test('are in the ID token too if the client is registered with id_token_scope_claims', async () => {
    const url = authorizeUrl({ ...lean, client_id: 'full', scope: everyScope })
    const { idToken } = await host.told(url, 'full')
    expect(idToken).toEqual({ sub, ...standardClaims })
  })
})

describe('the claims parameter', () => {
  test.each([
    ['null', null],
    ['essential', { essential: true }],
    ['its value', { value: everyClaim.name }],
    ['one of its values', { values: ['Another User', everyClaim.name] }],
    ['unknown members', { purpose: 'why not', essential: 'yes' }],
    ['no object at all', 7],
  ])('with %s returns the claim where it was requested', async (_, member) => {
    const inUserinfo = await host.told(asking({ userinfo: { name: member } }))
    const name = everyClaim.name
    expect(inUserinfo).toMatchObject({ userinfo: { sub, name }, idToken: { sub } })
    expect(inUserinfo.idToken).not.toHaveProperty('name')
    const inIdToken = await host.told(asking({ id_token: { name: member } }))
    expect(inIdToken).toMatchObject({ userinfo: { sub }, idToken: { sub, name } })
    expect(inIdToken.userinfo).not.toHaveProperty('name')
  })

  test.each([
    ['another value', { value: 'Another User' }],
    ['other values', { essential: true, values: ['Another User', 7] }],
  ])('with %s leaves the claim out where it was requested, although a scope reveals it', async (_, name) => {
    for (const client_id of ['lean', 'full']) {
      const more = { client_id, scope: 'openid profile' }
      const { userinfo, idToken } = await host.told(asking({ userinfo: { name } }, more), client_id)
      expect(userinfo).toMatchObject({ nickname: everyClaim.nickname })
      expect(userinfo).not.toHaveProperty('name')
      expect('name' in idToken).toBe(client_id === 'full')
      const again = await host.told(asking({ id_token: { name } }, more), client_id)
      expect(again.idToken).not.toHaveProperty('name')
      expect(again.userinfo).toHaveProperty('name')
    }
  })

  test('compares values of any type, and those of objects whole', async () => {
    const { address } = everyClaim
    const [right, wrong] = [{ value: address }, { value: { ...address, country: 'XX' } }]
    const rank = { value: 7 }
    const { userinfo, idToken } = await host.told(
      asking({ userinfo: { rank, address: right }, id_token: { rank: { value: '7' }, address: wrong } }),
    )
    expect({ userinfo, idToken }).toEqual({ userinfo: { sub, rank: 7, address }, idToken: { sub } })
  })

  test('may request different claims for each place, also custom ones', async () => {
    const claims = {
      userinfo: { given_name: null, address: { essential: true } },
      id_token: { email: { essential: true }, rank: null, auth_time: { essential: true } },
    }
    const { userinfo, idToken } = await host.told(asking(claims))
    expect(userinfo).toEqual({ sub, given_name: 'Grace', address: everyClaim.address })
    expect(idToken).toEqual({ sub, email: everyClaim.email, rank: 7 })
  })

  test('puts a scope’s claim into the ID token', async () => {
    const url = asking({ id_token: { email: null } }, { scope: 'openid email' })
    const { userinfo, idToken } = await host.told(url)
    expect(userinfo).toEqual({ sub, email, email_verified })
    expect(idToken).toEqual({ sub, email })
  })

  test('is accepted if it is unknown, empty or absent', async () => {
    host.said = { name: '', nickname: null }
    const members = { name: null, nickname: { essential: true }, shoe_size: { essential: true } }
    const claims = { userinfo: members, id_token: members, other: { name: null } }
    const { userinfo, idToken } = await host.told(asking(claims))
    expect({ userinfo, idToken }).toEqual({ userinfo: { sub }, idToken: { sub } })
    for (const empty of ['{}', '{"userinfo":{}}', '{"id_token":{},"userinfo":{}}']) {
      expect((await host.told(asking(empty))).userinfo).toEqual({ sub })
    }
  })

  test('applies after a refresh', async () => {
    const { tokens } = await host.told(asking({ userinfo: { nickname: null }, id_token: { gender: null } }))
    const refreshed = await answerOf(refresh(host, tokens.refresh_token, credentials))
    expect(ofTheUser(await host.verify(refreshed.id_token, 'lean'))).toEqual({ sub, gender: 'female' })
    expect((await userinfo(host, refreshed.access_token)).body).toEqual({ sub, nickname: 'Amazing Grace' })
  })

  test('applies to a first-party client without a page', async () => {
    const agent = browser()
    const done = await signedIn(agent, asking({ userinfo: { birthdate: null } }, { client_id: 'ours' }))
    expect((await host.toldBy(done, 'ours')).userinfo).toEqual({ sub, birthdate: everyClaim.birthdate })
  })

  const wrong = [
    'x',
    'null',
    '7',
    '[]',
    '{"userinfo":null}',
    '{"userinfo":[]}',
    '{"id_token":7}',
    '{"userinfo":{},}',
  ]
  test.each(wrong)('%s is invalid_request by redirect', async (claims) => {
    expect(clientAnswer(await browser().get(asking(claims)))).toEqual(refusal('invalid_request'))
  })

  test('too long, twice or with control characters is invalid_request', async () => {
    const long = JSON.stringify({ userinfo: { name: { value: 'x'.repeat(2048) } } })
    const twice = `${asking('{}')}&claims=${encodeURIComponent('{}')}`
    for (const url of [asking(long), twice, asking('{"userinfo":{}}\u0000')]) {
      expect(clientAnswer(await browser().get(url))).toEqual(refusal('invalid_request'))
    }
  })
})

describe('a subject that is asked for', () => {
  const about = (value: unknown) => ({ id_token: { sub: { value } } })

  test.each<[string, Record<string, unknown>]>([
    ['a number', { id_token: { sub: { value: 4711 } } }],
    ['null', { id_token: { sub: { value: null } } }],
    ['a list', { id_token: { sub: { values: [sub, 'grace-2'] } } }],
    ['another user', { id_token: { sub: { value: sub } }, userinfo: { sub: { value: 'grace-2' } } }],
  ])('as %s is an invalid_request, and no code for the user who is signed in', async (_, claims) => {
    const agent = browser()
    await agent.grant(authorizeUrl(lean), grace.email, grace.password)
    const silent = await agent.get(asking(claims, { prompt: 'none' }))
    expect(clientAnswer(silent)).toEqual(refusal('invalid_request'))
  })

  test('in UserInfo or in a list counts too', async () => {
    const agent = browser()
    await agent.grant(authorizeUrl(lean), grace.email, grace.password)
    const silent = (claims: Claims) => agent.get(asking(claims, { prompt: 'none' }))
    for (const member of [{ value: sub }, { values: [sub] }])
      codeOf(await silent({ userinfo: { sub: member } }))
    for (const member of [{ value: 'grace-2' }, { values: ['grace-2'] }])
      expect(clientAnswer(await silent({ userinfo: { sub: member } }))).toEqual(refusal('login_required'))
  })

  test('gives a code for that very user, in silence too', async () => {
    const agent = browser()
    codeOf(await agent.grant(asking(about(sub)), grace.email, grace.password))
    codeOf(await agent.get(asking(about(sub), { prompt: 'none' })))
  })

  test('is login_required with prompt=none for any other, and without a login', async () => {
    const agent = browser()
    const silent = (value: unknown) => agent.get(asking(about(value), { prompt: 'none' }))
    expect(clientAnswer(await silent(sub))).toEqual(refusal('login_required'))
    await agent.grant(authorizeUrl(lean), grace.email, grace.password)
    codeOf(await silent(sub))
    for (const other of ['grace-2', 'GRACE-1', '']) {
      expect(clientAnswer(await silent(other))).toEqual(refusal('login_required'))
    }
  })

  test('otherwise asks the user to sign in, and accepts no other user', async () => {
    const agent = browser()
    await agent.grant(authorizeUrl(lean), grace.email, grace.password)
    const page = await agent.open(asking(about('grace-2')))
    expect(page.url.pathname).toBe('/oauth/login')
    const done = await agent.signIn(page, grace.email, grace.password)
    expect(clientAnswer(done)).toEqual(refusal('login_required'))
  })

  test('must be the one of the id_token_hint, if there is one', async () => {
    const agent = browser()
    const { tokens } = await host.toldBy(await agent.grant(authorizeUrl(lean), grace.email, grace.password))
    const hint = { prompt: 'none', id_token_hint: tokens.id_token }
    codeOf(await agent.get(asking(about(sub), hint)))
    expect(clientAnswer(await agent.get(asking(about('grace-2'), hint)))).toEqual(refusal('login_required'))
  })
})

describe('acr', () => {
  test.each([
    ['asked for', null],
    ['essential whatever it is', { essential: true }],
    ['preferred', { values: ['urn:mace:incommon:iap:silver'] }],
  ])('%s is accepted, and no acr is returned', async (_, acr) => {
    const { tokens } = await host.told(asking({ id_token: { acr } }))
    expect(await host.verify(tokens.id_token, 'lean')).not.toHaveProperty('acr')
  })

  test.each([
    ['value', { essential: true, value: 'gold' }],
    ['values', { essential: true, values: ['gold', 'silver'] }],
  ])('essential with a certain %s cannot be met, and fails', async (_, acr) => {
    const answer = clientAnswer(await browser().get(asking({ id_token: { acr } })))
    expect(answer).toEqual(refusal('unmet_authentication_requirements'))
  })
})

describe('signed UserInfo', () => {
  test.each(algorithms)('by %s is a JWT from us for the client, of the same user', async (algorithm) => {
    const client_id = `signed-${algorithm}`
    const agent = browser()
    const url = authorizeUrl({ client_id, scope: everyScope })
    const done = await agent.grant(url, grace.email, grace.password)
    const tokens = await answerOf(redeem(host, codeOf(done), { client_id }))
    const body = `access_token=${tokens.access_token}`
    for (const res of [
      await userinfo(host, tokens.access_token),
      await supertest(host.app).post('/oauth/userinfo').type('form').send(body),
    ]) {
      expect([res.status, res.headers['content-type']]).toEqual([200, 'application/jwt'])
      expect(res.headers['cache-control']).toBe('no-store')
      const jwt = res.text ?? Buffer.from(res.body).toString()
      expect(decodeProtectedHeader(jwt)).toMatchObject({ alg: algorithm, kid: expect.any(String) })
      const { iat, ...claims } = await host.verify(jwt, client_id)
      expect(claims).toEqual({ iss: issuer, aud: client_id, sub, ...standardClaims })
      expect(Number.isInteger(iat)).toBe(true)
    }
  })

  test('is no ID token hint and no access token', async () => {
    const client_id = 'signed-RS256'
    const agent = browser()
    const done = await agent.grant(authorizeUrl({ client_id, scope: 'openid' }), grace.email, grace.password)
    const tokens = await answerOf(redeem(host, codeOf(done), { client_id }))
    const res = await userinfo(host, tokens.access_token)
    const id_token_hint = res.text ?? Buffer.from(res.body).toString()
    expectError(await userinfo(host, id_token_hint), 401, 'invalid_token')
    const asked = { client_id, scope: 'openid', state: 's', prompt: 'none', id_token_hint }
    const hinted = await agent.get(authorizeUrl(asked))
    expect(clientAnswer(hinted)).toEqual(refusal('invalid_request'))
  })
})
