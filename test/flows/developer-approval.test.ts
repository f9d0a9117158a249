import type { Request } from 'express'
import { developerAdministration } from '../../lib/features/developers/administration.ts'
import { admin, developers, registration } from '../../lib/features/index.ts'
import type { AuthEvent } from '../../lib/index.ts'
import { serverBehind } from '../../lib/router.ts'
import {
  developerOptions,
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
import { fieldsOf, RawBrowser, textOf } from '../support/raw-browser.ts'
import { countStatements } from '../support/statement-count.ts'
import { ada, bob } from '../support/tokens.ts'

withDevelopers()

let agent: RawBrowser
beforeAll(async () => {
  agent = await signedIn()
})

const evil = { redirect_uris: 'https://evil.example/cb' }
const refused = { code: 'invalid_client' }
const change = (clientId: string, fields: Record<string, string>, by = agent) =>
  sent(by, `/edit?client_id=${clientId}`, fields)
const openForm = (clientId: string) => agent.open(`${root}/edit?client_id=${clientId}`)
const clientOf = (clientId: string) => host.oauth.clients.get(clientId)

describe('approval', () => {
  beforeEach(() => {
    says[ada.email] = 'approval'
  })

  test('a client works only when it is approved, and then without the mark', async () => {
    const { page, clientId, secret } = await register(agent)
    expect(textOf(page)).toContain('Sent to Latchkey for approval.')
    expect(await stateOf(agent, clientId)).toBe('Waiting for approval')
    expect((await tokensOf(clientId, secret)).status).toBe(400)
    const [waiting] = await host.oauth.developers!.list({ status: 'waiting' })
    const client = { client_id: clientId, disabled: true }
    expect(waiting).toMatchObject({ subject: '1', approved: false, client })

    await host.oauth.developers!.approve(clientId, { by: 'root', revision: waiting?.revision ?? 0 })
    expect((await tokensOf(clientId, secret)).status).toBe(200)
    const request = { client_id: clientId, scope: 'openid', redirect_uri: redirectUri, prompt: 'consent' }
    expect((await agent.open(authorizeUrl(request))).html).not.toContain('Unverified app')
    expect(await stateOf(agent, clientId)).toBe('Active')
    expect(await host.oauth.developers!.list({ status: 'waiting' })).toEqual([])
    expect(typesOf()).toEqual(['client.created', 'client.approval_requested', 'client.approved'])
    const approved = events.find(({ type }) => type === 'client.approved')
    expect(approved).toMatchObject({ clientId, subject: '1', actor: 'root' })
  })

  test('a client works as approved while a change waits, and an unseen change is not approved', async () => {
    const { clientId, secret } = await register(agent)
    const { approve, refuse, list } = host.oauth.developers!
    await approve(clientId)
    expect(textOf(await change(clientId, evil))).toContain('Sent to Latchkey for approval.')
    expect(await stateOf(agent, clientId)).toBe('Active. Changes are waiting for approval')
    expect((await tokensOf(clientId, secret)).status).toBe(200)
    const [seen] = await list({ status: 'waiting' })
    expect(seen).toMatchObject({ approved: true })
    expect(seen?.changes).toEqual({ redirect_uris: ['https://evil.example/cb'] })

    const form = await openForm(clientId)
    expect(fieldsOf(form, 'name="decision"')).toMatchObject(evil)
    const two = { redirect_uris: `${redirectUri}\nhttps://desk.example.com/2` }
    await agent.submit(form, 'name="decision"', two)
    const revision = seen?.revision ?? 0
    await expect(approve(clientId, { revision })).rejects.toMatchObject(refused)
    await expect(refuse(clientId, { revision })).rejects.toMatchObject(refused)
    await approve(clientId, { revision: revision + 1 })
    expect((await clientOf(clientId))?.redirect_uris).toEqual([redirectUri, 'https://desk.example.com/2'])
  })

  test('a change that only removes applies at once and leaves the client approved', async () => {
    const two = `${redirectUri}\nhttps://desk.example.com/2`
    const { clientId } = await register(agent, { redirect_uris: two })
    await host.oauth.developers!.approve(clientId)
    const page = await change(clientId, { redirect_uris: redirectUri, 'scopes:openid': '' })
    expect(textOf(page)).toContain('Your changes are saved.')
    const client = await clientOf(clientId)
    expect(client).toMatchObject({ redirect_uris: [redirectUri], scope: 'notes:read', disabled: false })
    expect(client).not.toHaveProperty('self_described')
    const changes = [['client_name', 'Bank'] as const, ['scopes:profile', 'on'] as const]
    for (const [name, value] of [...changes, ['logo_uri', 'https://x.example/l.png'] as const])
      expect(textOf(await change(clientId, { [name]: value }))).toContain('for approval')
    expect(await clientOf(clientId)).toEqual(client)
  })

  test('a refusal tells the owner why, and the client can be sent again', async () => {
    const { clientId } = await register(agent)
    const { approve, refuse } = host.oauth.developers!
    await refuse(clientId, { by: 'root', reason: 'The <b>name</b> is ours.' })
    const page = await agent.open(`${root}/client?client_id=${clientId}`)
    expect(page.html).toContain('The &lt;b&gt;name&lt;/b&gt; is ours.')
    expect(await stateOf(agent, clientId)).toBe('Not approved yet')
    expect(await clientOf(clientId)).toMatchObject({ disabled: true })
    await expect(approve(clientId)).rejects.toMatchObject(refused)
    await change(clientId, { client_name: 'Desk 2' })
    expect(await clientOf(clientId)).toMatchObject({ client_name: 'Desk 2', disabled: true })
    await approve(clientId)
    await change(clientId, { client_name: 'Desk 3' })
    await refuse(clientId)
    expect(await stateOf(agent, clientId)).toBe('Active. Changes were not approved')
    expect(await clientOf(clientId)).toMatchObject({ client_name: 'Desk 2', disabled: false })
  })

  test('enable() skips no approval; it takes a refusal back, and no older form changes that', async () => {
    const { clientId, secret } = await register(agent)
    const { enable } = host.oauth.clients
    const waits = { status: 409, message: expect.stringContaining('waits for approval; approve it on') }
    await expect(enable(clientId)).rejects.toMatchObject(waits)
    const [waiting] = await host.oauth.developers!.list({ status: 'waiting' })
    expect(waiting).toMatchObject({ approved: false, client: { client_id: clientId, disabled: true } })
    await host.oauth.developers!.refuse(clientId)
    const ifUnchanged = await clientOf(clientId)
    await host.oauth.clients.update(clientId, { client_name: 'Desk 2' })
    await expect(enable(clientId, { ifUnchanged })).rejects.toMatchObject({ status: 409 })
    const form = await openForm(clientId)
    await enable(clientId)
    expect((await agent.submit(form, 'name="decision"', evil)).status).toBe(409)
    expect(await clientOf(clientId)).toMatchObject({ redirect_uris: [redirectUri] })
    expect(await stateOf(agent, clientId)).toBe('Active')
    expect((await tokensOf(clientId, secret)).status).toBe(200)
  })

  test('is no longer needed once allow returns true', async () => {
    const { clientId, secret } = await register(agent)
    says[ada.email] = true
    await change(clientId, {})
    expect(await stateOf(agent, clientId)).toBe('Active')
    expect((await tokensOf(clientId, secret)).status).toBe(200)
  })
})

test('on the admin pages, a decision applies only to the request that the administrator saw', async () => {
  says[ada.email] = 'approval'
  const allow = ({ req }: { req: Request }) => req.get('x-admin') ?? false
  const both = await startHost({ options: { features: [developers(developerOptions), admin({ allow })] } })
  const heard: AuthEvent[] = []
  both.oauth.events.on('*', (event) => heard.push(event))
  const owner = await signedIn(ada, both)
  const [one, two] = [await register(owner), await register(owner)]
  const url = '/oauth/admin/request'
  const list = '/oauth/admin/requests'
  const pageOf = ({ clientId }: { clientId: string }) => `${url}?client_id=${clientId}`
  for (const path of [list, pageOf(one)]) expectErrorPage(await owner.get(path), 403)
  const carol = new RawBrowser(both.app, undefined, { 'x-admin': 'carol' })
  const formAbout = async (act: string, client: { clientId: string }) =>
    fieldsOf(await carol.open(pageOf(client)), `value="${act}"`)
  const { csrf_token: _, ...unproven } = await formAbout('approve', one)
  expectErrorPage(await carol.post(url, unproven), 403)
  expectErrorPage(await carol.post(url, { ...(await formAbout('approve', one)), revision: '2' }), 403)
  const seen = await formAbout('refuse', two)
  await change(two.clientId, { client_name: 'Desk 2' }, owner)
  const stale = await carol.follow(await carol.post(url, seen))
  expect(textOf(stale)).toContain('Nothing was done')
  // Enabling a client would pass over its approval.
  const adminPage = `/oauth/admin/client?client_id=${two.clientId}`
  expect((await carol.open(adminPage)).html).not.toContain('value="enable"')
  const approved = await carol.follow(await carol.post(url, await formAbout('approve', one)))
  expect(textOf(approved)).toContain('The request is approved.')
  await carol.post(url, { ...(await formAbout('refuse', two)), reason: 'No.' })
  expect(textOf(await carol.open(list))).toContain('No client waits for approval.')
  for (const path of [pageOf(two), url]) expectErrorPage(await carol.get(path), 404)
  const isDisabled = async ({ clientId }: typeof one) => (await both.oauth.clients.get(clientId))?.disabled
  expect([await isDisabled(one), await isDisabled(two)]).toEqual([false, true])
  const decisions = heard.filter(({ type }) => /approved|approval_refused/.test(type))
  expect(decisions).toMatchObject(
    [one, two].map(({ clientId }) => ({ clientId, actor: 'carol', subject: '1', address: '127.0.0.1' })),
  )
  const enable = fieldsOf(await carol.open(adminPage), 'value="enable"')
  await change(two.clientId, { client_name: 'Desk 3' }, owner)
  const late = await carol.follow(await carol.post(adminPage, enable))
  expect(textOf(late)).toContain('Nothing was saved')
  expect(await both.oauth.clients.get(two.clientId)).toMatchObject({ client_name: 'Desk 3', disabled: true })
  await both.close()
  const plain = await startHost({ options: { features: [admin({ allow })] } })
  expect((await new RawBrowser(plain.app, undefined, { 'x-admin': 'carol' }).get(list)).status).toBe(404)
  await plain.close()
})

test('the number of requests that wait is read once for an admin page, and not for a form', async () => {
  says[ada.email] = 'approval'
  const both = await startHost({
    options: { features: [developers(developerOptions), admin({ allow: () => true })] },
  })
  const { clientId } = await register(await signedIn(ada, both))
  const operator = new RawBrowser(both.app)
  const form = fieldsOf(await operator.open(`/oauth/admin/request?client_id=${clientId}`), 'value="approve"')
  const count = await countStatements(both.database.knex, [both.usersTable])
  const counted = () => count.ours.filter((sql) => sql.startsWith('select count(*) as waiting')).length
  const answer = await operator.post('/oauth/admin/request', form)
  expect([answer.status, counted()]).toEqual([303, 0])
  await operator.follow(answer)
  expect(counted()).toBe(1)
  await both.close()
})

describe('owners', () => {
  test('transfer() gives a client to another user or to none, regardless of the quota', async () => {
    const bobs = await signedIn(bob)
    const { clientId } = await register(agent)
    for (const _ of [1, 2, 3]) await register(bobs)
    const { transfer, ownerOf } = host.oauth.developers!
    for (const id of [clientId, 'web']) await transfer(id, 2)
    expect(await ownerOf('web')).toBe('2')
    expect(await stateOf(bobs, clientId)).toBe('Active')
    expectErrorPage(await agent.open(`${root}/client?client_id=${clientId}`), 404)
    await transfer('web', null)
    expect(await ownerOf('web')).toBeUndefined()
    await expect(transfer('unknown-client', 1)).rejects.toMatchObject(refused)
    await expect(transfer(clientId, '')).rejects.toThrow('subject must be the id')
  })

  test('transfer() drops the previous owner’s waiting change, whose open form then does nothing', async () => {
    says[ada.email] = 'approval'
    const { clientId } = await register(agent)
    await host.oauth.developers!.approve(clientId)
    await change(clientId, evil)
    const form = await openForm(clientId)
    await host.oauth.developers!.transfer(clientId, 2)
    const [owned] = await host.oauth.developers!.list()
    expect(owned).toMatchObject({ subject: '2', status: 'active' })
    expect(owned).not.toHaveProperty('changes')
    await host.oauth.developers!.transfer(clientId, 1)
    expect((await agent.submit(form, 'name="decision"', evil)).status).toBe(409)
  })

  test('a client’s registration access token is refused once its new owner has changed the client', async () => {
    const open = await startHost({ options: { features: [registration(), developers(developerOptions)] } })
    const owner = await signedIn(ada, open)
    const body = JSON.stringify({ client_name: 'Self', redirect_uris: [redirectUri] })
    const headers = { 'content-type': 'application/json' }
    const made = JSON.parse((await owner.send('POST', '/oauth/register', { body, headers })).html)
    await open.oauth.developers!.transfer(made.client_id, 1)
    await change(made.client_id, { client_name: 'Desk' }, owner)
    const authorization = `Bearer ${made.registration_access_token}`
    const path = `/oauth/register/${made.client_id}`
    expect((await owner.send('DELETE', path, { headers: { authorization } })).status).toBe(401)
    expect(await open.oauth.clients.get(made.client_id)).toMatchObject({ client_name: 'Desk' })
    await open.close()
  })

  test('after developers.off(), owned clients are exported, approved and released', async () => {
    says[ada.email] = 'approval'
    const on = await startHost({ options: { features: [developers(developerOptions)] } })
    const { clientId } = await register(await signedIn(ada, on))
    const options = { features: [developers.off()] }
    const off = await startHost({ database: on.database, clients: [], options })
    expect(off.oauth).not.toHaveProperty('developers')
    expect((await new RawBrowser(off.app).get(root)).status).toBe(404)
    expect(await off.oauth.users.export(1)).toMatchObject({ clients: [clientId] })
    const { ownerOf, approve } = developerAdministration({ ...serverBehind(off.oauth)!, option: undefined })
    expect(await ownerOf(clientId)).toBe('1')
    await approve(clientId)
    expect(await on.oauth.developers!.list()).toMatchObject([{ approved: true, status: 'active' }])
    await off.oauth.users.erase(1)
    expect(await on.oauth.developers!.list()).toEqual([])
    expect(await off.oauth.clients.get(clientId)).toMatchObject({ disabled: true })
    await on.close()
  })

  test('an erased user leaves disabled clients without an owner', async () => {
    const { oauth, ...own } = await startHost({ options: { features: [developers(developerOptions)] } })
    const { clientId } = await register(await signedIn(ada, own))
    const other = await register(await signedIn(bob, own))
    expect((await oauth.users.export(1)).clients).toEqual([clientId])
    await oauth.users.erase(1)
    expect(await oauth.clients.get(clientId)).toMatchObject({ disabled: true })
    expect(await oauth.developers!.ownerOf(clientId)).toBeUndefined()
    expect(await oauth.clients.get(other.clientId)).toMatchObject({ disabled: false })
    expect(await oauth.users.export(1)).not.toHaveProperty('clients')
    await own.close()
  })
})
