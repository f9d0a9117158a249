import { webhooks } from '../../lib/features/index.ts'
import type { WebhookEndpoints } from '../../lib/features/webhooks/option.ts'
import { conditionOf, endpointStatuses } from '../../lib/features/webhooks/status.ts'
import type { ServerSetup } from '../../lib/oauth/authorization-server.ts'
import { serverBehind } from '../../lib/router.ts'
import { type Clock, stopClock } from '../support/clock.ts'
import { type Host, startHost } from '../support/host.ts'
import { openWebhookReceiver, type WebhookReceiver, webhookSecret } from '../support/webhook-receiver.ts'
import { startStepper, type WebhookStepper } from '../support/webhook-stepper.ts'

// Whose events wait for whom. The sender looks for work when a test says so, and the clock moves between.

let receiver: WebhookReceiver
let clock: Clock
let host: Host
let server: ServerSetup
let logged: string[]
let endpoints: WebhookEndpoints
let sender: WebhookStepper
beforeEach(async () => {
  receiver = await openWebhookReceiver()
  clock = stopClock()
  logged = []
  const note = (line: string): void => void logged.push(line)
  const logger = { info: () => {}, warn: note, error: note }
  host = await startHost({ options: { storedEvents: true, logger, features: [webhooks.off()] } })
  server = serverBehind(host.oauth)!
  endpoints = { crm: { url: receiver.url, secrets: [webhookSecret], events: ['*'] } }
  sender = await startStepper(server, endpoints)
})
afterEach(async () => {
  await host.close()
  await receiver.close()
  jest.restoreAllMocks()
})

const arrived = (subject: string): boolean =>
  receiver.requests.items.some(({ body }) => body.data.subject === subject)

/** Steps until the receiver was sent something about a user. @returns the seconds that passed */
const delayOf = async (subject: string, most: number): Promise<number> => {
  const begin = clock.now()
  for (;;) {
    await sender.step()
    if (arrived(subject) || clock.now() - begin > most) return clock.now() - begin
    clock.travel(5)
  }
}

/** Who was sent something, in order. */
const sentTo = (): unknown[] => receiver.requests.items.map(({ body }) => body.data.subject)

describe('a receiver that refuses events', () => {
  test.each([12, 40])('gets others at once, though it has refused %i', async (refused) => {
    receiver.answer((res, { body }) =>
      res.writeHead(String(body.data.subject).startsWith('gone') ? 404 : 204).end(),
    )
    for (let user = 0; user < refused; user += 1) await sender.happens('login.succeeded', `gone-${user}`)
    await sender.step()
    clock.travel(1)
    await sender.happens('login.succeeded', 'ada')
    expect(await delayOf('ada', 8 * 3600)).toBe(0)
  })

  test('is not down, on the page of webhooks and for the command line', async () => {
    const condition = async () => (await endpointStatuses(server.database, endpoints)).map(conditionOf)
    receiver.answer((res, { body }) => res.writeHead(body.data.subject === 'gone' ? 404 : 503).end())
    await sender.happens('login.succeeded', 'gone')
    await sender.step()
    expect(await condition()).toEqual(['refuses'])
    clock.travel(1)
    await sender.happens('login.succeeded', 'ada')
    await sender.step()
    expect(await condition()).toEqual(['down'])
    receiver.answer((res) => res.writeHead(204).end())
    clock.travel(10)
    await sender.step()
    expect(await condition()).toEqual(['ok'])
  })

  test('is asked by another event after one that it fails at', async () => {
    receiver.answer((res, { body }) =>
      res.writeHead(String(body.data.subject).startsWith('crash') ? 500 : 204).end(),
    )
    for (let user = 0; user < 30; user += 1) await sender.happens('login.succeeded', `crash-${user}`)
    await sender.step()
    clock.travel(3600)
    // All of them are due again, and were due before this one.
    await sender.happens('login.succeeded', 'ada')
    await sender.step()
    expect(await delayOf('ada', 3600)).toBeLessThanOrEqual(10)
  })
})

test('a receiver that asks for a pause of ten days is left alone for one', async () => {
  receiver.answer((res) => res.writeHead(503, { 'Retry-After': '864000' }).end())
  await sender.happens('login.succeeded', 'ada')
  await sender.step()
  receiver.answer((res) => res.writeHead(204).end())
  clock.travel(86_000)
  await sender.step()
  expect(sentTo()).toEqual(['ada'])
  clock.travel(1000)
  await sender.step()
  expect(sentTo()).toEqual(['ada', 'ada'])
})

