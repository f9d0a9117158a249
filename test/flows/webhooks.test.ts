import { Webhook } from 'standardwebhooks'
import { admin, connections, webhooks } from '../../lib/features/index.ts'
import type { AuthEvent } from '../../lib/index.ts'
import type { ServerSetup } from '../../lib/oauth/authorization-server.ts'
import { serverBehind } from '../../lib/router.ts'
import { removeExpiredRows } from '../../lib/storage/repositories/pruning/schedule.ts'
import { type Clock, stopClock } from '../support/clock.ts'
import { until as settled } from '../support/fault-programs.ts'
import { expiredIn } from '../support/features.ts'
import { authorizeUrl, type Host, startHost } from '../support/host.ts'
import { createInbox } from '../support/logout-receiver.ts'
import { RawBrowser, textOf } from '../support/raw-browser.ts'
import {
  openWebhookReceiver,
  otherWebhookSecret,
  type ReceivedWebhook,
  type WebhookReceiver,
  webhookSecret,
} from '../support/webhook-receiver.ts'

let receiver: WebhookReceiver
let clock: Clock
/** It has the database; hosts with other options use it one after another. */
let first: Host
let host: Host
let server: ServerSetup
/** One event after another, because a server stores them in parallel. */
let stored = Promise.resolve()
let logged: string[]
let events: ReturnType<typeof createInbox<AuthEvent>>
beforeAll(async () => {
  first = await startHost()
})
afterAll(() => first.close())
beforeEach(async () => {
  receiver = await openWebhookReceiver()
  clock = stopClock()
  logged = []
})
afterEach(async () => {
  await host.oauth.close()
  for (const table of ['webhook_deliveries', 'webhook_endpoints', 'events']) await first.table(table).delete()
  await receiver.close()
  jest.restoreAllMocks()
})

const webhooksTo = (url: string, more: object = {}): Parameters<typeof webhooks>[0] => ({
  endpoints: { test: { url, secrets: [webhookSecret], events: ['user.*', 'login.*'], ...more } },
})

const start = async (more: object = {}): Promise<void> => {
  const note = (message: string): void => void logged.push(message)
  host = await startHost({
    database: first.database,
    options: {
      users: {
        table: first.usersTable,
        columns: { id: 'id', username: 'email', password: 'password_hash' },
      },
      logger: { info: () => {}, warn: note, error: note },
      storedEvents: true,
      features: [connections(), admin({ allow: () => 'mira' }), webhooks(webhooksTo(receiver.url, more))],
    },
  })
  server = serverBehind(host.oauth)!
  events = createInbox()
  host.oauth.events.on('*', (event) => events.add(event))
}

/** An event about a user, which also wakes the sender. */
const happens = (subject: string, reason = 'now'): void => {
  const { events, database } = server
  stored = stored.then(() =>
    events.change(database, (_, tell) => tell('user.revoked', undefined, { subject, reason })),
  )
  server.runInBackground(stored)
}

/** An event about a user that ends nothing. */
const signsIn = (subject: string, account: string): void =>
  server.events.announce('login.succeeded', undefined, { subject, account })

const rows = (table = 'webhook_deliveries') => host.table(table).select()
const until = (isSo: () => Promise<boolean>): Promise<void> =>
  settled('the database is as expected', isSo, 10_000)
const waitingFor = (count: number): Promise<void> => until(async () => (await rows()).length === count)
const failures = async (): Promise<number> =>
  (await rows()).reduce((sum, row) => sum + Number(row.attempts), 0)
/** Waits until the sender has ended its round: until then it may send for a minute. */
const rested = (): Promise<void> =>
  until(async () => Number((await rows('webhook_endpoints'))[0]?.held_until) !== clock.now() + 60)
const said = ({ body }: ReceivedWebhook): string =>
  `${body.data.subject} ${body.data.reason ?? body.data.account}`

