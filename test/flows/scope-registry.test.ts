import supertest from 'supertest'
import { type AuthRouterOptions, type ClientSeed, seedClients } from '../../lib/index.ts'
import { authorizeUrl, callback, type Host, secret, startHost } from '../support/host.ts'
import { codeOf } from '../support/outcomes.ts'
import { type Answer, fieldsOf, pageOf, RawBrowser } from '../support/raw-browser.ts'
import { answerOf, post, redeem } from '../support/tokens.ts'

type Scopes = NonNullable<AuthRouterOptions['scopes']>

const web: ClientSeed = {
  client_id: 'web',
  client_secret: secret,
  redirect_uris: [callback],
  scope: 'openid orders:read payments:send',
}
// With a group of its own, so that a change of the risk changes nothing else.
const orders = { description: 'See your orders', group: 'read' } as const
const scopes: Scopes = {
  'orders:read': orders,
  'payments:send': { description: 'Pay for you', optional: true, risk: 'high' },
  'accounts:close': { description: 'Close your account', risk: 'high' },
}
const request = authorizeUrl({ client_id: 'web', scope: 'openid orders:read payments:send' })
const payments = 'scope:payments:send'

let host: Host
const open: Host[] = []
beforeAll(async () => {
  host = await startHost({ clients: [web], options: { scopes } })
})
afterAll(async () => {
  for (const one of open) await one.oauth.close()
  await host.close()
})
beforeEach(async () => {
  for (const name of ['consents', 'consent_receipts']) await host.table(name).delete()
})

/** The same server after a deployment, with the same database and other scopes. */
const deployed = async (changed: Scopes, agent: RawBrowser): Promise<RawBrowser> => {
  const { database, usersTable: table } = host
  const users = { table, columns: { id: 'id', username: 'email', password: 'password_hash' } }
  const options = { scopes: { ...scopes, ...changed }, users }
  const next = await startHost({ database, clients: [web], options })
  open.push(next)
  return new RawBrowser(next.app, undefined, {}, agent.cookies)
}

const asked = async (url = request) => {
  const agent = new RawBrowser(host.app)
  return { agent, page: await agent.signIn(await agent.open(url)) }
}
/** The sentences of the page that are marked as sensitive. */
const sensitive = ({ html }: Answer): string[] =>
  html
    .split(/<\/svg>\s*<span>/)
    .slice(1)
    .filter((line) => line.startsWith('<span class="sensitive">'))
    .map((line) => /<bdi>(.*?)<\/bdi>/.exec(line)?.[1] ?? '')
const grantedBy = async (done: Answer): Promise<unknown> => (await redeem(host, codeOf(done))).body.scope

test('seeds with an undescribed scope are refused and write nothing; without it they work', async () => {
  const { knex, tablePrefix } = host.database
  const seed = (more: Partial<ClientSeed>) => {
    const seeds = [
      { ...web, client_id: 'first' },
      { ...web, client_id: 'second', ...more },
    ]
    return seedClients(knex, seeds, { database: { tablePrefix }, scopes })
  }
  const seeded = () => host.table('clients').whereIn('client_id', ['first', 'second'])
  await expect(seed({ scope: 'openid ordrs:read' })).rejects.toMatchObject({
    code: 'invalid_client_metadata',
    message: expect.stringContaining(
      'client second: scope: ordrs:read is not in the option scopes; did you mean orders:read?',
    ),
  })
  expect(await seeded()).toEqual([])
  await seed({})
  expect(await seeded()).toHaveLength(2)
})

describe('a scope of high risk', () => {
  test('is marked on the consent page, and an optional one is granted only if it is ticked', async () => {
    const { agent, page } = await asked()
    expect(sensitive(page)).toEqual(['Pay for you'])
    expect(fieldsOf(page, 'value="allow"')).not.toHaveProperty([payments])
    expect(await grantedBy(await agent.decide(page, 'allow'))).toBe('openid orders:read')
    const { receipts } = await host.oauth.users.export(1)
    const lines = receipts.at(-1)?.scopes.map(({ name, risk, allowed }) => ({ name, risk, allowed }))
    expect(lines).toEqual([
      { name: 'openid', allowed: true },
      { name: 'orders:read', allowed: true },
      { name: 'payments:send', risk: 'high', allowed: false },
    ])

    const next = await agent.open(request)
    const done = await agent.decide(next, 'allow', { [payments]: 'on' })
    expect(await grantedBy(done)).toBe('openid orders:read payments:send')
    codeOf(await agent.open(request))
    const again = await agent.open(`${request}&prompt=consent`)
    expect(fieldsOf(again, 'value="allow"')).toHaveProperty([payments], 'on')
  })

  test('is asked for again when its risk becomes high, and is then unticked', async () => {
    const { agent, page } = await asked()
    await agent.decide(page, 'allow', { [payments]: 'on' })
    const same = await deployed({ 'orders:read': { ...orders, risk: 'normal' } }, agent)
    codeOf(await same.open(request))
    const riskier = await deployed({ 'orders:read': { ...orders, risk: 'high' } }, agent)
    const again = await riskier.open(request)
    expect(pageOf(again)).toBe('200 /consent')
    expect(sensitive(again)).toEqual(['See your orders', 'Pay for you'])
    const optional = await deployed({ 'orders:read': { ...orders, optional: true, risk: 'high' } }, agent)
    expect(fieldsOf(await optional.open(request), 'value="allow"')).not.toHaveProperty(['scope:orders:read'])
  })

  test('is asked for again when its risk becomes normal', async () => {
    const { agent, page } = await asked()
    await agent.decide(page, 'allow', { [payments]: 'on' })
    const safer = await deployed({ 'payments:send': { description: 'Pay for you', optional: true } }, agent)
    const again = await safer.open(request)
    expect(pageOf(again)).toBe('200 /consent')
    expect(sensitive(again)).toEqual([])
  })
})

test('a scope that implies another passes its guard; the token keeps what was granted', async () => {
  const implying = await startHost({
    clients: [{ ...web, grant_types: ['client_credentials'], redirect_uris: [], scope: 'admin orders:read' }],
    options: {
      scopes: {
        'orders:read': 'See your orders',
        'orders:write': { description: 'Change your orders', implies: ['orders:read'] },
        admin: { description: 'Everything', implies: ['orders:write'] },
      },
    },
  })
  open.push(implying)
  const { app, oauth } = implying
  for (const name of ['orders:read', 'admin']) {
    app.get(
      `/${name}`,
      oauth.requireToken(name, { user: false }),
      (req, res) => void res.json(req.auth.scopes),
    )
  }
  const answerTo = async (scope: string, path: string) => {
    const form = { grant_type: 'client_credentials', client_id: 'web', client_secret: secret, scope }
    const { access_token } = await answerOf(post(implying, form))
    const { status, body } = await supertest(app).get(path).set('Authorization', `Bearer ${access_token}`)
    return { status, ...(status === 200 && { scopes: body }) }
  }
  expect(await answerTo('admin', '/orders:read')).toEqual({ status: 200, scopes: ['admin'] })
  expect(await answerTo('orders:read', '/admin')).toEqual({ status: 403 })
})
