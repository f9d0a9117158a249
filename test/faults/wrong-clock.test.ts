// A clock that was 30 days ahead for a moment. What was stored meanwhile to wait, to rest or to be fresh ends when the clock is
// right again: it is further ahead than it can be.

import { createDeviceCode, pollDeviceCode } from '../../lib/features/device/table.ts'
import { createEndpoint, holdEndpoint, restEndpoint } from '../../lib/features/webhooks/table.ts'
import { createIntrospection } from '../../lib/guard/introspection.ts'
import type { Counter, Counters } from '../../lib/limits/counters.ts'
import { memoryCounters } from '../../lib/limits/counters.ts'
import { countersIn } from '../../lib/limits/database-counters.ts'
import type { ServerSetup } from '../../lib/oauth/authorization-server.ts'
import { createCached } from '../../lib/outbound/cached.ts'
import type { Outbound } from '../../lib/outbound/outbound.ts'
import { serverBehind } from '../../lib/router.ts'
import { type Clock, stopClock } from '../support/clock.ts'
import { type Host, startHost } from '../support/host.ts'
import { openWebhookReceiver, webhookSecret } from '../support/webhook-receiver.ts'
import { startStepper } from '../support/webhook-stepper.ts'

const ahead = 30 * 86_400

let clock: Clock
let host: Host
let server: ServerSetup
beforeEach(async () => {
  clock = stopClock()
  host = await startHost({ options: { storedEvents: true } })
  server = serverBehind(host.oauth)!
})
afterEach(async () => {
  await host.close()
  jest.restoreAllMocks()
})

const whileAhead = async <T>(work: () => Promise<T>): Promise<T> => {
  clock.travel(ahead)
  const result = await work()
  clock.travel(-ahead)
  return result
}

const account: Counter = {
  name: 'loginAccountAddress',
  limit: { max: 5, seconds: 900 },
  key: 'ada:network',
  owner: 'ada',
}
const countersOf = (kind: string): Counters =>
  kind === 'memory' ? memoryCounters(clock.now) : countersIn('database', server)

describe.each(['database', 'memory'])('in the %s', (kind) => {
  test('a lock of an account is over, and is not listed', async () => {
    const counters = countersOf(kind)
    await whileAhead(() => counters.lock(account, 900))
    expect(await counters.listLocked({ ...account, owner: 'ada' })).toEqual([])
    expect(await counters.read([account])).toMatchObject([{ failures: 0 }])
  })

  test('a count begins again', async () => {
    const counters = countersOf(kind)
    await whileAhead(() => counters.increment([account]))
    expect(await counters.increment([account])).toEqual([{ failures: 1, seconds: 900 }])
  })
})

test('a receiver of webhooks rests no longer', async () => {
  const { database } = server
  await createEndpoint(database, 'crm')
  await whileAhead(async () => {
    const until = clock.now() + 300
    await holdEndpoint(database, { name: 'crm', holder: 'one', now: clock.now(), until })
    await restEndpoint(database, { name: 'crm', holder: 'one', until })
  })
  const now = clock.now()
  expect(await holdEndpoint(database, { name: 'crm', holder: 'two', now, until: now + 60 })).toBe(true)
})

test('webhooks that wait for their next attempt are due, in order', async () => {
  const receiver = await openWebhookReceiver()
  try {
    const crm = { url: receiver.url, secrets: [webhookSecret], events: ['*'] }
    const sender = await startStepper(server, { crm })
    receiver.answer((res) => res.writeHead(400).end())
    await whileAhead(async () => {
      await sender.happens('login.succeeded', 'ada')
      await sender.step()
    })
    receiver.answer((res) => res.writeHead(204).end())
    await sender.happens('consent.allowed', 'ada')
    await sender.step()
    expect(receiver.requests.items.slice(1).map(({ body }) => body.type)).toEqual([
      'login.succeeded',
      'consent.allowed',
    ])
  } finally {
    await host.oauth.close()
    await receiver.close()
  }
})

test('a device may poll', async () => {
  const { database } = server
  const request = { clientId: 'tv', scopes: [] } as unknown as Parameters<
    typeof createDeviceCode
  >[1]['request']
  const times = { now: clock.now(), expiresAt: clock.now() + 2 * ahead, interval: 5 }
  await createDeviceCode(database, { hash: 'h', userCodeHash: 'u', request, address: '::1', ...times })
  const poll = () => pollDeviceCode(database, { hash: 'h', now: clock.now(), due: clock.now() + 1 })
  await whileAhead(poll)
  expect(await poll()).toBe(true)
  expect(await poll()).toBe(false)
})

test('a value that was fetched is fetched again', async () => {
  let fetched = 0
  const value = createCached({ fetch: async () => ++fetched, failed: () => {}, now: clock.now })
  await whileAhead(value.find)
  expect(await value.find()).toBe(2)
  expect(await value.find()).toBe(2)
})

test('a token is asked about again', async () => {
  let asked = 0
  const outbound = {
    request: async () => {
      asked += 1
      const claims = { active: true, token_type: 'Bearer', exp: clock.now() + 2 * ahead }
      return { status: 200, headers: {}, body: JSON.stringify(claims) }
    },
  } as unknown as Outbound
  const credentials = { clientId: 'api', clientSecret: 'secret', cacheSeconds: 60 }
  const introspect = createIntrospection(
    { issuer: 'https://id', outbound, logger: console, now: clock.now, introspection: credentials } as never,
    { metadata: async () => ({ jwksUri: '', introspectionEndpoint: 'https://id/introspect' }) } as never,
  )
  await whileAhead(() => introspect('token'))
  await introspect('token')
  await introspect('token')
  expect(asked).toBe(2)
})
