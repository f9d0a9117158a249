import { admin } from '../../../lib/features/index.ts'
import { serverBehind } from '../../../lib/router.ts'
import { as, host, signedIn, withAdministrators, withHost } from '../../flows/administrators.ts'
import { stopClock } from '../../support/clock.ts'
import { startHost } from '../../support/host.ts'
import { RawBrowser, textOf } from '../../support/raw-browser.ts'

withAdministrators()

interface Stored {
  readonly type: string
  readonly time: number
  readonly client_id?: string
  readonly details?: object
}
const store = async (given: readonly Stored[]) => {
  const { knex, tablePrefix } = host.database
  const rows = given.map(({ details = {}, client_id = null, ...event }, index) => ({
    id: `${event.type}-${event.time}-${index}`,
    request_id: `R-${index}`,
    subject: null,
    account: null,
    client_id,
    details: JSON.stringify({ ...details, ...(client_id !== null && { clientId: client_id }) }),
    expires_at: 9_000_000_000,
    ...event,
  }))
  await knex.batchInsert(`${tablePrefix}events`, rows, 65)
}
const forget = () => host.table('events').delete()
const overview = async () => {
  const page = await as('carol').get('/oauth/admin')
  expect(page.status).toBe(200)
  return { html: page.html, text: textOf(page) }
}
const callback = 'https://app.example/cb'
const refusal = {
  code: 'invalid_request',
  status: 400,
  path: '/authorize',
  reason: 'redirect_uri_unregistered',
  description: 'redirect_uri is not registered for this client',
  expected: callback,
  received: `${callback}/`,
}

