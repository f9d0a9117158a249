import { createLocalJWKSet, decodeProtectedHeader, type JWTPayload, jwtVerify } from 'jose'
import supertest from 'supertest'
import type { ClientSeed, ScopeOptions, UserFunctions } from '../../lib/index.ts'
import { clientAnswer } from '../support/client-answer.ts'
import { authorizeUrl, callback, type Host, issuer, secret, startHost } from '../support/host.ts'
import { codeOf } from '../support/outcomes.ts'
import { everyClaim, grace, onePerson } from '../support/person.ts'
import { type Answer, fieldsOf, RawBrowser } from '../support/raw-browser.ts'
import { answerOf, expectError, redeem, refresh, type TokenAnswer, userinfo } from '../support/tokens.ts'

const confidential = { client_secret: secret, redirect_uris: [callback] }
const everyScope = 'openid profile email address phone'
const algorithms = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const

const clients: ClientSeed[] = [
  // ID tokens without scope claims, as dynamically registered clients have them.
  {
    ...confidential,
    client_id: 'lean',
    id_token_scope_claims: false,
    scope: `${everyScope} offline_access roles rank`,
  },
  { ...confidential, client_id: 'full', scope: `${everyScope} roles` },
  { ...confidential, client_id: 'ours', first_party: true },
  { ...confidential, client_id: 'narrow', scope: 'openid' },
  { ...confidential, client_id: 'payroll', scope: 'openid profile roles salary' },
  ...algorithms.map((algorithm) => ({
    ...confidential,
    client_id: `signed-${algorithm}`,
    userinfo_signed_response_alg: algorithm,
  })),
]

/** What the host says of the person; a test may change it. */
let said: Record<string, unknown> = {}
const users: UserFunctions = { ...onePerson(), claims: () => ({ ...everyClaim, ...said }) }

let host: Host
beforeAll(async () => {
  const roles = { description: 'Know your roles', claims: ['roles'], optional: true }
  const rank = { description: 'Know your rank', claims: ['rank'] }
  const salary: ScopeOptions = {
    description: 'Know your salary',
    claims: ['salary', 'rank'],
    optional: true,
    risk: 'high',
  }
  host = await startHost({ clients, options: { users, scopes: { roles, rank, salary } } })
})
afterAll(() => host.close())
beforeEach(async () => {
  said = {}
  await consents().delete()
})

const consents = () => host.database.knex(`${host.database.tablePrefix}consents`)
const lean = { client_id: 'lean', scope: 'openid', state: 's' }
const credentials = { client_id: 'lean', client_secret: secret }
const browser = () => new RawBrowser(host.app)

interface Claims {
  readonly userinfo?: object
  readonly id_token?: object
}

const asking = (claims: Claims | string, more: Record<string, string> = {}): string =>
  authorizeUrl({ ...lean, claims: typeof claims === 'string' ? claims : JSON.stringify(claims), ...more })

const signedIn = async (agent: RawBrowser, url: string): Promise<Answer> =>
  agent.signIn(await agent.open(url), grace.email, grace.password)

const verify = async (jwt: string, audience: string): Promise<JWTPayload> => {
  const { body } = await supertest(host.app).get('/oauth/jwks')
  return (await jwtVerify(jwt, createLocalJWKSet(body), { issuer, audience, requiredClaims: ['sub'] }))
    .payload
}

interface Told {
  readonly tokens: TokenAnswer
  /** Claims of the user alone. */
  readonly idToken: Record<string, unknown>
  readonly userinfo: Record<string, unknown>
}

const protocol = new Set(['iss', 'aud', 'exp', 'iat', 'auth_time', 'nonce', 'amr', 'sid', 'at_hash'])
const ofTheUser = (claims: object) =>
  Object.fromEntries(Object.entries(claims).filter(([name]) => !protocol.has(name)))

const toldBy = async (answer: Answer, client_id = 'lean'): Promise<Told> => {
  const tokens = await answerOf(redeem(host, codeOf(answer), { client_id }))
  return {
    tokens,
    idToken: ofTheUser(await verify(tokens.id_token, client_id)),
    userinfo: (await userinfo(host, tokens.access_token)).body,
  }
}

