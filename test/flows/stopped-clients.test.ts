import { admin, developers } from '../../lib/features/index.ts'
// What people read who come from an app that cannot be used: it depends on the state of the app, and on who reads.
import { migrate } from '../../lib/index.ts'
import { serverBehind } from '../../lib/router.ts'
import { openTestDatabase } from '../support/database.ts'
import { kept } from '../support/features.ts'
import { authorizeUrl, callback, createUsers, type Host, startHost } from '../support/host.ts'
import { expectErrorPage } from '../support/outcomes.ts'
import { type Answer, RawBrowser, textOf } from '../support/raw-browser.ts'
import { ada, bob, post } from '../support/tokens.ts'

let host: Host
const environment = process.env.NODE_ENV

/** Ada owns the apps, Bob does not. */
const readers = {
  visitor: () => new RawBrowser(host.app),
  user: () => new RawBrowser(host.app),
  owner: () => new RawBrowser(host.app),
  operator: () => new RawBrowser(host.app, undefined, { 'x-admin': 'root' }),
}
type Reader = keyof typeof readers
const browsers = {} as Record<Reader, RawBrowser>
const developer = '/oauth/developer'

beforeAll(async () => {
  // In development every page explains the error.
  process.env.NODE_ENV = 'production'
  const database = openTestDatabase()
  const { knex, tablePrefix } = database
  await migrate(knex, { features: kept, database: { knex, tablePrefix } })
  await createUsers(database, `${tablePrefix}people`)
  const features = [
    developers({ allow: () => 'approval' }),
    admin({ allow: ({ req }) => req.get('x-admin') ?? false }),
  ]
  host = await startHost({ database, options: { storedEvents: true, features, limits: false } })
  for (const name of ['visitor', 'user', 'owner', 'operator'] as const) browsers[name] = readers[name]()
  const { user, owner } = browsers
  await owner.signIn(await owner.open(developer), ada.email, ada.password)
  await user.signIn(await user.open(developer), bob.email, bob.password)
})
afterAll(async () => {
  process.env.NODE_ENV = environment
  await host?.close()
})

const registered = async (): Promise<string> => {
  const fields = { client_name: 'Order Desk', redirect_uris: callback, 'scopes:openid': 'on' }
  const form = await browsers.owner.open(`${developer}/new`)
  const page = await browsers.owner.submit(form, 'name="decision"', fields)
  return page.url.searchParams.get('client_id') ?? ''
}

const approved = async (): Promise<string> => {
  const clientId = await registered()
  await host.oauth.developers?.approve(clientId)
  return clientId
}

/** Brings a new app into a state. */
const states = {
  unknown: () => Promise.resolve('nobody'),
  waiting: registered,
  refused: async () => {
    const clientId = await registered()
    await host.oauth.developers?.refuse(clientId)
    return clientId
  },
  disabled: async () => {
    const clientId = await approved()
    await host.oauth.clients.disable(clientId)
    return clientId
  },
  deleted: async () => {
    const clientId = await approved()
    await host.oauth.clients.delete(clientId)
    return clientId
  },
  'wrong URI': approved,
}

const unknown = [
  'This app isn’t registered here',
  'remove the connection in the app and add it again',
] as const
const off = ['This app is turned off', 'Latchkey has turned it off.'] as const
const notYet = ['This app can’t be used yet', 'Latchkey hasn’t approved it.'] as const
const wait = ['Waiting for approval', 'the client waits for approval'] as const
const no = ['Not approved', 'the client was not approved'] as const
const disabled = ['This app is turned off', 'the client is disabled'] as const
const wrong = ['This request can’t be completed', 'Go back to it and try again.'] as const
const differs = ['This request can’t be completed', `Received ${callback} /`] as const

/** The heading, and further words, for each reader. */
const words: Readonly<Record<keyof typeof states, Readonly<Record<Reader, readonly [string, string]>>>> = {
  unknown: { visitor: unknown, user: unknown, owner: unknown, operator: unknown },
  waiting: { visitor: notYet, user: notYet, owner: wait, operator: wait },
  refused: { visitor: notYet, user: notYet, owner: no, operator: no },
  disabled: { visitor: off, user: off, owner: disabled, operator: disabled },
  deleted: { visitor: unknown, user: unknown, owner: unknown, operator: unknown },
  'wrong URI': { visitor: wrong, user: wrong, owner: differs, operator: differs },
}