describe('the overview', () => {
  withHost()
  let now = 0
  let midnight = 0
  beforeEach(async () => {
    await serverBehind(host.oauth)!.eventLog!.settled()
    await forget()
    // Shortly after midnight, when today is nearly empty; of tomorrow, because the keys sign since now.
    now = Math.ceil(Date.now() / 86_400_000) * 86_400 + 300
    midnight = now - 300
    const clock = stopClock()
    clock.travel(now - clock.now())
  })

  test('shows sign-ins and failures of the last 24 hours, against a week before, as a chart and a table', async () => {
    const at = (type: string, time: number, count: number) => Array<Stored>(count).fill({ type, time })
    await store([
      ...at('login.succeeded', midnight, 1),
      ...at('login.succeeded', midnight - 3600, 3),
      ...at('login.failed', midnight - 3600, 2),
      ...at('login.succeeded', midnight - 1 - 7 * 86_400, 5),
      ...at('login.succeeded', midnight - 23 * 3600 - 1, 7),
    ])
    const { html, text } = await overview()
    expect(html).toContain(
      'role="img" aria-label="Sign-ins by hour: 4 in the last 24 hours and 2 failed, against 5 a week before."',
    )
    expect(text).toMatch(/01:00 0 0 0 .* 22:00 0 0 0 23:00 3 2 5 00:00 1 0 0/)
    expect(html.match(/<rect class="now"[^>]*>/g)).toHaveLength(2)
    expect(html.match(/<rect class="failed"[^>]*>/g)).toHaveLength(1)
    expect(html).not.toContain(' style=')
  })

  test('says what is wrong, what hurts most people first, and names the field that mends it', async () => {
    const from = (address: string, time: number): Stored => ({
      type: 'request.refused',
      time,
      client_id: 'web',
      details: { ...refusal, address },
    })
    const tried = {
      ...refusal,
      description: 'the code has expired',
      expected: undefined,
      received: undefined,
    }
    await store([
      ...Array.from(
        { length: 9 },
        (): Stored => ({ type: 'api.refused', time: now, client_id: 'self', details: tried }),
      ),
      from('192.0.2.1', now - 60),
      from('192.0.2.1', now - 50),
      from('192.0.2.2', now - 40),
      {
        ...from('192.0.2.3', now - 30),
        client_id: undefined,
        details: { ...refusal, reason: 'client_unknown', description: 'client_id is unknown' },
      },
      from('192.0.2.9', now - 90_000),
    ])
    const { html, text } = await overview()
    expect(text).toMatch(
      /What is wrong Web client : 2 people have seen an error page since .* UTC\. redirect_uri is not registered for this client Received https:\/\/app\.example\/cb \/ Expected https:\/\/app\.example\/cb .* Unknown client : 1 person saw an error page at .* self : 9 requests were refused since/,
    )
    expect(html).toContain('href="/oauth/admin/client?client_id=web#field-redirect_uris"')
    expect((await as('carol').get('/oauth/admin/client?client_id=web')).html).toContain(
      'id="field-redirect_uris"',
    )
    expect(html).toContain('href="/oauth/admin/events?type=request.refused&amp;client=web"')
    expect(text).toContain('npx latchkey explain R-')
  })

  test('begins a letter to the contacts of a client, or to no one if none of them is an address', async () => {
    const letters = async (contacts: string[]): Promise<URL[]> => {
      await host.oauth.clients.update('web', { contacts })
      const { html } = await overview()
      return [...html.matchAll(/href="(mailto:[^"]*)"/g)].map(
        ([, url = '']) => new URL(url.replaceAll('&amp;', '&')),
      )
    }
    const { code: _, ...details } = { ...refusal, received: `${callback}/?a=1&bcc=eve@evil.example` }
    await store([
      { type: 'request.refused', time: now - 60, client_id: 'web', details },
      { type: 'request.failed', time: now - 60, client_id: 'web', details: { description: 'server_error' } },
    ])
    const [letter, ...more] = await letters([
      'Dev team',
      'dev+1@app.example',
      'x@y.example?bcc=eve@evil.example',
    ])
    expect(more).toEqual([])
    expect(letter?.pathname).toBe('dev%2B1@app.example')
    expect([...letter!.searchParams.keys()]).toEqual(['subject', 'body'])
    expect(letter?.searchParams.get('subject')).toBe('Latchkey refuses requests of Web client')
    expect(letter?.searchParams.get('body')?.split('\r\n').slice(3)).toEqual([
      '',
      'Reason: redirect_uri is not registered for this client',
      `Your app sent: ${details.received}`,
      `Latchkey expected: ${callback}`,
      'Error ID of the newest one: R-0',
    ])
    expect(await letters(['https://app.example/help'])).toEqual([])
  })

  test('counts locked names once, and no longer after an unlock or the end of the lock', async () => {
    const lock = (account: string, time: number): Stored => ({
      type: 'login.locked',
      time,
      details: { account, seconds: 900 },
    })
    await store([
      lock('a', now - 800),
      lock('a', now - 700),
      lock('b', now - 901),
      lock('c', now - 600),
      { type: 'login.unlocked', time: now - 500, details: { account: 'c' } },
    ])
    expect((await overview()).text).toContain('Locked now 1 ')
  })

  test('lists clients by their sign-ins, each with a link to its events (pages 26)', async () => {
    const of = (client_id: string, count: number) =>
      Array<Stored>(count).fill({ type: 'login.succeeded', time: now - 10, client_id })
    await store([...of('self', 1), ...of('web', 4)])
    const { html, text } = await overview()
    expect(text).toMatch(/Sign-ins by client in 24 hours Web client 4 self 1/)
    const [, url = ''] = /href="([^"]*type=login.succeeded&amp;client=web)"/.exec(html) ?? []
    expect((await as('carol').get(url.replaceAll('&amp;', '&'))).html.match(/<summary>/g)).toHaveLength(4)
  })

  test('reads a bounded number of events, in few statements, and weighs little (pages 26)', async () => {
    const reasons = Array.from(
      { length: 1500 },
      (_, index): Stored => ({
        type: 'request.refused',
        time: now - (index % 600),
        client_id: 'web',
        details: { ...refusal, reason: undefined, description: `reason ${index}`, received: 'x'.repeat(500) },
      }),
    )
    await store(reasons)
    const { html } = await overview()
    expect(html.match(/1\+ ?|have seen|saw an error/g)!.length).toBeLessThanOrEqual(12)
    expect(Buffer.byteLength(html)).toBeLessThan(30_000)
  })

  test('says that nothing is wrong, and without stored events how to see more (pages 26)', async () => {
    expect((await overview()).text).toContain('Nothing was refused in the last 24 hours.')
    const other = await startHost({
      options: { features: [admin({ allow: () => true })] },
      database: host.database,
    })
    const text = textOf(await new RawBrowser(other.app).get('/oauth/admin'))
    expect(text).toContain('Turn on storedEvents')
    expect(text).toContain('Next rotation')
    expect(text).not.toContain('What is wrong')
  })

  test('after the next keys are published it says when they sign (pages 26)', async () => {
    await signedIn()
    const carol = as('carol')
    await carol.submit(await carol.get('/oauth/admin/publish-keys'), 'value="publish"')
    expect((await overview()).text).toMatch(/Next rotation (in \d+ days|within a day)/)
  })
})
