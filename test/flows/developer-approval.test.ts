import type { AuthEvent } from '../../lib/index.ts'
import { textOf } from '../support/connected-clients.ts'
import {
  developers,
  events,
  host,
  redirectUri,
  register,
  root,
  says,
  sent,
  signedIn,
  stateOf,
  tokensOf,
  typesOf,
  withDevelopers,
} from '../support/developers.ts'
import { authorizeUrl, startHost } from '../support/host.ts'
import { expectErrorPage } from '../support/outcomes.ts'
import { type Answer, fieldsOf, RawBrowser } from '../support/raw-browser.ts'
import { ada, bob } from '../support/tokens.ts'

jest.setTimeout(60_000)
withDevelopers()

describe('approval', () => {
  beforeEach(() => {
    says[ada.email] = 'approval'
  })

  test('a client works only when it is approved, and then without the mark', async () => {
    const agent = await signedIn()
    const { page, clientId, secret } = await register(agent)
    expect(textOf(page)).toContain('Sent to Latchkey for approval.')
    expect(await stateOf(agent, clientId)).toBe('Waiting for approval')
    expect((await tokensOf(clientId, secret)).status).toBe(400)
    const [waiting] = await host.oauth.developers.list({ status: 'waiting' })
    expect(waiting).toMatchObject({
      subject: '1',
      approved: false,
      client: { client_id: clientId, disabled: true },
    })

    await host.oauth.developers.approve(clientId, { by: 'root', revision: waiting?.revision ?? 0 })
    expect((await tokensOf(clientId, secret)).status).toBe(200)
    const request = authorizeUrl({
      client_id: clientId,
      scope: 'openid',
      redirect_uri: redirectUri,
      prompt: 'consent',
    })
    expect((await agent.open(request)).html).not.toContain('Unverified app')
    expect(await stateOf(agent, clientId)).toBe('Active')
    expect(await host.oauth.developers.list({ status: 'waiting' })).toEqual([])
    expect(typesOf()).toEqual(['client.created', 'client.approval_requested', 'client.approved'])
    expect(events.find(({ type }) => type === 'client.approved')).toMatchObject({
      clientId,
      subject: '1',
      by: 'root',
    })
  })

  test('a client keeps working as approved while a change waits; a change that was not seen is not approved', async () => {
    const agent = await signedIn()
    const { clientId, secret } = await register(agent)
    await host.oauth.developers.approve(clientId)
    const page = await sent(agent, `/edit?client_id=${clientId}`, {
      redirect_uris: 'https://evil.example/cb',
    })
    expect(textOf(page)).toContain('Sent to Latchkey for approval.')
    expect(await stateOf(agent, clientId)).toBe('Active. Changes are waiting for approval')
    expect((await tokensOf(clientId, secret)).status).toBe(200)
    const [seen] = await host.oauth.developers.list({ status: 'waiting' })
    expect(seen).toMatchObject({ approved: true, changes: { redirect_uris: ['https://evil.example/cb'] } })
    expect(Object.keys(seen?.changes ?? {})).toEqual(['redirect_uris'])

    const form = await agent.open(`${root}/edit?client_id=${clientId}`)
    expect(fieldsOf(form, 'name="decision"')).toMatchObject({ redirect_uris: 'https://evil.example/cb' })
    await agent.submit(form, 'name="decision"', {
      redirect_uris: `${redirectUri}\nhttps://desk.example.com/2`,
    })
    const old = { revision: seen?.revision ?? 0 }
    await expect(host.oauth.developers.approve(clientId, old)).rejects.toMatchObject({
      code: 'invalid_client',
    })
    await expect(host.oauth.developers.refuse(clientId, old)).rejects.toMatchObject({
      code: 'invalid_client',
    })
    await host.oauth.developers.approve(clientId, { revision: old.revision + 1 })
    const { redirect_uris } = (await host.oauth.clients.get(clientId)) ?? {}
    expect(redirect_uris).toEqual([redirectUri, 'https://desk.example.com/2'])
  })

  test('a change that only removes applies at once and leaves the client approved', async () => {
    const agent = await signedIn()
    const two = `${redirectUri}\nhttps://desk.example.com/2`
    const { clientId } = await register(agent, { redirect_uris: two })
    await host.oauth.developers.approve(clientId)
    const page = await sent(agent, `/edit?client_id=${clientId}`, {
      redirect_uris: redirectUri,
      'scopes:openid': '',
    })
    expect(textOf(page)).toContain('Your changes are saved.')
    const client = await host.oauth.clients.get(clientId)
    expect(client).toMatchObject({ redirect_uris: [redirectUri], scope: 'notes:read', disabled: false })
    expect(client).not.toHaveProperty('self_described')
    const changes: Record<string, string>[] = [
      { client_name: 'Bank' },
      { 'scopes:profile': 'on' },
      { logo_uri: 'https://x.example/l.png' },
    ]
    for (const change of changes)
      expect(textOf(await sent(agent, `/edit?client_id=${clientId}`, change))).toContain('for approval')
    expect(await host.oauth.clients.get(clientId)).toEqual(client)
  })

  test('a refusal tells the owner why, and the client can be sent again', async () => {
    const agent = await signedIn()
    const { clientId } = await register(agent)
    await host.oauth.developers.refuse(clientId, { by: 'root', reason: 'The <b>name</b> is ours.' })
    const page = await agent.open(`${root}/client?client_id=${clientId}`)
    expect(page.html).toContain('The &lt;b&gt;name&lt;/b&gt; is ours.')
    expect(await stateOf(agent, clientId)).toBe('Not approved')
    expect(await host.oauth.clients.get(clientId)).toMatchObject({ disabled: true })
    await expect(host.oauth.developers.approve(clientId)).rejects.toMatchObject({ code: 'invalid_client' })
    await sent(agent, `/edit?client_id=${clientId}`, { client_name: 'Desk 2' })
    expect(await host.oauth.clients.get(clientId)).toMatchObject({ client_name: 'Desk 2', disabled: true })
    await host.oauth.developers.approve(clientId)
    await sent(agent, `/edit?client_id=${clientId}`, { client_name: 'Desk 3' })
    await host.oauth.developers.refuse(clientId)
    expect(await stateOf(agent, clientId)).toBe('Active. Changes were not approved')
    expect(await host.oauth.clients.get(clientId)).toMatchObject({ client_name: 'Desk 2', disabled: false })
  })

  test('one of several parallel decisions takes effect', async () => {
    const agent = await signedIn()
    const { clientId } = await register(agent)
    const { approve, refuse } = host.oauth.developers
    const outcomes = await Promise.allSettled([approve(clientId), refuse(clientId), approve(clientId)])
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect(typesOf().filter((type) => /approved|refused/.test(type))).toHaveLength(1)
  })

  test('a form that was opened before enable() changes nothing', async () => {
    const agent = await signedIn()
    const { clientId } = await register(agent)
    const form = await agent.open(`${root}/edit?client_id=${clientId}`)
    await host.oauth.clients.enable(clientId)
    const late = { redirect_uris: 'https://evil.example/cb' }
    expect((await agent.submit(form, 'name="decision"', late)).status).toBe(409)
    expect(await host.oauth.clients.get(clientId)).toMatchObject({ redirect_uris: [redirectUri] })
  })

  test('enable() with ifUnchanged refuses a client that has changed since it was read', async () => {
    const agent = await signedIn()
    const { clientId } = await register(agent)
    const ifUnchanged = await host.oauth.clients.get(clientId)
    await sent(agent, `/edit?client_id=${clientId}`, { redirect_uris: 'https://evil.example/cb' })
    await expect(host.oauth.clients.enable(clientId, { ifUnchanged })).rejects.toMatchObject({ status: 409 })
    const [waiting] = await host.oauth.developers.list({ status: 'waiting' })
    expect(waiting).toMatchObject({ approved: false, client: { client_id: clientId, disabled: true } })
  })

  test('is no longer needed once allow returns true; enable() approves a client too', async () => {
    const agent = await signedIn()
    const [first, second] = [await register(agent), await register(agent)]
    says[ada.email] = true
    await sent(agent, `/edit?client_id=${first.clientId}`, {})
    await host.oauth.clients.enable(second.clientId)
    for (const { clientId, secret } of [first, second]) {
      expect(await stateOf(agent, clientId)).toBe('Active')
      expect((await tokensOf(clientId, secret)).status).toBe(200)
    }
  })
})