const told = async (url: string, client_id = 'lean'): Promise<Told> =>
  toldBy(await browser().grant(url, grace.email, grace.password), client_id)

const scopeLines = ({ html }: Answer): string[] =>
  [...html.matchAll(/<li class="scope">[\s\S]*?<\/li>/g)].map(([item]) =>
    item
      .replace(/<[^>]+>/g, ' ')
      .replace(/\s+/g, ' ')
      .trim(),
  )

const refusal = (error: string) => ({
  mode: 'query',
  fields: { error, error_description: expect.any(String), state: 's', iss: issuer },
})

const sub = 'grace-1'
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
    const { idToken, userinfo } = await told(authorizeUrl({ ...lean, scope }))
    expect(userinfo).toEqual({ sub, ...claims })
    expect(idToken).toEqual({ sub })
  })

  test('are in the ID token too if the client is registered with id_token_scope_claims', async () => {
    const { idToken } = await told(authorizeUrl({ ...lean, client_id: 'full', scope: everyScope }), 'full')
    expect(idToken).toEqual({ sub, ...standardClaims })
  })

  test('have the types of OpenID Connect on every database', async () => {
    said = {
      email_verified: 1,
      phone_number_verified: '0',
      updated_at: new Date('2026-01-02T03:04:05.678Z'),
      birthdate: new Date('1906-12-09T00:00:00Z'),
      address: '{"country":"US"}',
      name: 42,
    }
    expect((await told(authorizeUrl({ ...lean, scope: everyScope }))).userinfo).toMatchObject({
      email_verified: true,
      phone_number_verified: false,
      updated_at: 1_767_323_045,
      birthdate: '1906-12-09',
      address: { country: 'US' },
      name: '42',
    })
  })

  test('are left out if null, empty or of another type', async () => {
    said = {
      ...{ name: '', family_name: null, given_name: undefined, email: '', picture: {}, birthdate: 'soon' },
      ...{ email_verified: 'perhaps', address: 'Main Street', updated_at: 'long ago', phone_number: null },
    }
    const { userinfo } = await told(authorizeUrl({ ...lean, scope: everyScope }))
    for (const name of Object.keys(said)) expect(userinfo).not.toHaveProperty(name)
    expect(userinfo).toMatchObject({ sub, nickname: 'Amazing Grace', phone_number_verified: false })
  })

  test('in any order of the scopes, and with unknown ones beside them', async () => {
    const scope = 'phone unknown email openid'
    expect((await told(authorizeUrl({ ...lean, scope }))).userinfo).toEqual({
      sub,
      ...{ email, email_verified, phone_number, phone_number_verified },
    })
  })
})

