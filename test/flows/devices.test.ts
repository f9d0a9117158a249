import session from 'express-session'
import type { AuthRouterOptions } from '../../lib/index.ts'
import { deviceName } from '../../lib/users/account/device-name.ts'
import { stopClock } from '../support/clock.ts'
import { authorizeUrl, type Host, startHost } from '../support/host.ts'
import { codeOf } from '../support/outcomes.ts'
import { type Answer, fieldsOf, RawBrowser, textOf } from '../support/raw-browser.ts'
import { ada, answerOf, bob, expectError, redeem, refresh, userinfo } from '../support/tokens.ts'
import { expectForgedFormsRefused } from './forged-forms.ts'

const path = '/oauth/account/devices'
const chrome =
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36'
const edge =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36 Edg/130.0.0.0'
const iphone =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1'

test.each([
  [chrome, { browser: 'Chrome', system: 'macOS' }],
  [edge, { browser: 'Microsoft Edge', system: 'Windows' }],
  [iphone, { browser: 'Safari', system: 'iPhone' }],
  ['Your account is closed. Call +1 555 0100/1 (now) please/1', {}],
  ['\0<b>'.repeat(60), {}],
  ['', {}],
  [undefined, {}],
])('a device has a known name, and never words of its own header: %#', (header, name) => {
  expect(deviceName(header)).toEqual(name)
})

const hostSession = () => session({ secret: 'of the host', resave: false, saveUninitialized: false })
const sessions: [string, Parameters<typeof startHost>[0]][] = [
  ['own', { options: { session: 'own', limits: false } }],
  ['host', { before: [hostSession()], options: { session: 'host', limits: false } }],
]

interface Row {
  readonly name: string
  readonly isHere: boolean
  readonly times: readonly string[]
  readonly end: string | undefined
}

/** The devices of the list. */
const rowsOf = ({ html }: Answer): Row[] => {
  const [, list = ''] = html.split('<ul class="rows clients devices"')
  return (list.match(/<li class="scope-row">[\s\S]*?<\/li>/g) ?? []).map((row) => ({
    name: (/<span>\s*<span>([\s\S]*?)<\/span>/.exec(row)?.[1] ?? '').replaceAll(/<[^>]*>/g, '').trim(),
    isHere: row.includes('This device'),
    times: [...row.matchAll(/datetime="([^"]*)"/g)].map(([, time = '']) => time),
    end: /<a href="([^"]*)"/.exec(row)?.[1]?.replaceAll('&amp;', '&'),
  }))
}
const namesOf = (page: Answer): string[] => rowsOf(page).map(({ name }) => name)

