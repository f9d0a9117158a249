import { serverBehind } from '../../../lib/router.ts'
import { as, host, signedIn, withAdministrators, withHost } from '../../flows/administrators.ts'
import { expectErrorPage } from '../../support/outcomes.ts'
import { RawBrowser, textOf } from '../../support/raw-browser.ts'

withAdministrators()

const path = '/oauth/admin/events'
const page = (query = '') => as('carol').get(`${path}?${query}`)
/** The types on a page, newest first. */
const typesAt = async (query: string): Promise<string[]> =>
  [...(await page(query)).html.matchAll(/<dt>Event<\/dt><dd><bdi>([^<]+)</g)].map(([, type = '']) => type)
/** Stores events as they would be after sign-ins elsewhere. */
const store = async (
  events: readonly { id: string; type: string; time: number; [column: string]: unknown }[],
) => {
  const { knex, tablePrefix } = host.database
  const rows = events.map((event) => ({
    request_id: 'X',
    subject: null,
    client_id: null,
    account: null,
    details: '{}',
    expires_at: 5_000_000_000,
    ...event,
  }))
  await knex.batchInsert(`${tablePrefix}events`, rows, 65)
}

const failed = 'Wrong email or password'

describe('events', () => {
  withHost()
  beforeAll(async () => {
    await signedIn()
    await serverBehind(host.oauth)!.eventLog!.settled()
  })

  test('are sentences with names, and their details lead to the user, the client and the request', async () => {
    const shown = await page('type=login.succeeded')
    expect(textOf(shown)).toMatch(/\d\d:\d\d:\d\d ada@example\.com signed in to \S.* from 127\.0\.0\.1/)
    const links = [...shown.html.matchAll(/<dd><a href="([^"]+)"/g)].map(([, url]) => url)
    expect(links).toEqual([
      '/oauth/admin/users?subject=1',
      '/oauth/admin/client?client_id=web',
      expect.stringMatching(/^\/oauth\/admin\/events\?error_id=/),
    ])
    for (const url of links) expect((await as('carol').get(String(url))).status).toBe(200)
  })

  test('of a request and a user are those of the user alone', async () => {
    const ofRequest = { time: 1, request_id: 'F218-E3B0-A9' }
    await store([
      { ...ofRequest, id: 'of seven', type: 'login.ended', subject: '7' },
      { ...ofRequest, id: 'of eight', type: 'user.revoked', subject: '8' },
    ])
    expect(await typesAt('error_id=F218-E3B0-A9&subject=7')).toEqual(['login.ended'])
    await host.table('events').where({ request_id: ofRequest.request_id }).delete()
  })

  test('are chosen by type or group from a list, which keeps what was chosen (pages 27)', async () => {
    expect(await typesAt('type=login.succeeded')).toEqual(['login.succeeded'])
    expect(new Set(await typesAt('type=tokens'))).toEqual(new Set(['authorization.issued', 'tokens.issued']))
    const { html } = await page('type=consent')
    expect(html).toContain('<option value="consent" selected>')
    expect(html).toMatch(/<optgroup label="Sign-in">[\s\S]*value="login\.succeeded"/)
    expect((await page('type=no.such')).html).toContain('<option selected>no.such</option>')
  })

  test('of a time begin and end where the form says; what is no time is refused (pages 27)', async () => {
    const noon = Date.parse('2030-01-02T12:00:00Z') / 1000
    const times = [-1, 0, 59, 60]
    await store(times.map((after) => ({ id: `t${after}`, type: 'key.published', time: noon + after })))
    const clocks = async (query: string) =>
      [...(await page(`type=key.published&${query}`)).html.matchAll(/<summary><time[^>]*>([^<]+)/g)].map(
        ([, clock]) => clock,
      )
    expect(await clocks('from=2030-01-02T12:00&to=2030-01-02T12:00')).toEqual(['12:00:59', '12:00:00'])
    expect(await clocks('from=2030-01-02T11:59&to=2030-01-02T11:59:30')).toEqual(['11:59:59'])
    for (const wrong of ['yesterday', '2030-13-01T00:00', '2030-01-02'])
      expectErrorPage(await page(`from=${wrong}`), 400)
  })

  test('of a login name are also the failed sign-ins under it (pages 27)', async () => {
    const account = await host.oauth.users.accountOf('ada@example.com')
    await store([
      { id: 'f', type: 'login.failed', time: 4_000_000, account, details: JSON.stringify({ account }) },
    ])
    for (const user of ['ada@example.com', 'ADA@example.com', '1']) {
      const types = await typesAt(`user=${encodeURIComponent(user)}`)
      expect(types).toEqual(expect.arrayContaining(['login.succeeded', 'login.failed']))
    }
    expect(await typesAt('user=nobody%40example.com')).toEqual([])
    expect(textOf(await page('user=ADA%40example.com'))).toContain(`${failed} for ada@example.com`)
  })

  test('name who typed a wrong password only if a user signed in under that name before', async () => {
    const fail = async (id: string, name: string) => {
      const account = await host.oauth.users.accountOf(name)
      const event = { id, type: 'login.failed', time: 4_100_000, account }
      await store([{ ...event, details: JSON.stringify({ account }) }])
    }
    await host.table('events').where({ type: 'login.failed' }).delete()
    await fail('known', 'ada@example.com')
    const shown = await page('type=login.failed')
    expect(textOf(shown)).toContain(`${failed} for ada@example.com`)
    expect(shown.html).toContain('<dd><a href="/oauth/admin/users?subject=1">')
    await host.table('events').where({ id: 'known' }).delete()
    // Bob has never signed in, and no user is called like the last name.
    await fail('never', 'bob@example.com')
    await fail('unknown', 'nobody@example.com')
    // It was Ada's until she took another one.
    const former = await host.oauth.users.accountOf('former@example.com')
    await fail('former', 'former@example.com')
    await store([{ id: 's', type: 'login.succeeded', time: 4_000_001, account: former, subject: '1' }])
    expect(textOf(await page('type=login.failed'))).not.toContain(`${failed} for`)
    expect((await page('type=login.failed')).html).not.toContain('subject=1"')
  })

  test('of the last hour, day or week are one press away', async () => {
    const now = Math.floor(Date.now() / 1000)
    const ages = { minutes: 600, hours: 7200, days: 3 * 86_400, weeks: 30 * 86_400 }
    await store(
      Object.entries(ages).map(([id, age]) => ({ id, type: 'key.revoked', time: now - age, details: '{}' })),
    )
    const { html } = await page('type=key.revoked')
    const spans = [...html.matchAll(/href="([^"]*[?&;]span=(\w+)[^"]*)"/g)].map(([, url = '', span]) => [
      span,
      url.replaceAll('&amp;', '&').split('?')[1] ?? '',
    ])
    const found = spans.map(async ([span, query = '']) => [span, (await typesAt(query)).length])
    expect(await Promise.all(found)).toEqual([
      ['hour', 1],
      ['day', 2],
      ['week', 3],
    ])
  })

  test('of a quiet client are found at once behind thousands of others (pages 27)', async () => {
    const many = Array.from({ length: 2500 }, (_, index) => ({
      id: `b${index}`,
      type: 'login.failed',
      time: 4_100_000_000 + index,
      client_id: 'web',
      details: '{"clientId":"web"}',
    }))
    const quiet = {
      id: 'q',
      type: 'token.revoked',
      time: 5_000_000,
      client_id: 'self',
      details: '{"clientId":"self"}',
    }
    await store([...many, quiet])
    expect(await typesAt('client=self')).toContain('token.revoked')
    // A group reads the events of its own types only.
    expect(await typesAt('type=admin')).toContain('key.published')
    const none = await page('type=second_factor.failed&client=web')
    expect(textOf(none)).toMatch(/Nothing found back to \w+ \d+, \d{4}, \d\d:\d\d:\d\d UTC/)
  })

  test('have times, durations and lists in words, and no account without an explanation (pages 27)', async () => {
    const details = {
      keyId: 'k',
      algorithm: 'RS256',
      signsFrom: 1_795_419_128,
      scopes: ['openid', 'email'],
      seconds: 900,
    }
    await store([{ id: 'w', type: 'key.revoked', time: 6_000_000, details: JSON.stringify(details) }])
    const text = textOf(await page('type=key.revoked'))
    expect(text).toContain('Signs from Nov 23, 2026')
    expect(text).toContain('Scopes openid, email')
    expect(text).toContain('Locked for 15 minutes')
    expect(text).not.toContain('1795419128')
  })

  test('are one line each: a full page weighs less than 30 kB (pages 27)', async () => {
    const { html } = await page()
    expect(html.match(/<summary>/g)).toHaveLength(24)
    expect(Buffer.byteLength(html)).toBeLessThan(30_000)
    expect(await new RawBrowser(host.app).get(path)).toMatchObject({ status: 403 })
  })
})