describe('a message', () => {
  test('has the form of Standard Webhooks, says what happened, and is signed by each secret', async () => {
    await start({ secrets: [otherWebhookSecret, webhookSecret] })
    const browser = new RawBrowser(host.app)
    await browser.grant(authorizeUrl({ client_id: 'web', scope: 'openid' }))
    const [received] = await receiver.requests.until(1)
    const { headers, text, body, id } = received!
    expect(body).toEqual({
      type: 'login.succeeded',
      timestamp: new Date(clock.now() * 1000).toISOString(),
      data: {
        requestId: expect.stringMatching(/^[\dA-F-]{12}$/),
        subject: '1',
        clientId: 'web',
        account: expect.any(String),
        agent: expect.any(String),
        address: expect.any(String),
      },
    })
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'webhook-timestamp': String(clock.now()),
      'webhook-signature': expect.stringMatching(/^v1,\S{44} v1,\S{44}$/),
    })
    for (const secret of [webhookSecret, otherWebhookSecret])
      expect(new Webhook(secret).verify(text, headers as Record<string, string>)).toEqual(body)
    const another = new Webhook(`whsec_${Buffer.alloc(32, 'no').toString('base64')}`)
    expect(() => another.verify(text, headers as Record<string, string>)).toThrow('No matching signature')
    await until(async () => (await rows()).length === 0)
    const [event] = await rows('events').then((all) => all.filter(({ type }) => type === 'login.succeeded'))
    expect(id).toBe(event?.id)
  })

  test('is sent only for the types that were asked for', async () => {
    await start({ events: ['user.revoked'] })
    server.events.announce('second_factor.removed', undefined, { subject: 'ada' })
    happens('ada')
    const [first] = await receiver.requests.until(1)
    expect(first?.body.type).toBe('user.revoked')
    await waitingFor(0)
    expect(receiver.requests.items).toHaveLength(1)
  })
})