test('on the admin pages, a decision applies only to the request that the administrator saw', async () => {
  says[ada.email] = 'approval'
  const admin = (req: { get(name: string): string | undefined }) => req.get('x-admin') ?? false
  const both = await startHost({ options: { developers, admin } })
  const heard: AuthEvent[] = []
  both.oauth.events.on('*', (event) => heard.push(event))
  const agent = await signedIn(ada, both)
  const [one, two] = [await register(agent), await register(agent)]
  const url = '/oauth/admin/requests'
  expectErrorPage(await agent.get(url), 403)
  const carol = new RawBrowser(both.app, undefined, { 'x-admin': 'carol' })
  const formAbout = (page: Answer, act: string, { clientId }: { clientId: string }) =>
    fieldsOf({ ...page, html: page.html.slice(page.html.indexOf(clientId)) }, `value="${act}"`)
  const page = await carol.open(url)
  const { csrf_token: _, ...unproven } = formAbout(page, 'approve', one)
  expectErrorPage(await carol.post(url, unproven), 403)
  expectErrorPage(await carol.post(url, { ...formAbout(page, 'approve', one), revision: '2' }), 403)
  const seen = formAbout(page, 'refuse', two)
  await sent(agent, `/edit?client_id=${two.clientId}`, { client_name: 'Desk 2' })
  const stale = await carol.follow(await carol.post(url, seen))
  expect(textOf(stale)).toContain('Nothing was done')
  const adminPage = `/oauth/admin/client?client_id=${two.clientId}`
  const enable = fieldsOf(await carol.open(adminPage), 'value="enable"')
  await sent(agent, `/edit?client_id=${two.clientId}`, { client_name: 'Desk 3' })
  await carol.post(adminPage, enable)
  expect(await both.oauth.clients.get(two.clientId)).toMatchObject({ client_name: 'Desk 3', disabled: true })
  const now = await carol.open(url)
  await carol.post(url, formAbout(now, 'approve', one))
  await carol.post(url, { ...formAbout(now, 'refuse', two), reason: 'No.' })
  expect(textOf(await carol.open(url))).toContain('No client waits for approval.')
  const [approved, refused] = [one, two].map(({ clientId }) => both.oauth.clients.get(clientId))
  expect([(await approved)?.disabled, (await refused)?.disabled]).toEqual([false, true])
  const decisions = heard.filter(({ type }) => /approved|approval_refused/.test(type))
  expect(decisions).toMatchObject(
    [one, two].map(({ clientId }) => ({ clientId, by: 'carol', subject: '1', address: '127.0.0.1' })),
  )
  await both.close()
  const plain = await startHost({ options: { admin } })
  expect((await new RawBrowser(plain.app, undefined, { 'x-admin': 'carol' }).get(url)).status).toBe(404)
  await plain.close()
})