describe('the claims parameter', () => {
  test.each([
    ['null', null],
    ['essential', { essential: true }],
    ['not essential', { essential: false }],
    ['another value', { value: 'Another User' }],
    ['values', { values: ['A', 'B'] }],
    ['unknown members', { purpose: 'why not', essential: 'yes' }],
    ['no object at all', 7],
  ])('with %s returns the claim where it was requested', async (_, member) => {
    const inUserinfo = await told(asking({ userinfo: { name: member } }))
    expect({ ...inUserinfo, tokens: 0 }).toEqual({
      tokens: 0,
      userinfo: { sub, name: everyClaim.name },
      idToken: { sub },
    })
    const inIdToken = await told(asking({ id_token: { name: member } }))
    expect({ ...inIdToken, tokens: 0 }).toEqual({
      tokens: 0,
      userinfo: { sub },
      idToken: { sub, name: everyClaim.name },
    })
  })

  test('may request different claims for each place, also custom ones', async () => {
    const claims = {
      userinfo: { given_name: null, address: { essential: true } },
      id_token: { email: { essential: true }, rank: null, auth_time: { essential: true } },
    }
    const { userinfo, idToken } = await told(asking(claims))
    expect(userinfo).toEqual({ sub, given_name: 'Grace', address: everyClaim.address })
    expect(idToken).toEqual({ sub, email: everyClaim.email, rank: 7 })
  })

  test('puts a scope’s claim into the ID token', async () => {
    const { userinfo, idToken } = await told(asking({ id_token: { email: null } }, { scope: 'openid email' }))
    expect(userinfo).toEqual({ sub, email, email_verified })
    expect(idToken).toEqual({ sub, email })
  })

  test('is accepted if it is unknown, empty or absent', async () => {
    said = { name: '', nickname: null }
    const members = { name: null, nickname: { essential: true }, shoe_size: { essential: true } }
    const claims = { userinfo: members, id_token: members, other: { name: null } }
    const { userinfo, idToken } = await told(asking(claims))
    expect({ userinfo, idToken }).toEqual({ userinfo: { sub }, idToken: { sub } })
    for (const empty of ['{}', '{"userinfo":{}}', '{"id_token":{},"userinfo":{}}']) {
      expect((await told(asking(empty))).userinfo).toEqual({ sub })
    }
  })

  test('never sets a claim of the protocol', async () => {
    const forged = {
      ...{
        iss: 'x',
        aud: 'x',
        exp: 1,
        iat: 1,
        nbf: 1,
        jti: 'x',
        nonce: 'x',
        auth_time: 1,
        acr: 'x',
        amr: ['x'],
      },
      ...{ azp: 'x', at_hash: 'x', c_hash: 'x', sid: 'x', sub: 'x', client_id: 'x', scope: 'x', cnf: {} },
    }
    said = { ...forged, events: {}, constructor: 'x', ['__proto__']: 'x', toString: 'x' }
    const names = [...Object.keys(forged), 'events', 'constructor', '__proto__', 'toString', 'hasOwnProperty']
    const members = `{${names.map((name) => `"${name}":{"value":"x"}`).join(',')}}`
    const members_ = members.replace('"sub":{"value":"x"}', '"sub":null')
    const done = await browser().grant(
      asking(`{"userinfo":${members},"id_token":${members_}}`),
      grace.email,
      grace.password,
    )
    const { tokens, userinfo } = await toldBy(done)
    const claims = await verify(tokens.id_token, 'lean')
    expect(userinfo).toEqual({ sub })
    expect(Object.keys(claims).sort()).toEqual(
      ['iss', 'sub', 'aud', 'exp', 'iat', 'auth_time', 'amr', 'sid', 'at_hash'].sort(),
    )
    expect(claims).toMatchObject({ iss: issuer, sub, aud: 'lean', amr: ['pwd'] })
  })

  test('applies after a refresh', async () => {
    const { tokens } = await told(asking({ userinfo: { nickname: null }, id_token: { gender: null } }))
    const refreshed = await answerOf(refresh(host, tokens.refresh_token, credentials))
    expect(ofTheUser(await verify(refreshed.id_token, 'lean'))).toEqual({ sub, gender: 'female' })
    expect((await userinfo(host, refreshed.access_token)).body).toEqual({ sub, nickname: 'Amazing Grace' })
  })

  test('applies to a first-party client without a page', async () => {
    const agent = browser()
    const done = await signedIn(agent, asking({ userinfo: { birthdate: null } }, { client_id: 'ours' }))
    expect((await toldBy(done, 'ours')).userinfo).toEqual({ sub, birthdate: everyClaim.birthdate })
  })

  test.each([
    'x',
    '{',
    'null',
    '"userinfo"',
    '7',
    '[]',
    '[{"userinfo":{}}]',
    '{"userinfo":null}',
    '{"userinfo":[]}',
    '{"userinfo":"name"}',
    '{"id_token":7}',
    '{"userinfo":{},"id_token":[]}',
    '{"userinfo":{"name":null},}',
    "{'userinfo':{}}",
    '{"userinfo":{"name":null}}garbage',
  ])('%s is invalid_request by redirect', async (claims) => {
    expect(clientAnswer(await browser().get(asking(claims)))).toEqual(refusal('invalid_request'))
  })

  test('too long, twice or with control characters is invalid_request', async () => {
    const long = JSON.stringify({ userinfo: { name: { value: 'x'.repeat(2048) } } })
    const twice = `${asking('{}')}&claims=${encodeURIComponent('{}')}`
    for (const url of [asking(long), twice, asking('{"userinfo":{}}\u0000')]) {
      expect(clientAnswer(await browser().get(url))).toEqual(refusal('invalid_request'))
    }
  })

  test('deep nesting is accepted', async () => {
    const deep = `{"userinfo":{"name":${'['.repeat(950)}${']'.repeat(950)}}}`
    expect((await told(asking(deep))).userinfo).toEqual({ sub, name: everyClaim.name })
  })
})

