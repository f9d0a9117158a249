import {
  asking,
  browser,
  host,
  lean,
  refusal,
  scopeLines,
  signedIn,
  sub,
  withClaims,
} from '../support/claims-host.ts'
import { clientAnswer } from '../support/client-answer.ts'
import { authorizeUrl } from '../support/host.ts'
import { codeOf } from '../support/outcomes.ts'
import { everyClaim, grace } from '../support/person.ts'
import { type Answer, fieldsOf, type RawBrowser } from '../support/raw-browser.ts'
import { introspect, userinfo } from '../support/tokens.ts'

withClaims()

const signIn = 'Sign you in with your Latchkey account'

describe('a claim that no scope of the client reveals', () => {
  const claims = { userinfo: { name: null, rank: null }, id_token: { salary: null } }

  test('is neither on the page nor released, for a client with few scopes', async () => {
    host.said = { salary: 5000 }
    const agent = browser()
    const page = await signedIn(agent, asking(claims, { client_id: 'narrow' }))
    expect(scopeLines(page)).toEqual([signIn])
    const { userinfo, idToken } = await host.toldBy(await agent.decide(page, 'allow'), 'narrow')
    expect({ userinfo, idToken }).toEqual({ userinfo: { sub }, idToken: { sub } })
    codeOf(await agent.get(asking(claims, { client_id: 'narrow', prompt: 'none' })))
  })

  test('is not released to a client of the host’s own, which has no page', async () => {
    host.said = { salary: 5000 }
    const done = await signedIn(browser(), asking(claims, { client_id: 'ours' }))
    const { userinfo, idToken } = await host.toldBy(done, 'ours')
    expect(userinfo).toEqual({ sub, name: everyClaim.name })
    expect(idToken).not.toHaveProperty('salary')
  })
})

describe('a claim of a scope that is optional and sensitive', () => {
  const salary = { id_token: { salary: null } }
  const line = 'See: salary salary: 5000 Sensitive · Optional'
  const box = 'scope:claim"salary'
  const consentPage = async (agent: RawBrowser): Promise<Answer> => {
    host.said = { salary: 5000 }
    return signedIn(agent, asking(salary, { client_id: 'payroll' }))
  }

  test('is shown like the scope, and only released if the user ticks it', async () => {
    const agent = browser()
    const page = await consentPage(agent)
    expect(scopeLines(page)).toEqual([signIn, line])
    const unticked = await host.toldBy(await agent.decide(page, 'allow'), 'payroll')
    expect(unticked.idToken).not.toHaveProperty('salary')
    const again = await agent.open(asking(salary, { client_id: 'payroll' }))
    expect(scopeLines(again)).toEqual([line.replace('salary salary', 'salary New salary'), signIn])
    const done = await agent.decide(again, 'allow', { [box]: 'on' })
    expect((await host.toldBy(done, 'payroll')).idToken).toMatchObject({ salary: 5000 })
    codeOf(await agent.get(asking(salary, { client_id: 'payroll', prompt: 'none' })))
  })

  test('is on the terms of the most sensitive scope, if the client has several that reveal it', async () => {
    const page = await signedIn(browser(), asking({ userinfo: { rank: null } }, { client_id: 'payroll' }))
    expect(scopeLines(page)[1]).toBe('See: rank rank: 7 Sensitive · Optional')
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
    expect(scopeLines(page)).toEqual([signIn, 'Know your roles roles: admiral Optional'])
    const done = await agent.decide(page, 'allow', { 'scope:roles': 'on' })
    const { tokens, userinfo } = await host.toldBy(done, 'payroll')
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
    const done = await granted(browser())
    await loses()
    const { tokens, idToken } = await host.toldBy(done, 'payroll')
    expect(tokens.scope).toBe('openid roles')
    expect(idToken).toEqual({ sub, roles: everyClaim.roles })
  })

  test('after the token is no longer in it, nor are its claims', async () => {
    const { tokens, userinfo: before } = await host.toldBy(await granted(browser()), 'payroll')
    expect(before).toMatchObject({ name: everyClaim.name, rank: 7 })
    await loses()
    const { body } = await userinfo(host, tokens.access_token)
    expect(body).toEqual({ sub, roles: everyClaim.roles })
    for (const token of [tokens.access_token, tokens.refresh_token]) {
      expect((await introspect(host, token, { client_id: 'payroll' })).body.scope).toBe('openid roles')
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
    const inIdToken = { name: null, shoe_size: null }
    const claims = { userinfo: { phone_number: null, email: null }, id_token: inIdToken }
    const page = await signedIn(browser(), asking(claims, { scope: 'openid email' }))
    expect(page.url.pathname).toBe('/oauth/consent')
    const [line, ...others] = scopeLines(page)
    expect(others).toEqual([])
    const [heading, ...values] = (line ?? '').split(/(?<=who you are) | · /)
    expect(heading).toBe('See who you are')
    const { name, phone_number, email } = everyClaim
    expect(values.sort()).toEqual([name, phone_number, email.replace('@', ' @')].sort())
  })

  test('is remembered for these, and asked again when they grow; what is new is marked', async () => {
    const agent = browser()
    codeOf(await agent.decide(await signedIn(agent, asking(phone)), 'allow'))
    const { phone_number, birthdate } = everyClaim
    expect((await host.toldBy(await agent.get(asking(phone)))).userinfo).toEqual({ sub, phone_number })
    codeOf(await agent.get(authorizeUrl(lean)))
    const more = { userinfo: { phone_number: null }, id_token: { birthdate: null } }
    const silent = await agent.get(asking(more, { prompt: 'none' }))
    expect(clientAnswer(silent)).toEqual(refusal('consent_required'))
    const page = await agent.open(asking(more))
    expect(scopeLines(page)).toEqual([`See who you are New ${phone_number} · Date of birth: ${birthdate}`])
    expect((await host.toldBy(await agent.decide(page, 'allow'))).idToken).toEqual({ sub, birthdate })
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

  test('to a scope covers its claims asked for one by one', async () => {
    const agent = browser()
    const page = await signedIn(agent, asking(phone, { scope: 'openid phone' }))
    expect(scopeLines(page)).toEqual([`See who you are ${everyClaim.phone_number}`])
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
      const { tokens, idToken, userinfo } = await host.toldBy(done)
      expect([tokens.scope, idToken, userinfo]).toEqual(['openid', { sub }, { sub }])
      // While it is ticked it is released.
      const again = await agent.open(url)
      const ticked = await host.toldBy(await agent.decide(again, 'allow'))
      expect(ticked.userinfo.roles).toEqual(['admiral'])
    },
  )

  test('a form cannot add a claim that was not asked for', async () => {
    const agent = browser()
    const page = await signedIn(agent, authorizeUrl(lean))
    const more = { 'scope:claim:email': 'on', 'claim:email': 'on', claims: '{"userinfo":{"email":null}}' }
    expect((await host.toldBy(await agent.decide(page, 'allow', more))).userinfo).toEqual({ sub })
  })
})