test('the log says once in an hour that a receiver refuses events', async () => {
  receiver.answer((res) => res.writeHead(404).end())
  const refusals = () => logged.filter((line) => line.includes('crm refuses the webhook')).length
  for (let user = 0; user < 3; user += 1) await sender.happens('login.succeeded', `user-${user}`)
  await sender.step()
  expect([receiver.requests.items.length, refusals()]).toEqual([3, 1])
  clock.travel(3600)
  await sender.step()
  expect(refusals()).toBe(2)
})

test('the log says nothing of events that have just come', async () => {
  await sender.step()
  clock.travel(660)
  await sender.happens('login.succeeded', 'ada')
  await sender.step()
  expect(sentTo()).toEqual(['ada'])
  expect(logged.filter((line) => line.includes('wait for crm'))).toEqual([])
})

test('the log says that events wait for longer than ten minutes', async () => {
  receiver.answer((res) => res.writeHead(503).end())
  await sender.happens('login.succeeded', 'ada')
  await sender.step()
  expect(logged.filter((line) => line.includes('wait for crm'))).toEqual([])
  clock.travel(660)
  await sender.step()
  clock.travel(660)
  await sender.step()
  expect(logged.filter((line) => line.includes('wait for crm'))).toEqual([
    'latchkey: 1 webhooks wait for crm, the oldest for 11 minutes',
    'latchkey: 1 webhooks wait for crm, the oldest for 22 minutes',
  ])
})

describe('a user with many events', () => {
  test.each(['login.succeeded', 'user.revoked'])('does not hold up %s of another one', async (type) => {
    for (let flow = 0; flow < 100; flow += 1) {
      if (flow % 10 === 0) clock.travel(1)
      await sender.happens('authorization.issued', 'busy')
      await sender.happens('tokens.issued', 'busy')
    }
    await sender.happens(type, 'ada')
    await sender.step()
    expect(sentTo().indexOf('ada')).toBeLessThan(8)
    expect(sentTo()).toHaveLength(201)
  })

  test('at many times takes one turn like everyone else', async () => {
    for (let time = 0; time < 120; time += 1) {
      clock.travel(1)
      for (let each = 0; each < 10; each += 1) await sender.happens('tokens.issued', 'busy')
    }
    await sender.happens('login.succeeded', 'ada')
    await sender.step()
    expect(sentTo().indexOf('ada')).toBeLessThan(20)
  })

  test('takes no more than a turn of five, though eight such users fill every place', async () => {
    for (let event = 0; event < 40; event += 1)
      for (let user = 0; user < 8; user += 1) await sender.happens('tokens.issued', `busy-${user}`)
    await sender.happens('login.succeeded', 'zoe')
    await sender.step()
    expect(sentTo().indexOf('zoe')).toBeLessThan(2 * 8 * 5)
    expect(sentTo()).toHaveLength(321)
  })

  test('does not hold up their own events that end access', async () => {
    for (let flow = 0; flow < 100; flow += 1) await sender.happens('tokens.issued', 'busy')
    await sender.happens('user.revoked', 'busy')
    await sender.step()
    expect(receiver.requests.items[0]?.body.type).toBe('user.revoked')
  })
})

test('what ends access passes an event that is refused, and what came after both waits', async () => {
  receiver.answer((res, { body }) => res.writeHead(body.type === 'token.personal.created' ? 400 : 204).end())
  await sender.happens('token.personal.created', 'ada', { name: 'a name that the receiver cannot store' })
  await sender.step()
  await sender.happens('user.revoked', 'ada')
  await sender.happens('login.succeeded', 'ada')
  await sender.step()
  const types = () => receiver.requests.items.map(({ body }) => body.type)
  expect(types()).toEqual(['token.personal.created', 'user.revoked'])
})

test('an event waits for an earlier one that ends access and was refused', async () => {
  receiver.answer((res, { body }) => res.writeHead(body.type === 'consent.removed' ? 400 : 204).end())
  await sender.happens('consent.removed', 'ada')
  await sender.happens('consent.allowed', 'ada')
  await sender.happens('user.revoked', 'ada')
  await sender.step()
  receiver.answer((res) => res.writeHead(204).end())
  clock.travel(10)
  await sender.step()
  expect(receiver.requests.items.map(({ body }) => body.type)).toEqual([
    'consent.removed',
    'user.revoked',
    'consent.removed',
    'consent.allowed',
  ])
})