describe('a subject that is asked for', () => {
  const about = (value: unknown) => ({ id_token: { sub: { value } } })

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
    const { tokens } = await toldBy(await agent.grant(authorizeUrl(lean), grace.email, grace.password))
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
    ['preferred, and said not to be essential', { essential: false, value: 'gold' }],
  ])('%s is accepted, and no acr is returned', async (_, acr) => {
    const { tokens } = await told(asking({ id_token: { acr } }))
    expect(await verify(tokens.id_token, 'lean')).not.toHaveProperty('acr')
  })

  test.each([
    ['value', { essential: true, value: 'gold' }],
    ['values', { essential: true, values: ['gold', 'silver'] }],
  ])('essential with a certain %s cannot be met, and fails', async (_, acr) => {
    expect(clientAnswer(await browser().get(asking({ id_token: { acr } })))).toEqual(
      refusal('unmet_authentication_requirements'),
    )
  })
})

describe('a claim that no scope of the client reveals', () => {
  const claims = { userinfo: { name: null, rank: null }, id_token: { salary: null } }

  test('is neither on the page nor released, for a client with few scopes', async () => {
    said = { salary: 5000 }
    const agent = browser()
    const page = await signedIn(agent, asking(claims, { client_id: 'narrow' }))
    expect(scopeLines(page)).toEqual(['Recognise your account'])
    const { userinfo, idToken } = await toldBy(await agent.decide(page, 'allow'), 'narrow')
    expect({ userinfo, idToken }).toEqual({ userinfo: { sub }, idToken: { sub } })
  })

  test('is not released to a client of the host’s own, which has no page', async () => {
    said = { salary: 5000 }
    const done = await signedIn(browser(), asking(claims, { client_id: 'ours' }))
    const { userinfo, idToken } = await toldBy(done, 'ours')
    expect(userinfo).toEqual({ sub, name: everyClaim.name })
    expect(idToken).not.toHaveProperty('salary')
  })
})

describe('a claim of a scope that is optional and sensitive', () => {
  const salary = { id_token: { salary: null } }
  const line = 'See: salary Sensitive Optional'
  const box = 'scope:claim"salary'
  const consentPage = async (agent: RawBrowser): Promise<Answer> => {
    said = { salary: 5000 }
    return signedIn(agent, asking(salary, { client_id: 'payroll' }))
  }

  test('is shown like the scope, and only released if the user ticks it', async () => {
    const agent = browser()
    const page = await consentPage(agent)
    expect(scopeLines(page)).toEqual(['Recognise your account', line])
    expect((await toldBy(await agent.decide(page, 'allow'), 'payroll')).idToken).not.toHaveProperty('salary')
    const again = await agent.open(asking(salary, { client_id: 'payroll' }))
    expect(scopeLines(again)).toEqual(['Recognise your account', 'See: salary New Sensitive Optional'])
    const done = await agent.decide(again, 'allow', { [box]: 'on' })
    expect((await toldBy(done, 'payroll')).idToken).toMatchObject({ salary: 5000 })
    codeOf(await agent.get(asking(salary, { client_id: 'payroll', prompt: 'none' })))
  })

  test('is on the terms of the most sensitive scope, if the client has several that reveal it', async () => {
    const page = await signedIn(browser(), asking({ userinfo: { rank: null } }, { client_id: 'payroll' }))
    expect(scopeLines(page)[1]).toBe('See: rank Sensitive Optional')
  })
})