describe('a receiver that fails', () => {
  test('gets the event again later, with the same id, and later events of the user wait', async () => {
    await start()
    receiver.answer((res) => res.writeHead(500).end())
    signsIn('ada', 'one')
    await receiver.requests.until(1)
    await until(async () => (await failures()) === 1)
    await rested()
    receiver.answer((res) => res.writeHead(204).end())
    signsIn('ada', 'two')
    clock.travel(3)
    signsIn('bob', 'one')
    // What belongs to another user does not wait for the failure.
    const [, second] = await receiver.requests.until(2)
    expect(said(second!)).toBe('bob one')
    clock.travel(4)
    signsIn('bob', 'two')
    const all = await receiver.requests.until(5)
    expect(all.map(said).filter((each) => each.startsWith('ada'))).toEqual(['ada one', 'ada one', 'ada two'])
    expect(all[0]?.id).toBe(all.slice(1).find((each) => said(each) === 'ada one')?.id)
    await waitingFor(0)
  })

  test('is asked less and less while nothing arrives, and gets everything when it is back', async () => {
    await start()
    receiver.answer((res) => res.writeHead(503).end())
    for (let user = 0; user < 40; user += 1) happens(`user-${user}`)
    const rests = async (pause: number): Promise<void> =>
      until(async () => {
        const left = Number((await rows('webhook_endpoints'))[0]?.held_until) - clock.now()
        return left >= pause && left <= pause * 1.2 + 1
      })
    await rests(2)
    // Eight at once; a line of work whose event has failed may begin another before all of the eight have.
    const tried = receiver.requests.items.length
    expect(tried).toBeGreaterThanOrEqual(8)
    expect(tried).toBeLessThan(16)
    for (const [probes, pause] of [4, 8, 16, 32].entries()) {
      clock.travel(pause)
      happens(`late-${pause}`)
      await rests(pause)
      expect(receiver.requests.items).toHaveLength(tried + probes + 1)
    }
    expect(logged.filter((line) => line.includes('it is down'))).toHaveLength(1)
    receiver.answer((res) => res.writeHead(204).end())
    clock.travel(400)
    happens('user-41')
    await waitingFor(0)
    expect(new Set(receiver.requests.items.map(({ id }) => id)).size).toBe(45)
  })

  test('asks for a pause by Retry-After, which is kept', async () => {
    await start()
    receiver.answer((res) => res.writeHead(429, { 'retry-after': '1000' }).end())
    happens('ada')
    await until(async () => (await failures()) === 1)
    receiver.answer((res) => res.writeHead(204).end())
    await until(async () => Number((await rows('webhook_endpoints'))[0]?.held_until) > clock.now() + 900)
    clock.travel(990)
    happens('bob')
    await until(async () => (await rows()).length === 2)
    expect(receiver.requests.items).toHaveLength(1)
    clock.travel(11)
    happens('cut')
    await receiver.requests.until(4)
    await waitingFor(0)
  })

  test('that never works gets ten attempts; then the event is a dead letter, and the next goes on', async () => {
    await start()
    receiver.answer((res, { body }) => res.writeHead(body.data.reason === 'poison' ? 500 : 204).end())
    happens('ada', 'poison')
    happens('ada', 'next')
    for (let attempt = 1; attempt < 10; attempt += 1) {
      await until(async () => (await failures()) === attempt)
      await rested()
      clock.travel(29 * 3600)
      happens('bob')
    }
    const isFailed = (event: AuthEvent) => event.type === 'webhook.failed'
    await until(async () => events.items.some(isFailed))
    await rested()
    const poison = receiver.requests.items.filter(({ body }) => body.data.reason === 'poison')
    expect(poison).toHaveLength(10)
    clock.travel(400)
    happens('bob')
    await until(async () => receiver.requests.items.some((each) => said(each) === 'ada next'))
    const dead = (await rows()).filter(({ dead_at }) => dead_at !== null)
    expect(dead).toMatchObject([{ attempts: 10, failure: 'the receiver answered 500', attempt_at: null }])
    expect(events.items.find(isFailed)).toMatchObject({ endpoint: 'test', event: 'user.revoked' })
    expect(logged.at(-1)).toMatch(
      /^latchkey: webhook \d+ was given up for test, which is down: the receiver answered 500$/,
    )
  })

  test('with 410 is disabled until an administrator sends again', async () => {
    await start()
    receiver.answer((res) => res.writeHead(410).end())
    happens('ada', 'one')
    await until(async () => events.items.some(({ type }) => type === 'webhook.disabled'))
    await rested()
    receiver.answer((res) => res.writeHead(204).end())
    clock.travel(1000)
    happens('ada', 'two')
    await until(async () => (await rows()).length === 2)
    expect(receiver.requests.items).toHaveLength(1)
    const browser = new RawBrowser(host.app)
    const page = await browser.get('/oauth/admin/webhooks')
    expect(textOf(page)).toContain('Stopped')
    await browser.submit(page, 'value="enable"')
    await receiver.requests.until(3)
    expect(receiver.requests.items.map(said)).toEqual(['ada one', 'ada one', 'ada two'])
    expect(events.items.find(({ type }) => type === 'webhook.enabled')).toMatchObject({ actor: 'mira' })
  })

  test('by a redirect has failed: nothing is sent elsewhere', async () => {
    await start()
    receiver.answer((res) => res.writeHead(302, { location: receiver.url }).end())
    happens('ada')
    await until(async () => (await failures()) === 1)
    expect((await rows())[0]?.failure).toBe('the receiver answered 302')
    expect(receiver.requests.items).toHaveLength(1)
  })

  test('without an answer has failed, and dies without harm', async () => {
    await start()
    receiver.answer((res) => res.destroy())
    happens('ada')
    await until(async () => (await failures()) === 1)
    expect((await rows())[0]?.failure).toMatch(/^http:\/\/127\.0\.0\.1:\d+: no response$/)
  })
})

test('a slow receiver gets one event of a user at a time, and those of others meanwhile', async () => {
  await start()
  const open: (() => void)[] = []
  receiver.answer((res) => open.push(() => res.writeHead(204).end()))
  happens('ada', 'one')
  happens('ada', 'two')
  happens('bob', 'one')
  await receiver.requests.until(2)
  expect(receiver.requests.items.map(said).sort()).toEqual(['ada one', 'bob one'])
  // Those who come later do not wait for the slow ones either.
  happens('cid', 'one')
  await receiver.requests.until(3)
  expect(said(receiver.requests.items[2]!)).toBe('cid one')
  for (const answer of open.splice(0)) answer()
  await receiver.requests.until(4)
  expect(said(receiver.requests.items[3]!)).toBe('ada two')
  for (const answer of open.splice(0)) answer()
  await waitingFor(0)
})

