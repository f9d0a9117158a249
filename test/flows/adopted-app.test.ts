import { device } from '../../lib/features/index.ts'
import { migrate } from '../../lib/index.ts'
import { openTestDatabase, type TestDatabase } from '../support/database.ts'
import { askForCodes, deviceGrant } from '../support/device.ts'
import { kept } from '../support/features.ts'
import { authorizeUrl, clients, type Host, secret, startHost } from '../support/host.ts'
import { codeOf } from '../support/outcomes.ts'
import { RawBrowser, textOf } from '../support/raw-browser.ts'
import { answerOf } from '../support/tokens.ts'

// What a developer sees who has just mounted Latchkey in an app.

const warn = jest.fn()
const logger = { info: jest.fn(), warn, error: jest.fn() }
const scopes = { 'links:read': 'See your links', 'links:write': 'Change your links' }
const app = { ...clients[0]!, client_id: 'app', client_secret: secret, scope: 'openid address links:read' }

let host: Host
const start = async (
  options: object = {},
  database?: TestDatabase,
  client: object = app,
): Promise<RawBrowser> => {
  host = await startHost({
    clients: [client as typeof app],
    ...(database && { database }),
    options: { scopes, logger, pages: { name: 'Links', home: '/home' }, ...options },
  })
  return new RawBrowser(host.app)
}
beforeEach(() => warn.mockClear())
afterEach(() => host.close())
afterEach(() => jest.restoreAllMocks())

const lost = (): string[] =>
  warn.mock.calls.map(([line]) => String(line)).filter((line) => /asked for/.test(line))

test('a scope that is spelled wrong is named in the log with the right one, once', async () => {
  const agent = await start()
  const request = authorizeUrl({ client_id: 'app', scope: 'openid links:raed' })
  for (const _ of [1, 2]) codeOf(await agent.grant(request))
  expect(lost()).toEqual([
    'latchkey: client app asked for links:raed and does not get it: links:raed is not in the option scopes; did you mean links:read?',
  ])
})

test('a scope that the client is not registered with is named, too', async () => {
  const agent = await start()
  codeOf(await agent.grant(authorizeUrl({ client_id: 'app', scope: 'openid links:write' })))
  expect(lost()).toEqual([
    expect.stringContaining('links:write is not in the scope that the client is registered'),
  ])
})

test('what a device asks for is treated in the same way', async () => {
  const grant_types = [deviceGrant]
  await start({ features: [device()] }, undefined, {
    ...app,
    grant_types,
    redirect_uris: [],
  })
  await answerOf(askForCodes(host, { client_id: 'app', client_secret: secret, scope: 'openid links:raed' }))
  expect(lost()).toEqual([
    expect.stringContaining(
      'asked for links:raed and does not get it: links:raed is not in the option scopes',
    ),
  ])
})

test('in production a client cannot write into the log in this way', async () => {
  jest.replaceProperty(process.env, 'NODE_ENV', 'production')
  const database = openTestDatabase()
  await migrate(database.knex, { features: kept, database: { tablePrefix: database.tablePrefix } })
  const agent = await start({ secrets: [secret], users: undefined }, database)
  const page = await agent.open(authorizeUrl({ client_id: 'app', scope: 'openid links:raed' }))
  expect(page.url.pathname).toBe('/oauth/login')
  expect(lost()).toEqual([])
})

test('Connected apps leads back to the app, and lists only what the app reveals', async () => {
  // The users of this app have no address.
  const agent = await start()
  codeOf(await agent.grant(authorizeUrl({ client_id: 'app', scope: 'openid address links:read' })))
  const page = await agent.open('/oauth/account')
  expect(page.html).toMatch(/<a class="link" id="home" href="\/home"/)
  expect(textOf(page)).toContain('Go to Links')
  expect(textOf(page)).toContain('See your links')
  expect(textOf(page)).not.toContain('address')
})