describe('owners', () => {
  test('transfer() gives a client to another user or to none, regardless of the quota', async () => {
    const [agent, bobs] = [await signedIn(), await signedIn(bob)]
    const { clientId } = await register(agent)
    for (const _ of [1, 2, 3]) await register(bobs)
    for (const id of [clientId, 'web']) await host.oauth.developers.transfer(id, 2)
    expect(await host.oauth.developers.ownerOf('web')).toBe('2')
    expect(await stateOf(bobs, clientId)).toBe('Active')
    expectErrorPage(await agent.open(`${root}/client?client_id=${clientId}`), 404)
    await host.oauth.developers.transfer('web', null)
    expect(await host.oauth.developers.ownerOf('web')).toBeUndefined()
    await expect(host.oauth.developers.transfer('unknown-client', 1)).rejects.toMatchObject({
      code: 'invalid_client',
    })
    await expect(host.oauth.developers.transfer(clientId, '')).rejects.toThrow('subject must be the id')
  })

  test('transfer() drops the waiting change of the previous owner, whose open form then changes nothing', async () => {
    says[ada.email] = 'approval'
    const agent = await signedIn()
    const { clientId } = await register(agent)
    await host.oauth.developers.approve(clientId)
    const evil = { redirect_uris: 'https://evil.example/cb' }
    await sent(agent, `/edit?client_id=${clientId}`, evil)
    const form = await agent.open(`${root}/edit?client_id=${clientId}`)
    await host.oauth.developers.transfer(clientId, 2)
    const [owned] = await host.oauth.developers.list()
    expect(owned).toMatchObject({ subject: '2', status: 'active' })
    expect(owned).not.toHaveProperty('changes')
    await host.oauth.developers.transfer(clientId, 1)
    expect((await agent.submit(form, 'name="decision"', evil)).status).toBe(409)
  })

  test('the registration access token of a client is refused once its new owner has changed the client', async () => {
    const open = await startHost({ options: { developers, features: { registration: true } } })
    const agent = await signedIn(ada, open)
    const body = JSON.stringify({ client_name: 'Self', redirect_uris: [redirectUri] })
    const headers = { 'content-type': 'application/json' }
    const made = JSON.parse((await agent.send('POST', '/oauth/register', { body, headers })).html)
    await open.oauth.developers.transfer(made.client_id, 1)
    await sent(agent, `/edit?client_id=${made.client_id}`, { client_name: 'Desk' })
    const authorization = `Bearer ${made.registration_access_token}`
    const path = `/oauth/register/${made.client_id}`
    expect((await agent.send('DELETE', path, { headers: { authorization } })).status).toBe(401)
    expect(await open.oauth.clients.get(made.client_id)).toMatchObject({ client_name: 'Desk' })
    await open.close()
  })

  test('an erased user leaves disabled clients without an owner', async () => {
    const erased = await startHost({ options: { developers } })
    const agent = await signedIn(ada, erased)
    const [{ clientId }, { clientId: other }] = [
      await register(agent),
      await register(await signedIn(bob, erased)),
    ]
    expect((await erased.oauth.users.export(1)).clients).toEqual([clientId])
    await erased.oauth.users.erase(1)
    expect(await erased.oauth.clients.get(clientId)).toMatchObject({ disabled: true })
    expect(await erased.oauth.developers.ownerOf(clientId)).toBeUndefined()
    expect(await erased.oauth.clients.get(other)).toMatchObject({ disabled: false })
    expect(await erased.oauth.users.export(1)).not.toHaveProperty('clients')
    await erased.close()
  })
})