/** The way on: the page of the app for those who look after it, and words or a link for others. */
const pages: Readonly<Record<Reader, string | undefined>> = {
  visitor: undefined,
  user: undefined,
  owner: `${developer}/client`,
  operator: '/oauth/admin/client',
}

/** The page of the app, or words that say where to go. */
const wayOn =
  /^\/oauth\/|remove the connection in the app and add it again|Contact the people who make the app|Go back to it/

const managed = ({ html }: Answer): string | undefined =>
  / id="manage" href="([^"?]+)\?client_id=/.exec(html)?.[1]

test.each(Object.entries(states))('an app that is %s: each reader reads the truth', async (state, bring) => {
  const clientId = await bring()
  const expected = words[state as keyof typeof states]
  const redirect_uri = state === 'wrong URI' ? `${callback}/` : callback
  const isStored = !['unknown', 'deleted'].includes(state)
  for (const reader of ['visitor', 'user', 'owner', 'operator'] as const) {
    const page = await browsers[reader].open(authorizeUrl({ client_id: clientId, redirect_uri }))
    expectErrorPage(page, 400)
    const [heading, more] = expected[reader]
    expect({ reader, heading: /<h1>(.*?)<\/h1>/.exec(page.html)?.[1] }).toEqual({ reader, heading })
    expect(textOf(page)).toContain(more)
    expect({ reader, leadsTo: managed(page) }).toEqual({
      reader,
      leadsTo: isStored ? pages[reader] : undefined,
    })
    expect(managed(page) ?? textOf(page)).toMatch(wayOn)
    // Adding it again would register it twice.
    expect(textOf(page).includes('add it again')).toBe(!isStored)
    expect(page.html).toContain(state === 'wrong URI' ? 'invalid_request' : 'unauthorized_client')
  }
})

/** What the event of the token endpoint says. */
const reasonsOfPrograms: Readonly<Record<keyof typeof states, string>> = {
  unknown: 'authentication_client_unknown',
  waiting: 'authentication_client_disabled',
  refused: 'authentication_client_disabled',
  disabled: 'authentication_client_disabled',
  deleted: 'authentication_client_unknown',
  'wrong URI': 'credentials_wrong',
}

test.each(Object.entries(states))(
  'an app that is %s: a program gets an id that leads to the reason',
  async (state, bring) => {
    const clientId = await bring()
    const fields = {
      client_id: clientId,
      client_secret: 'lk_cs_old',
      code: 'lk_ac_old',
      redirect_uri: `${callback}/`,
    }
    const { body, status } = await post(host, { grant_type: 'authorization_code', ...fields })
    // An attacker who tries ids learns nothing.
    expect({ status, ...body }).toEqual({
      status: 401,
      error: 'invalid_client',
      error_description: 'client authentication failed',
      error_id: expect.any(String),
    })
    await serverBehind(host.oauth)?.eventLog?.settled()
    const [event] = await host.table('events').where({ request_id: body.error_id, type: 'api.refused' })
    expect(JSON.parse(event.details).reason).toBe(reasonsOfPrograms[state as keyof typeof states])
  },
)

test('the page of an app forgets refusals from before its approval', async () => {
  const clientId = await registered()
  const { owner } = browsers
  const page = async () => {
    await serverBehind(host.oauth)?.eventLog?.settled()
    return textOf(await owner.open(`${developer}/client?client_id=${clientId}`))
  }
  await owner.open(authorizeUrl({ client_id: clientId }))
  expect(await page()).toContain('which waits for approval')
  await host.oauth.developers?.approve(clientId)
  expect(await page()).not.toContain('The last request was refused.')
})

test('an app that is turned off while a user decides is no expired sign-in', async () => {
  const clientId = await approved()
  const asking = await browsers.user.open(authorizeUrl({ client_id: clientId, scope: 'openid' }))
  expect(asking.html).toContain('value="allow"')
  await host.oauth.clients.disable(clientId)
  expect(textOf(await browsers.user.submit(asking, 'value="allow"', { decision: 'allow' }))).toContain(off[0])
  expect(textOf(await browsers.user.get(asking.url.pathname + asking.url.search))).toContain(off[0])
})