test('a receiver that fails is on the overview, and a test message shows when it is there again', async () => {
  await start()
  const browser = new RawBrowser(host.app)
  const overview = async () => textOf(await browser.get('/oauth/admin'))
  expect(await overview()).toContain('Nothing was refused')
  receiver.answer((res) => res.writeHead(500).end())
  happens('ada', 'lost')
  await until(async () => (await failures()) === 1)
  expect(await overview()).toContain('test has never accepted a webhook. Waiting: 1.')
  const page = await browser.get('/oauth/admin/webhooks')
  expect(textOf(page)).toContain('Next attempt')
  expect(textOf(await browser.submit(page, 'name="decision" value="test"'))).toContain(
    'test did not accept a test message: the receiver answered 500.',
  )
  receiver.answer((res) => res.writeHead(204).end())
  expect(textOf(await browser.submit(page, 'name="decision" value="test"'))).toContain(
    'test accepted a test message.',
  )
  const sent = receiver.requests.items.at(-1)
  expect(sent?.body).toMatchObject({ type: 'webhook.test', data: { requestId: expect.any(String) } })
  // It says nothing about what waits.
  expect(await failures()).toBe(1)
})

describe('what waits for its next attempt', () => {
  const tryNow = async (browser = new RawBrowser(host.app)) =>
    browser.submit(await browser.get('/oauth/admin/webhooks'), 'value="try"')

  test.each([
    ['is down and asked for a pause', 429, { 'retry-after': '5000' }],
    ['refuses an event', 400, {}],
  ])('is tried at once for a receiver that %s', async (_, status, headers) => {
    await start()
    receiver.answer((res) => res.writeHead(status, headers).end())
    signsIn('ada', 'one')
    await until(async () => (await failures()) === 1)
    await rested()
    signsIn('ada', 'two')
    await waitingFor(2)
    receiver.answer((res) => res.writeHead(204).end())
    expect(textOf(await tryNow())).toContain('Webhooks are sent again')
    await waitingFor(0)
    expect(receiver.requests.items.map(said)).toEqual(['ada one', 'ada one', 'ada two'])
    expect(events.items.find(({ type }) => type === 'webhook.replayed')).toMatchObject({
      endpoint: 'test',
      deliveries: '2',
      actor: 'mira',
    })
  })

  test('is not given up however often it is tried', async () => {
    await start()
    receiver.answer((res) => res.writeHead(400).end())
    happens('ada')
    for (let attempt = 1; attempt <= 12; attempt += 1) {
      await receiver.requests.until(attempt)
      await until(async () => (await failures()) === 1)
      await rested()
      await tryNow()
    }
    await receiver.requests.until(13)
    await until(async () => (await failures()) === 1)
    expect((await rows())[0]).toMatchObject({ attempts: 1, dead_at: null })
  })

  test('is not tried by a form that is out of date, and leaves the process that sends alone', async () => {
    await start()
    receiver.answer((res) => res.writeHead(400).end())
    happens('ada')
    await until(async () => (await failures()) === 1)
    await rested()
    const browser = new RawBrowser(host.app)
    const page = await browser.get('/oauth/admin/webhooks')
    receiver.answer((res) => res.writeHead(204).end())
    await browser.submit(page, 'value="try"')
    await waitingFor(0)
    await rested()
    const held = { holder: 'another process', held_until: clock.now() + 50 }
    await host.table('webhook_endpoints').update(held)
    expect(textOf(await browser.submit(page, 'value="try"'))).toContain('Nothing was done')
    const [endpoint] = await rows('webhook_endpoints')
    expect({ ...endpoint, held_until: Number(endpoint?.held_until) }).toMatchObject(held)
  })
})