describe('a scope that the client loses', () => {
  const url = asking({ userinfo: { rank: null } }, { client_id: 'payroll', scope: 'openid profile roles' })
  const loses = () => host.oauth.clients.update('payroll', { scope: 'openid roles' })
  afterEach(() => host.oauth.clients.update('payroll', { scope: 'openid profile roles salary' }))
  const granted = async (agent: RawBrowser): Promise<Answer> =>
    agent.decide(await signedIn(agent, url), 'allow', { 'scope:claim"rank': 'on', 'scope:roles': 'on' })

  test('before the page is neither shown nor granted', async () => {
    const agent = browser()
    const login = await agent.open(url)
    await loses()
    const page = await agent.signIn(login, grace.email, grace.password)
    expect(scopeLines(page)).toEqual(['Recognise your account', 'Know your roles Optional'])
    const { tokens, userinfo } = await toldBy(
      await agent.decide(page, 'allow', { 'scope:roles': 'on' }),
      'payroll',
    )
    expect(tokens.scope).toBe('openid roles')
    expect(userinfo).toEqual({ sub, roles: everyClaim.roles })
  })

  test('between the page and Allow makes the form invalid', async () => {
    const agent = browser()
    const page = await signedIn(agent, url)
    await loses()
    const done = await agent.decide(page, 'allow')
    expect({ status: done.status, location: done.location }).toEqual({ status: 403, location: undefined })
  })

  test('between Allow and the token is left out of it', async () => {
    const done = await granted(browser())
    await loses()
    const { tokens, idToken } = await toldBy(done, 'payroll')
    expect(tokens.scope).toBe('openid roles')
    expect(idToken).toEqual({ sub, roles: everyClaim.roles })
  })

  test('after the token is no longer in it, nor are its claims', async () => {
    const { tokens, userinfo: before } = await toldBy(await granted(browser()), 'payroll')
    expect(before).toMatchObject({ name: everyClaim.name, rank: 7 })
    await loses()
    const { body } = await userinfo(host, tokens.access_token)
    expect(body).toEqual({ sub, roles: everyClaim.roles })
    for (const token of [tokens.access_token, tokens.refresh_token]) {
      const introspected = await supertest(host.app)
        .post('/oauth/introspect')
        .auth('payroll', secret)
        .type('form')
        .send({ token })
      expect(introspected.body.scope).toBe('openid roles')
    }
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

  test('names each claim beyond the scopes, with the value, and no other', async () => {
    const claims = {
      userinfo: { phone_number: null, email: null },
      id_token: { name: null, shoe_size: null },
    }
    const page = await signedIn(browser(), asking(claims, { scope: 'openid email' }))
    expect(page.url.pathname).toBe('/oauth/consent')
    expect(scopeLines(page)).toEqual([
      'Recognise your account',
      'See your email address',
      'See: Phone',
      'See: Name',
    ])
    const values = [...page.html.matchAll(/<dt>([^<]+)<\/dt><dd><bdi>([^<]*)<\/bdi>/g)].map(
      ([, name, value]) => [name, value],
    )
    expect(values).toEqual(
      expect.arrayContaining([
        ['Phone', everyClaim.phone_number],
        ['Name', everyClaim.name],
        ['Email', everyClaim.email],
      ]),
    )
    expect(values).toHaveLength(4)
  })

  test('is remembered for these, and asked again when they grow; what is new is marked', async () => {
    const agent = browser()
    codeOf(await agent.decide(await signedIn(agent, asking(phone)), 'allow'))
    expect((await toldBy(await agent.get(asking(phone)))).userinfo).toEqual({
      sub,
      phone_number: everyClaim.phone_number,
    })
    codeOf(await agent.get(authorizeUrl(lean)))
    const more = { userinfo: { phone_number: null }, id_token: { birthdate: null } }
    expect(clientAnswer(await agent.get(asking(more, { prompt: 'none' })))).toEqual(
      refusal('consent_required'),
    )
    const page = await agent.open(asking(more))
    expect(scopeLines(page)).toEqual(['Recognise your account', 'See: Phone', 'See: Date of birth New'])
    expect((await toldBy(await agent.decide(page, 'allow'))).idToken).toEqual({
      sub,
      birthdate: everyClaim.birthdate,
    })
    codeOf(await agent.get(asking(more, { prompt: 'none' })))
    codeOf(await agent.get(asking(phone, { prompt: 'none' })))
  })

  test('to single claims covers neither the scope nor another client', async () => {
    const agent = browser()
    const whole = { userinfo: { phone_number: null, phone_number_verified: null } }
    codeOf(await agent.decide(await signedIn(agent, asking(whole)), 'allow'))
    const scope = await agent.get(authorizeUrl({ ...lean, scope: 'openid phone', prompt: 'none' }))
    expect(clientAnswer(scope)).toEqual(refusal('consent_required'))
    const other = await agent.get(asking(whole, { client_id: 'full', prompt: 'none' }))
    expect(clientAnswer(other)).toEqual(refusal('consent_required'))
  })

  test('denied is access_denied, and nothing is remembered', async () => {
    const agent = browser()
    const done = await agent.decide(await signedIn(agent, asking(phone)), 'deny')
    expect(clientAnswer(done)).toEqual(refusal('access_denied'))
    expect(await consents()).toEqual([])
  })

  test('to a scope covers its claims asked for one by one', async () => {
    const agent = browser()
    const page = await signedIn(agent, asking(phone, { scope: 'openid phone' }))
    expect(scopeLines(page)).toEqual(['Recognise your account', 'See your phone number'])
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
      expect({ scope: tokens.scope, idToken, userinfo }).toEqual({
        scope: 'openid',
        idToken: { sub },
        userinfo: { sub },
      })
      // While it is ticked it is released.
      const again = await agent.open(url)
      const ticked = await toldBy(await agent.decide(again, 'allow'))
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

describe('signed UserInfo', () => {
  test.each(algorithms)('by %s is a JWT from us for the client, of the same user', async (algorithm) => {
    const client_id = `signed-${algorithm}`
    const agent = browser()
    const done = await agent.grant(
      authorizeUrl({ client_id, scope: everyScope }),
      grace.email,
      grace.password,
    )
    const tokens = await answerOf(redeem(host, codeOf(done), { client_id }))
    for (const res of [
      await userinfo(host, tokens.access_token),
      await supertest(host.app)
        .post('/oauth/userinfo')
        .type('form')
        .send(`access_token=${tokens.access_token}`),
    ]) {
      expect({ status: res.status, type: res.headers['content-type'] }).toEqual({
        status: 200,
        type: 'application/jwt',
      })
      expect(res.headers['cache-control']).toBe('no-store')
      const jwt = res.text ?? Buffer.from(res.body).toString()
      expect(decodeProtectedHeader(jwt)).toMatchObject({ alg: algorithm, kid: expect.any(String) })
      const { iat, ...claims } = await verify(jwt, client_id)
      expect(claims).toEqual({ iss: issuer, aud: client_id, sub, ...standardClaims })
      expect(Number.isInteger(iat)).toBe(true)
    }
  })

  test('is no ID token hint and no access token', async () => {
    const client_id = 'signed-RS256'
    const agent = browser()
    const done = await agent.grant(authorizeUrl({ client_id, scope: 'openid' }), grace.email, grace.password)
    const tokens = await answerOf(redeem(host, codeOf(done), { client_id }))
    const jwt = await userinfo(host, tokens.access_token)
      .buffer(true)
      .parse((res, done) => {
        res.setEncoding('utf8')
        let body = ''
        res.on('data', (chunk: string) => {
          body += chunk
        })
        res.on('end', () => done(null, body))
      })
    expectError(await userinfo(host, String(jwt.body)), 401, 'invalid_token')
    const hinted = await agent.get(
      authorizeUrl({
        client_id,
        scope: 'openid',
        state: 's',
        prompt: 'none',
        id_token_hint: String(jwt.body),
      }),
    )
    expect(clientAnswer(hinted)).toEqual(refusal('invalid_request'))
  })

  test('errors stay JSON', async () => {
    expectError(await userinfo(host, `lk_at_${'A'.repeat(43)}`), 401, 'invalid_token')
  })
})
