import type { Request } from 'express'
import { admin } from '../../lib/features/index.ts'
import type { AuthEvent } from '../../lib/index.ts'
import { laterHost, clients as testClients } from '../support/host.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { ada, tokensFor } from '../support/tokens.ts'

// The guard of this host: the header says who it is.
export const allow = async ({ req }: { req: Request }) => req.get('x-admin') ?? false

const self = { client_id: 'self', grant_types: ['client_credentials' as const] }
export const host = laterHost({
  clients: [...testClients, self],
  options: { storedEvents: true, features: [admin({ allow })], limits: false },
})
/** What was announced. */
export const events: AuthEvent[] = []
const start = async (): Promise<void> => {
  await host.start()
  host.oauth.events.on('*', (event) => events.push(event))
}
/** To be called once by a test file. */
export const withAdministrators = (): void => {
  beforeEach(() => {
    events.length = 0
  })
  afterEach(() => jest.restoreAllMocks())
}
/** One host for the tests of a group. */
export const withHost = (): void => {
  beforeAll(start)
  afterAll(host.close)
}

export const as = (name: string) => new RawBrowser(host.app, undefined, { 'x-admin': name })
export const pathTo = (clientId: string) =>
  `/oauth/admin/client?${new URLSearchParams({ client_id: clientId })}`
/** Administrative events without what differs each time. */
export const acts = () =>
  events
    .filter((event) => 'actor' in event)
    .map((event) => {
      const { type, time: _, agent: __, requestId, address, ...details } = event
      expect({ requestId, address }).toEqual({ requestId: expect.any(String), address: '127.0.0.1' })
      return [type, details]
    })
export const metadataOf = async (id: string) => host.oauth.clients.get(id)
/** Everything that acts could have changed. */
export const stored = async () => {
  const tables = ['clients', 'consents', 'authorizations', 'logins', 'signing_keys']
  return Promise.all(tables.map((table) => host.table(table).orderBy(1 as never)))
}
/** Ada, signed in to the client `web`. */
export const signedIn = async () => {
  const agent = new RawBrowser(host.app)
  const visit = { agent, as: ada }
  const tokens = await tokensFor(host, { scope: 'openid offline_access notes:read' }, {}, visit)
  return { agent, tokens }
}