describe('dead letters', () => {
  const bury = async (): Promise<void> => {
    receiver.answer((res) => res.writeHead(500).end())
    happens('ada', 'lost')
    await until(async () => (await failures()) === 1)
    await host.table('webhook_deliveries').update({ attempts: 10, attempt_at: null, dead_at: clock.now() })
    receiver.answer((res) => res.writeHead(204).end())
    await rested()
    clock.travel(10)
  }

  test('are on the page of webhooks, without the receiver’s path, and are sent again from there', async () => {
    await start()
    await bury()
    const browser = new RawBrowser(host.app)
    const page = await browser.get('/oauth/admin/webhooks')
    const text = textOf(page)
    for (const part of ['Webhooks', 'test', 'Failing', 'the receiver answered 500', 'user.revoked'])
      expect(text).toContain(part)
    expect(page.html).not.toContain('of-the-path')
    expect(page.html).not.toContain('whsec_')
    await browser.submit(page, 'value="replay"')
    const [first, again] = await receiver.requests.until(2)
    expect(again?.id).toBe(first?.id)
    await waitingFor(0)
    expect(events.items.find(({ type }) => type === 'webhook.replayed')).toMatchObject({ actor: 'mira' })
    // The page that the administrator saw is out of date now.
    const stale = await browser.submit(page, 'value="replay"')
    expect(textOf(stale)).toContain('out of date')
  })

  test('of any number can be seen and sent again', async () => {
    await start()
    const dead = { lane: 'subject:ada', attempts: 10, failure: 'timeout', expires_at: clock.now() + 1000 }
    for (let letter = 1; letter <= 210; letter += 1)
      await host.table('webhook_deliveries').insert({
        ...dead,
        endpoint: letter === 1 ? 'test' : 'other',
        event_id: String(letter),
        dead_at: clock.now() - 210 + Math.floor(letter / 3),
      })
    const browser = new RawBrowser(host.app)
    const first = await browser.get('/oauth/admin/webhooks')
    expect(first.html).toContain('value="replay-all"')
    const ids = new Set<string>()
    const idsOn = ({ html }: typeof first): string[] =>
      Array.from(html.matchAll(/name="delivery" value="(\d+)"/g), ([, id]) => String(id))
    let page = first
    for (;;) {
      for (const id of idsOn(page)) ids.add(id)
      const older = /href="([^"]*before=[^"]*)"/.exec(page.html)?.[1]
      if (older === undefined) break
      page = await browser.get(older.replaceAll('&amp;', '&'))
    }
    expect(ids.size).toBe(210)
    const oldest = idsOn(page).at(-1)
    await browser.submit(page, `name="delivery" value="${oldest}"`)
    await until(async () => (await rows()).every(({ seq }) => String(seq) !== oldest))
  })

  test('cannot be sent again by a form of another site', async () => {
    await start()
    await bury()
    const [{ seq }] = (await rows()) as [{ seq: number }]
    const browser = new RawBrowser(host.app)
    const answer = await browser.post('/oauth/admin/webhooks', {
      delivery: String(seq),
      decision: 'replay',
      csrf_token: 'forged',
    })
    expect(answer.status).toBeGreaterThanOrEqual(400)
    expect((await rows())[0]?.dead_at).not.toBeNull()
  })
})

test('what waits is removed with its user, and when its event expires', async () => {
  await start()
  receiver.answer((res) => res.writeHead(500).end())
  happens('1')
  happens('2')
  await until(async () => (await failures()) === 2)
  await host.oauth.users.erase(1)
  await until(async () => (await rows()).every(({ lane }) => lane !== 'subject:1'))
  expect((await rows()).map(({ lane }) => lane)).toContain('subject:2')
  await removeExpiredRows(server.database, {
    now: clock.now() + 91 * 86_400,
    expired: expiredIn(host.oauth),
    refreshGracePeriod: 10,
  })
  expect(await rows()).toEqual([])
})

test('once a user is erased, no further event about them is sent, whatever was read before', async () => {
  await start()
  let release = (): unknown => undefined
  receiver.answer((res, { body }) => {
    if (body.data.subject !== '1') return res.writeHead(204).end()
    release = () => res.writeHead(204).end()
    return undefined
  })
  for (const reason of ['a', 'b', 'c']) happens('1', reason)
  await receiver.requests.until(1)
  await host.oauth.users.erase(1)
  release()
  happens('2')
  await until(async () => receiver.requests.items.some(({ body }) => body.data.subject === '2'))
  await waitingFor(0)
  expect(receiver.requests.items.filter(({ body }) => body.data.subject === '1')).toHaveLength(1)
})

test('user.erased is sent without the id of the user', async () => {
  await start()
  await host.oauth.users.erase(1)
  await until(async () => receiver.requests.items.some(({ body }) => body.type === 'user.erased'))
  const erased = receiver.requests.items.find(({ body }) => body.type === 'user.erased')
  expect(erased?.body.data).not.toHaveProperty('subject')
  await waitingFor(0)
})