describe.each(sessions)('with the session of: %s', (_, settings) => {
  let host: Host
  beforeAll(async () => {
    host = await startHost(settings)
  })
  afterAll(() => host.close())
  afterEach(() => jest.restoreAllMocks())
  beforeEach(async () => {
    for (const name of ['consents', 'authorizations', 'logins']) await host.table(name).delete()
  })

  const browserOf = (userAgent: string) => new RawBrowser(host.app, undefined, { 'User-Agent': userAgent })
  const signedIn = async (userAgent: string, as = ada): Promise<RawBrowser> => {
    const agent = browserOf(userAgent)
    await agent.signIn(await agent.open(path), as.email, as.password)
    return agent
  }
  /** A browser in which an app was allowed, with its tokens. */
  const withApp = async (userAgent: string, scope = 'openid') => {
    const agent = browserOf(userAgent)
    const code = codeOf(await agent.grant(authorizeUrl({ client_id: 'web', scope }), ada.email, ada.password))
    return { agent, tokens: await answerOf(redeem(host, code)) }
  }
  const endOf = (page: Answer, name: string): string => {
    const row = rowsOf(page).find((one) => one.name === name)
    if (row?.end === undefined) throw new Error(`${name} cannot be signed out`)
    return row.end
  }

  test('lists each browser once, this one first, with its first and last use', async () => {
    const clock = stopClock()
    const start = clock.now()
    const iso = (seconds: number) => new Date(seconds * 1000).toISOString()
    const windows = await signedIn(edge)
    clock.travel(100)
    await signedIn(iphone, bob)
    const mac = await signedIn(chrome)
    // A second login in the same browser is the same device.
    const url = authorizeUrl({ client_id: 'web', scope: 'openid', prompt: 'login' })
    codeOf(await mac.grant(url, ada.email, ada.password))
    clock.travel(400)
    await windows.open(path)
    clock.travel(1)
    const page = await mac.open(path)
    expect(page.status).toBe(200)
    expect(rowsOf(page)).toEqual([
      { name: 'Chrome on macOS', isHere: true, times: [iso(start + 100)], end: undefined },
      {
        name: 'Microsoft Edge on Windows',
        isHere: false,
        times: [iso(start + 500), iso(start)],
        end: expect.stringContaining(`${path}?device=`),
      },
    ])
  })

  test('“That wasn’t me” asks, ends that login with its tokens, names its apps, and keeps the rest', async () => {
    const mine = await signedIn(chrome)
    const { agent: stranger, tokens } = await withApp(edge)
    const confirm = await mine.open(endOf(await mine.open(path), 'Microsoft Edge on Windows'))
    expect(textOf(confirm)).toContain('Sign out Microsoft Edge on Windows?')
    expect(textOf(confirm)).toContain('Apps used there Web client')
    // Nothing has ended before the answer.
    expect(namesOf(await mine.open(path))).toHaveLength(2)
    const done = await mine.submit(confirm, 'csrf_token')
    expect(done.url.pathname).toBe(path)
    expect(textOf(done)).toContain('Microsoft Edge on Windows is signed out.')
    expect(textOf(done)).toContain('Someone may know your password.')
    expect(done.html).toContain('href="/oauth/account?client_id=web"')
    expect(namesOf(done)).toEqual(['Chrome on macOS'])
    expectError(await userinfo(host, tokens.access_token), 401, 'invalid_token')
    expect((await stranger.open(path)).html).toContain('name="password"')
    expect(textOf(await mine.open(path))).not.toContain('is signed out')
  })

  test('access that outlives the login stays, and the page leads to its removal', async () => {
    const mine = await signedIn(chrome)
    const { tokens } = await withApp(edge, 'openid offline_access')
    const done = await mine.submit(
      await mine.open(endOf(await mine.open(path), 'Microsoft Edge on Windows')),
      'csrf_token',
    )
    expect(textOf(done)).toContain('They may keep access.')
    expect((await refresh(host, tokens.refresh_token ?? '')).status).toBe(200)
    const removal = await mine.open('/oauth/account?client_id=web')
    await mine.submit(removal, 'csrf_token')
    expect(textOf(await mine.open('/oauth/account'))).toContain('No apps are connected')
  })

  test('“Sign out everywhere else” ends all others and nothing here', async () => {
    const mine = await signedIn(chrome)
    const others = [await signedIn(edge)]
    expect(textOf(await mine.open(`${path}?device=others`))).toContain('One other device will be signed out.')
    others.push(await signedIn(iphone), await signedIn(chrome))
    const other = await signedIn(edge, bob)
    const confirm = await mine.open(`${path}?device=others`)
    expect(textOf(confirm)).toContain('3 other devices will be signed out.')
    const done = await mine.submit(confirm, 'csrf_token')
    expect(textOf(done)).toContain('You’re signed out everywhere else.')
    expect(rowsOf(done)).toMatchObject([{ name: 'Chrome on macOS', isHere: true }])
    expect(done.html).not.toContain('device=others')
    for (const each of others) expect((await each.open(path)).html).toContain('name="password"')
    expect(namesOf(await other.open(path))).toEqual(['Microsoft Edge on Windows'])
  })

  test('the login of another user, this browser and what does not exist cannot be ended', async () => {
    const mine = await signedIn(chrome)
    const theirs = await signedIn(edge, bob)
    const [here] = await host.table('logins').where({ subject: '1' })
    const [foreign] = await host.table('logins').where({ subject: '2' })
    for (const device of [here.sid, foreign.sid, 'nothing'])
      expect(rowsOf(await mine.open(`${path}?device=${device}`))).toHaveLength(1)
    expect(namesOf(await theirs.open(path))).toEqual(['Microsoft Edge on Windows'])
    await signedIn(iphone)
    const target = endOf(await mine.open(path), 'Safari on iPhone')
    await expectForgedFormsRefused(mine, path, async () => fieldsOf(await mine.open(target), 'csrf_token'), {
      'another user': async () => {
        await signedIn(iphone, bob)
        return fieldsOf(await theirs.open(endOf(await theirs.open(path), 'Safari on iPhone')), 'csrf_token')
      },
    })
    expect(namesOf(await mine.open(path))).toHaveLength(2)
  })

  test('a long header is stored as long as its column, and the export has it', async () => {
    const agent = await signedIn(`${chrome} ${'x'.repeat(4000)}`)
    expect(namesOf(await agent.open(path))).toEqual(['Chrome on macOS'])
    const [login] = await host.table('logins')
    expect(login.user_agent).toHaveLength(255)
    const { logins } = await host.oauth.users.export(1)
    expect(logins).toMatchObject([{ userAgent: login.user_agent, address: expect.any(String) }])
  })
})

test('a login that the app reports is named as such: it may stay signed in there', async () => {
  const login: AuthRouterOptions['login'] = {
    url: '/sign-in',
    current: ({ req }) => (req.get('x-user') ? { subject: 1, authTime: 1_700_000_000 } : undefined),
  }
  const host = await startHost({ before: [hostSession()], options: { session: 'host', login } })
  const browserOf = (userAgent: string) =>
    new RawBrowser(host.app, undefined, { 'User-Agent': userAgent, 'X-User': '1' })
  const [mine, other] = [browserOf(chrome), browserOf(edge)]
  await other.open(path)
  const [, row] = rowsOf(await mine.open(path))
  const confirm = await mine.open(row?.end ?? '')
  expect(textOf(confirm)).toContain('may stay signed in there until you change your password')
  expect(namesOf(await mine.submit(confirm, 'csrf_token'))).toEqual(['Chrome on macOS'])
  await host.close()
})

test('the link to a new password leads back to the list', async () => {
  const host = await startHost({ options: { pages: { name: 'Acme', links: { forgotPassword: '/forgot' } } } })
  const open = async (userAgent: string) => {
    const agent = new RawBrowser(host.app, undefined, { 'User-Agent': userAgent })
    return { agent, page: await agent.signIn(await agent.open(path)) }
  }
  await open(edge)
  const { agent, page } = await open(chrome)
  const [, row] = rowsOf(page)
  const done = await agent.submit(await agent.open(row?.end ?? ''), 'csrf_token')
  expect(done.html).toMatch(/id="new-password" href="\/forgot\?return_to=%2Foauth%2Faccount%2Fdevices/)
  await host.close()
})
