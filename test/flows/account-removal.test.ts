import {
  account,
  allowed,
  clientsOf,
  confirmOf,
  events,
  host,
  namesOf,
  otherWeb,
  remove,
  table,
  textOf,
  web,
  withAccounts,
} from '../support/connected-clients.ts'
import { forgedForms } from '../support/forged-forms.ts'
import { authorizeUrl, pkce } from '../support/host.ts'
import { codeOf, expectErrorPage, expectErrorRedirect } from '../support/outcomes.ts'
import { fieldsOf, type RawBrowser } from '../support/raw-browser.ts'
import { ada, bob, expectError, guarded, redeem, refresh, userinfo } from '../support/tokens.ts'

withAccounts()

describe('removing', () => {
  test('shows a confirmation first, and how soon it takes effect', async () => {
    const { agent, tokens } = await allowed()
    const page = await confirmOf(agent, 'Web client')
    expect(textOf(page)).toContain('Remove Web client ’s access?')
    expect(textOf(page)).toContain('Web client loses access to your Latchkey account immediately')
    expect(textOf(page)).toContain('If you use it again, it must ask you first.')
    expect((await userinfo(host, tokens.access_token)).status).toBe(200)
  })

  test('ends codes, access tokens and refresh tokens at once, in every browser, and the consent', async () => {
    const here = await allowed()
    const there = await allowed({ client_id: 'web', scope: 'openid notes:read' })
    const code = codeOf(await here.agent.get(authorizeUrl({ ...web, prompt: 'none' })))
    const list = await remove(here.agent, 'Web client')
    expect(textOf(list)).toContain('Access removed. Web client can no longer use your account.')
    expect(clientsOf(list)).toEqual([])
    for (const { tokens } of [here, there]) {
      expect((await userinfo(host, tokens.access_token)).status).toBe(401)
      expect((await guarded(host, tokens.access_token)).status).toBe(401)
      expectError(await refresh(host, tokens.refresh_token), 400, 'invalid_grant')
    }
    expectError(await redeem(host, code), 400, 'invalid_grant')
    const silent = await here.agent.get(authorizeUrl({ ...web, prompt: 'none' }))
    expectErrorRedirect(silent, 'consent_required')
    expect(await table('consents')).toEqual([])
    const removed = events.filter(({ type }) => type === 'consent.removed')
    expect(removed).toMatchObject([{ subject: '1', clientId: 'web', address: '127.0.0.1' }])
  })

  test('leaves other clients, other users and the login as they were', async () => {
    const { agent } = await allowed()
    const other = await allowed(otherWeb, ada, agent)
    const bobs = await allowed(web, bob)
    expect(namesOf(await remove(agent, 'Web client'))).toEqual(['Other client'])
    expect((await userinfo(host, other.tokens.access_token)).status).toBe(200)
    expect((await userinfo(host, bobs.tokens.access_token)).status).toBe(200)
    expect((await refresh(host, bobs.tokens.refresh_token)).status).toBe(200)
    expect(namesOf(await bobs.agent.open(account))).toEqual(['Web client'])
  })

  test('a later consent is valid', async () => {
    const { agent } = await allowed()
    await remove(agent, 'Web client')
    const { tokens } = await allowed(web, ada, agent)
    expect((await userinfo(host, tokens.access_token)).status).toBe(200)
    expect(clientsOf(await agent.open(account))).toMatchObject([{ name: 'Web client', sessions: '1' }])
  })

  test('a first-party client loses its tokens, and gets new ones without consent', async () => {
    const { agent, tokens } = await allowed({ client_id: 'ours', scope: 'openid profile offline_access' })
    expect(clientsOf(await remove(agent, 'Ours'))).toEqual([])
    expect((await userinfo(host, tokens.access_token)).status).toBe(401)
    expectError(await refresh(host, tokens.refresh_token, { client_id: 'ours' }), 400, 'invalid_grant')
    codeOf(await agent.get(authorizeUrl({ client_id: 'ours', scope: 'openid profile', prompt: 'none' })))
  })

  test('sending the form twice is harmless and emits one event', async () => {
    const { agent } = await allowed()
    const page = await confirmOf(agent, 'Web client')
    for (const _ of [1, 2]) expect((await agent.submit(page, 'csrf_token')).url.pathname).toBe(account)
    expect(events.filter(({ type }) => type === 'consent.removed')).toHaveLength(1)
  })

  test('a link cannot make the page claim a removal', async () => {
    const { agent } = await allowed()
    for (const removed of ['web', 'nobody']) {
      const page = await agent.open(`${account}?${new URLSearchParams({ removed })}`)
      expect(page.html).not.toContain('role="status"')
    }
    const page = await agent.open(`${account}?removed=native`)
    expect(textOf(page)).toContain('Native client can no longer use your account')
  })

  test('after the session ended, the form leads to the sign-in page and removes nothing', async () => {
    const { agent, tokens } = await allowed()
    const page = await confirmOf(agent, 'Web client')
    await agent.submit(await agent.open('/oauth/logout'), 'csrf_token')
    const login = await agent.submit(page, 'name="client_id"')
    expect(textOf(login)).toContain('Sign in Email or username')
    expect((await refresh(host, tokens.refresh_token)).status).toBe(200)
  })

  const foreign = {
    'another user': async () =>
      fieldsOf(await confirmOf((await allowed(web, bob)).agent, 'Web client'), 'csrf_token'),
    'the sign-out': async (agent: RawBrowser) => fieldsOf(await agent.open('/oauth/logout'), 'csrf_token'),
  }
  const aboutAnother: ReturnType<typeof forgedForms>[number] = [
    'about another client',
    async (fields) => ({ fields: { ...fields, client_id: 'other' } }),
  ]
  test.each([...forgedForms(foreign), aboutAnother])('a form %s removes nothing', async (_, forge) => {
    const { agent } = await allowed()
    await allowed(otherWeb, ada, agent)
    const form = fieldsOf(await confirmOf(agent, 'Web client'), 'csrf_token')
    const { fields, headers } = await forge(form, agent)
    expectErrorPage(await agent.post(account, fields, headers), 403)
    expect(namesOf(await agent.open(account)).sort()).toEqual(['Other client', 'Web client'])
  })

  test('the form of one user removes nothing for the next one who signs in', async () => {
    const { agent } = await allowed()
    const bobs = await allowed(web, bob)
    const page = await confirmOf(agent, 'Web client')
    const choice = await agent.open(authorizeUrl({ ...web, prompt: 'select_account' }))
    const login = await agent.submit(choice, 'value="another"', { decision: 'another' })
    await agent.signIn(login, bob.email, bob.password)
    expectErrorPage(await agent.submit(page, 'csrf_token'), 403)
    expect((await userinfo(host, bobs.tokens.access_token)).status).toBe(200)
  })

  test('a GET removes nothing', async () => {
    const { agent } = await allowed()
    const fields = fieldsOf(await confirmOf(agent, 'Web client'), 'csrf_token')
    await agent.open(`${account}?${new URLSearchParams({ ...fields, decision: 'remove', removed: 'web' })}`)
    expect(namesOf(await agent.open(account))).toEqual(['Web client'])
  })

  test('no code that is issued at the same time stays valid', async () => {
    const { challenge, verifier } = pkce()
    const asked = { ...web, prompt: 'none', code_challenge: challenge, code_challenge_method: 'S256' }
    const request = authorizeUrl(asked)
    let issued = 0
    let refused = 0
    for (let round = 0; round < 6; round += 1) {
      const { agent } = await allowed()
      const fields = fieldsOf(await confirmOf(agent, 'Web client'), 'csrf_token')
      // Each in its place of the queue by turns: the removal first, last, and in between.
      const requests = [0, 1, 2, 3, 4, 5].map(
        (place) => () => (place === round % 6 ? agent.post(account, fields) : agent.get(request)),
      )
      const answers = await Promise.all(requests.map((send) => send()))
      const codes = answers.flatMap(({ location }) => location?.searchParams.get('code') ?? [])
      issued += codes.length
      refused += answers.filter(({ location }) => location?.searchParams.has('error')).length
      for (const code of codes) {
        const redeemed = await redeem(host, code, { code_verifier: verifier })
        expectError(redeemed, 400, 'invalid_grant')
      }
      expect(await table('consents').where({ subject: '1' })).toEqual([])
      expect(await table('authorizations').whereNull('revoked_at')).toEqual([])
    }
    // Else there was no race.
    expect(issued).toBeGreaterThan(0)
    expect(refused).toBeGreaterThan(0)
  })
})
