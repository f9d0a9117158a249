import { Secret, TOTP } from 'otpauth'
import { admin, authenticatorApps } from '../../lib/features/index.ts'
import { settingsPath } from '../../lib/features/second-factor/settings-page.ts'
import type { AuthEvent, AuthRouterOptions } from '../../lib/index.ts'
import { serverBehind } from '../../lib/router.ts'
import { type Clock, stopClock } from '../support/clock.ts'
import { authorizeUrl, type Host, startHost } from '../support/host.ts'
import { claimsOf, codeOf } from '../support/outcomes.ts'
import { type Answer, formOf, RawBrowser, textOf } from '../support/raw-browser.ts'
import { answerOf, bob, redeem, userinfo } from '../support/tokens.ts'

// The second factor that Latchkey keeps (`authenticatorApps()`).

const mapping = { id: 'id', username: 'email', password: 'password_hash' }
const aboutAda = '/oauth/admin/users?q=ada%40example.com'
const older = 'a secret of the tests that is long enough'
const newer = 'a newer secret of this test, long enough'

let host: Host
/** The same with pages for operators. */
let watched: Host
let clock: Clock
let events: AuthEvent[] = []
let logged: string[] = []

const start = async (
  options: Partial<AuthRouterOptions> = {},
  database?: Host['database'],
): Promise<Host> => {
  const logger = { info: () => {}, warn: () => {}, error: (line: string) => void logged.push(line) }
  const totp = { acrValues: ['mfa'], features: [authenticatorApps({ acr: 'mfa' })], logger }
  const started = await startHost({ ...(database && { database }), options: { ...totp, ...options } })
  started.oauth.events.on('*', (event) => void events.push(event))
  return started
}
beforeAll(async () => {
  host = await start()
  const features = [authenticatorApps({ acr: 'mfa' }), admin({ allow: () => true })]
  const users = { table: host.usersTable, columns: mapping }
  watched = await start({ features, users }, host.database)
})
afterAll(async () => {
  await watched.oauth.close()
  await host.close()
})
beforeEach(async () => {
  clock = stopClock()
  for (const name of ['second_factors', 'recovery_codes', 'replays', 'throttles', 'logins'])
    await host.table(name).delete()
  events = []
  logged = []
})
afterEach(() => jest.restoreAllMocks())

const settings = `/oauth${settingsPath}`
const send = (agent: RawBrowser, page: Answer, fields: Record<string, string>): Promise<Answer> =>
  agent.submit(page, 'name="code"', fields)
const codeAt = (secret: string): string =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() })
const secretOn = ({ html }: Answer): string =>
  (/id="secret" dir="ltr">([A-Z2-7 ]+)</.exec(html)?.[1] ?? '').replaceAll(' ', '')
const codesOn = ({ html }: Answer): string[] =>
  (/id="recovery-codes"[^>]*>([a-z2-7\n-]+)</.exec(html)?.[1] ?? '').split('\n').filter(Boolean)
const typesOf = (): string[] =>
  events.map(({ type }) => type).filter((type) => type.startsWith('second_factor'))

/** Signs in and sets the second factor up. */
const enrol = async (
  agent = new RawBrowser(host.app),
): Promise<{ agent: RawBrowser; secret: string; codes: string[] }> => {
  const page = await agent.signIn(await agent.open(settings))
  const secret = secretOn(page)
  const codes = codesOn(await send(agent, page, { decision: 'confirm', code: codeAt(secret) }))
  expect(codes).toHaveLength(10)
  clock.travel(30)
  return { agent, secret, codes }
}
const url = authorizeUrl({ client_id: 'web', scope: 'openid' })
const halfway = async (agent: RawBrowser, at = url): Promise<Answer> => {
  const page = await agent.signIn(await agent.open(at))
  expect(page.url.pathname).toBe('/oauth/second-factor')
  return page
}
const granted = async (agent: RawBrowser, page: Answer): Promise<string> =>
  codeOf(page.location ? page : await agent.decide(page, 'allow'))

test('a user sets it up, saves the recovery codes, and signs in with it', async () => {
  const agent = new RawBrowser(host.app)
  const account = await agent.signIn(await agent.open('/oauth/account'))
  expect(account.html).toContain(`href="${settings}"`)
  const page = await agent.open(settings)
  const secret = secretOn(page)
  expect(page.html).toMatch(/<svg id="qr"[^>]*role="img" aria-label="QR code/)
  const wrong = await send(agent, page, { decision: 'confirm', code: '000000' })
  expect({ status: wrong.status, secret: secretOn(wrong) }).toEqual({ status: 400, secret })
  const code = codeAt(secret)
  const shown = await send(agent, wrong, { decision: 'confirm', code })
  const codes = codesOn(shown)
  expect(new Set(codes).size).toBe(10)
  expect(codesOn(await agent.open(settings))).toEqual(codes)
  const saved = await agent.submit(shown, 'value="saved"', { decision: 'saved' })
  expect(codesOn(saved)).toEqual([])
  expect(saved.html).toMatch(/Recovery codes left<\/dt><dd>10</)

  const other = new RawBrowser(host.app)
  const again = await send(other, await halfway(other), { code })
  expect(again.html).toContain('Wrong code')
  clock.travel(30)
  const done = await send(other, again, { code: codeAt(secret) })
  const { id_token } = await answerOf(redeem(host, await granted(other, done)))
  expect(claimsOf(id_token)).toMatchObject({ acr: 'mfa', amr: ['pwd', 'otp', 'mfa'] })
  expect(typesOf()).toEqual(['second_factor.added', 'second_factor.requested', 'second_factor.failed'])
  // Another user has none.
  await granted(new RawBrowser(host.app), await new RawBrowser(host.app).grant(url, bob.email, bob.password))
})

test('until it is confirmed, each login has its own secret for an hour, and a password is enough', async () => {
  const [thief, agent] = [new RawBrowser(host.app), new RawBrowser(host.app)]
  const known = secretOn(await thief.signIn(await thief.open(settings)))
  const first = secretOn(await agent.signIn(await agent.open(settings)))
  expect([secretOn(await agent.open(settings)), known === first]).toEqual([first, false])
  clock.travel(3601)
  const page = await agent.signIn(await agent.open(settings))
  const secret = secretOn(page)
  expect([secret === first, (await host.table('second_factors')).length]).toEqual([false, 1])
  const other = new RawBrowser(host.app)
  await granted(other, await other.grant(url))
  expect(codesOn(await send(agent, page, { decision: 'confirm', code: codeAt(secret) }))).toHaveLength(10)
})

test('the next user of the same browser does not see the recovery codes', async () => {
  let subject = 1
  const current = () => ({ subject, authTime: Math.floor(Date.now() / 1000) })
  const login = { current, remember: () => {} }
  const theirs = await start({ login })
  const agent = new RawBrowser(theirs.app)
  const page = await agent.open(settings)
  const shown = await send(agent, page, { decision: 'confirm', code: codeAt(secretOn(page)) })
  subject = 2
  const next = await agent.open(settings)
  expect([shown, next].map((each) => codesOn(each).length)).toEqual([10, 0])
  await theirs.close()
})

test('a recovery code signs in once', async () => {
  const { codes } = await enrol()
  const [code = ''] = codes
  const typed = ` ${code.toUpperCase()} `
  const agent = new RawBrowser(host.app)
  await granted(agent, await send(agent, await halfway(agent), { code: typed }))
  expect(events.find(({ type }) => type === 'second_factor.recovery_code_used')).toMatchObject({
    subject: '1',
    left: 9,
  })
  const other = new RawBrowser(host.app)
  expect((await send(other, await halfway(other), { code })).html).toContain('Wrong code')
})

test('removing it requires a code, also in an open session', async () => {
  const { agent, secret } = await enrol()
  await agent.get(settings)
  const shown = await agent.open(settings)
  const page = await agent.submit(shown, 'value="saved"', { decision: 'saved' })
  const wrong = await send(agent, page, { decision: 'remove', code: '000000' })
  expect({ status: wrong.status, left: await host.table('second_factors').select('subject') }).toEqual({
    status: 400,
    left: [{ subject: '1' }],
  })
  const locked = await [1, 2, 3, 4, 5].reduce(
    async (before) => send(agent, await before, { decision: 'remove', code: '000000' }),
    Promise.resolve(wrong),
  )
  expect(locked.status).toBe(429)
  clock.travel(901)
  const signedIn = await agent.signIn(await agent.open(settings))
  const back = await send(agent, signedIn, { code: codeAt(secret) })
  clock.travel(30)
  const off = await send(agent, back, { decision: 'remove', code: codeAt(secret) })
  expect(off.html).toContain('Two-step sign-in is off.')
  expect(secretOn(off)).not.toBe(secret)
  expect(await host.table('recovery_codes').select('hash')).toEqual([])
  expect(typesOf().at(-1)).toBe('second_factor.removed')
})

test('the page asks for the password again ten minutes after the sign-in', async () => {
  const agent = new RawBrowser(host.app)
  const page = await agent.signIn(await agent.open(settings))
  clock.travel(601)
  const late = await send(agent, page, { decision: 'confirm', code: codeAt(secretOn(page)) })
  expect(late.html).toContain('Confirm it’s you')
  expect(await host.table('second_factors').whereNull('expires_at').select('subject')).toEqual([])
})

test('forms of other sites, of other users and without a login change nothing', async () => {
  const agent = new RawBrowser(host.app)
  const page = await agent.signIn(await agent.open(settings))
  const { action, fields } = formOf(page.html, 'name="code"')
  const form = { ...fields, decision: 'confirm', code: codeAt(secretOn(page)) }
  expect((await agent.post(action, form, { 'Sec-Fetch-Site': 'cross-site' })).status).toBe(403)
  expect((await agent.post(action, { ...form, csrf_token: 'x' })).status).toBe(403)
  expect((await agent.post(action, { ...form, decision: 'x' })).status).toBe(400)
  const other = new RawBrowser(host.app)
  await other.signIn(await other.open(settings), bob.email, bob.password)
  expect((await other.post(action, form)).status).toBe(403)
  expect((await new RawBrowser(host.app).post(action, form)).location?.pathname).toBe(settings)
  expect(await host.table('second_factors').whereNull('expires_at').select('subject')).toEqual([])
})

test('parallel forms confirm it once, and a code signs in one of two browsers', async () => {
  const agent = new RawBrowser(host.app)
  const page = await agent.signIn(await agent.open(settings))
  const secret = secretOn(page)
  const form = { decision: 'confirm', code: codeAt(secret) }
  await Promise.all([1, 2, 3].map(() => send(agent.clone(), page, form)))
  expect(typesOf()).toEqual(['second_factor.added'])
  expect(await host.table('recovery_codes').select('hash')).toHaveLength(10)
  clock.travel(30)
  const browsers = [new RawBrowser(host.app), new RawBrowser(host.app)]
  const pages = await Promise.all(browsers.map((each) => halfway(each)))
  await host.table('logins').delete()
  await Promise.all(
    browsers.map((each, place) => send(each, pages[place] as Answer, { code: codeAt(secret) })),
  )
  expect(await host.table('logins').select('subject')).toHaveLength(1)
})

/** The page of a user who has saved the recovery codes. */
const turnedOn = async (agent: RawBrowser): Promise<Answer> =>
  agent.submit(await agent.open(settings), 'value="saved"', { decision: 'saved' })

test('its page shows it is on, warns of few recovery codes, and Enter in its field does nothing', async () => {
  const { agent, secret } = await enrol()
  const on = await turnedOn(agent)
  expect(on.html).toContain('Two-step sign-in is on.')
  expect(on.html).not.toContain('You’re almost out of recovery codes.')
  const [, form = ''] = on.html.split('<form ')
  expect(/<(?:button|input type="submit")[^>]*>/.exec(form)?.[0]).toBe('<button formmethod="dialog" hidden>')
  const some = (await host.table('recovery_codes').select('hash')).slice(3).map(({ hash }) => hash)
  await host.table('recovery_codes').whereIn('hash', some).delete()
  expect((await agent.open(settings)).html).toContain('You’re almost out of recovery codes.')
  // Who has none is not told that it is on.
  const off = await send(agent, on, { decision: 'remove', code: codeAt(secret) })
  const none = await agent.submit(off, 'name="code"', { decision: 'saved' })
  expect(none.html).not.toContain('Two-step sign-in is on.')
})

test('with a code, a user gets new recovery codes, and the old ones no longer work (pages 13)', async () => {
  const { agent, secret, codes } = await enrol()
  const page = await turnedOn(agent)
  const refused = await send(agent, page, { decision: 'renew', code: '000000' })
  expect([refused.status, codesOn(refused)]).toEqual([400, []])
  const renewed = codesOn(await send(agent, refused, { decision: 'renew', code: codeAt(secret) }))
  expect(new Set([...codes, ...renewed]).size).toBe(20)
  expect(typesOf().at(-1)).toBe('second_factor.recovery_codes_renewed')

  const other = new RawBrowser(host.app)
  const again = await send(other, await halfway(other), { code: codes[0]! })
  expect(again.html).toContain('Wrong code')
  await granted(other, await send(other, again, { code: renewed[0]! }))
})

test('another app replaces the first with its first code; until then the first one works', async () => {
  const { agent, secret, codes } = await enrol()
  const begun = await send(agent, await turnedOn(agent), { decision: 'replace', code: codeAt(secret) })
  const next = secretOn(begun)
  expect(begun.html).toContain('Set up another app')
  expect([next.length, next === secret]).toEqual([secret.length, false])
  clock.travel(30)
  // The first app still signs in, and its code does not confirm the other one.
  const other = new RawBrowser(host.app)
  await granted(other, await send(other, await halfway(other), { code: codeAt(secret) }))
  const wrong = await send(agent, begun, { decision: 'confirm', code: codeAt(secret) })
  expect([wrong.status, secretOn(wrong)]).toEqual([400, next])
  // Another login of the same user does not see the secret.
  expect(secretOn(await other.open(settings))).toBe('')
  const done = await send(agent, wrong, { decision: 'confirm', code: codeAt(next) })
  expect(done.html).toContain('Your new app is set up.')
  expect(done.html).toMatch(/Recovery codes left<\/dt><dd>10</)
  expect(typesOf().at(-1)).toBe('second_factor.replaced')

  clock.travel(30)
  const third = new RawBrowser(host.app)
  const again = await send(third, await halfway(third), { code: codeAt(secret) })
  expect(again.html).toContain('Wrong code')
  await granted(third, await send(third, again, { code: codes[1]! }))
  const fourth = new RawBrowser(host.app)
  await granted(fourth, await send(fourth, await halfway(fourth), { code: codeAt(next) }))
})

test('a user keeps the first app, and the secret of another app ends after an hour (pages 13)', async () => {
  const { agent, secret } = await enrol()
  const begun = await send(agent, await turnedOn(agent), { decision: 'replace', code: codeAt(secret) })
  const kept = await agent.submit(begun, 'name="code"', { decision: 'keep' })
  expect(secretOn(kept)).toBe('')
  expect(kept.html).toContain('value="replace"')
  clock.travel(30)
  const again = await send(agent, kept, { decision: 'replace', code: codeAt(secret) })
  const next = secretOn(again)
  expect(next).not.toBe('')
  clock.travel(3601)
  const late = await agent.signIn(await agent.open(settings)).catch(() => undefined)
  expect(late === undefined ? '' : secretOn(late)).toBe('')
})

test('recovery codes can be copied, saved without a script and printed, with their account', async () => {
  const agent = new RawBrowser(host.app)
  const page = await agent.signIn(await agent.open(settings))
  const uri = /href="(otpauth:[^"]+)"/.exec(page.html)?.[1] ?? ''
  expect(uri.replaceAll('&amp;', '&')).toContain(`secret=${secretOn(page)}`)
  const shown = await send(agent, page, { decision: 'confirm', code: codeAt(secretOn(page)) })
  const [, file = ''] =
    /download="recovery-codes.txt" href="data:text\/plain;charset=utf-8,([^"]+)"/.exec(shown.html) ?? []
  const lines = decodeURIComponent(file).split('\n')
  expect(lines[0]).toContain('ada@example.com')
  expect(lines.slice(2, 12)).toEqual(codesOn(shown))
  for (const button of ['data-copy="recovery-codes"', 'data-print']) expect(shown.html).toContain(button)
})

test('the database has neither the secret nor a recovery code; export, removal and erasure work', async () => {
  const { secret, codes } = await enrol()
  const rows = JSON.stringify([await host.table('second_factors'), await host.table('recovery_codes')])
  const raw = Buffer.from(Secret.fromBase32(secret).buffer).toString('base64url')
  for (const found of [secret, raw, ...codes, ...codes.map((code) => code.replaceAll('-', ''))])
    expect(rows).not.toContain(found)
  const { secondFactor } = await host.oauth.users.export(1)
  expect(secondFactor).toEqual({ createdAt: clock.now() - 30, recoveryCodesLeft: 10 })
  expect(await host.oauth.secondFactor?.remove(2)).toBe(false)
  expect(await host.oauth.secondFactor?.remove(1)).toBe(true)
  expect(typesOf().at(-1)).toBe('second_factor.removed')
  const agent = new RawBrowser(host.app)
  await granted(agent, await agent.grant(url))
  await enrol()
  await host.oauth.users.erase(1)
  expect([...(await host.table('second_factors')), ...(await host.table('recovery_codes'))]).toEqual([])
})

describe('wrong codes lock two-step sign-in', () => {
  /** Someone who knows the password has typed wrong codes, and the owner is refused. */
  const lock = async (): Promise<() => Promise<Answer>> => {
    const { secret } = await enrol()
    const stranger = new RawBrowser(watched.app)
    let page = await halfway(stranger)
    for (let time = 0; time < 5; time += 1) page = await send(stranger, page, { code: '000000' })
    const signIn = async (): Promise<Answer> => {
      const owner = new RawBrowser(watched.app)
      return send(owner, await halfway(owner), { code: codeAt(secret) })
    }
    expect((await signIn()).status).toBe(429)
    return signIn
  }
  test('which the page about the user says, until when, and Unlock ends', async () => {
    const signIn = await lock()
    const agent = new RawBrowser(watched.app)
    const page = await agent.get(aboutAda)
    const until = new Date((clock.now() + 900) * 1000).toISOString().slice(11, 19)
    const said = new RegExp(`Codes of two-step sign-in: locked from 127\\.0\\.0\\.1 until .*${until} UTC`)
    expect(textOf(page)).toMatch(said)
    const done = await agent.submit(page, 'value="unlock"')
    expect(textOf(done)).not.toContain('locked from')
    expect(events.at(-1)).toMatchObject({ type: 'login.unlocked', subject: '1' })
    expect((await signIn()).status).toBeLessThan(400)
  })

  test('which users.unlock() ends, by the name or for a user', async () => {
    let signIn = await lock()
    expect(await watched.oauth.users.unlock('bob@example.com')).toBe(false)
    expect(await watched.oauth.users.unlock('ADA@example.com')).toBe(true)
    expect((await signIn()).status).toBeLessThan(400)
    expect(await watched.oauth.users.unlock('ada@example.com')).toBe(false)
    await host.table('second_factors').delete()
    signIn = await lock()
    // As a host does whose functions know the users.
    expect(await watched.oauth.users.unlock('a name of hers', { user: 1 })).toBe(true)
    expect((await signIn()).status).toBeLessThan(400)
  })

  test('which users.unlock() ends beside a lock by wrong passwords', async () => {
    const signIn = await lock()
    const stranger = new RawBrowser(watched.app)
    let page = await stranger.open(url)
    for (let time = 0; time < 5; time += 1) page = await stranger.signIn(page, 'ada@example.com', 'wrong')
    expect(await watched.oauth.users.unlock('ada@example.com')).toBe(true)
    expect((await signIn()).status).toBeLessThan(400)
  })
})

test.each(['remove', 'renew'])(
  'a login that ends while its code is checked changes nothing any more: %s',
  async (decision) => {
    const { agent, secret } = await enrol()
    const page = await turnedOn(agent)
    const rows = async () => [await host.table('second_factors').select('secret'), await hashes()]
    const hashes = () => host.table('recovery_codes').select('hash').orderBy('hash')
    const before = await rows()
    const { login } = serverBehind(host.oauth)!.throttle
    const { attempt } = login
    jest.spyOn(login, 'attempt').mockImplementation(async (...attempted) => {
      const outcome = await attempt(...attempted)
      await host.oauth.users.revokeAll(1)
      return outcome as never
    })
    const { html } = await send(agent, page, { decision, code: codeAt(secret) })
    expect(html).toContain('type="password"')
    expect(await rows()).toEqual(before)
    expect(typesOf()).toEqual(['second_factor.added'])
  },
)

describe('the removal of the second factor ends all of the user, so that no thief sets it up again', () => {
  const expectEnded = async (remove: () => Promise<unknown>): Promise<void> => {
    const { agent: thief } = await enrol()
    const { access_token } = await answerOf(redeem(host, await granted(thief, await thief.open(url))))
    const waiting = new RawBrowser(host.app)
    await halfway(waiting)
    await remove()
    expect(await host.table('second_factors')).toEqual([])
    expect((await thief.open(settings)).html).toContain('type="password"')
    expect((await userinfo(host, access_token)).status).toBe(401)
    expect(await host.table('pending_logins')).toEqual([])
    expect(events).toContainEqual(expect.objectContaining({ type: 'user.revoked', subject: '1' }))
    expect(typesOf().at(-1)).toBe('second_factor.removed')
  }

  test('by secondFactor.remove()', () => expectEnded(async () => watched.oauth.secondFactor?.remove(1)))

  test('by secondFactor.remove(), which announces none of a user who has none', async () => {
    expect(await watched.oauth.secondFactor?.remove(2)).toBe(false)
    expect(typesOf()).not.toContain('second_factor.removed')
  })

  test('by Reset on the page for operators, which says so', () =>
    expectEnded(async () => {
      const operator = new RawBrowser(watched.app)
      const { html } = await operator.get(aboutAda)
      const [, link = ''] = /href="([^"]*section=second-factor[^"]*)"/.exec(html) ?? []
      const asking = await operator.get(link.replaceAll('&amp;', '&'))
      expect(textOf(asking)).toContain('all logins, codes and tokens of the user end')
      await operator.submit(asking, 'value="run"')
    }))
})

test('an earlier code is refused after a later one', async () => {
  const { secret } = await enrol()
  const agent = new RawBrowser(host.app)
  const earlier = codeAt(secret)
  clock.travel(30)
  const later = codeAt(secret)
  const page = await halfway(agent)
  await granted(agent, await send(agent, page, { code: later }))
  const other = new RawBrowser(host.app)
  expect((await send(other, await halfway(other), { code: earlier })).html).toContain('Wrong code')
})

test('a new option secrets encrypts it again; without the old one only recovery codes work', async () => {
  const { secret, codes } = await enrol()
  const users = { table: host.usersTable, columns: mapping }
  const signIn = async (secrets: string[], code: string): Promise<Answer> => {
    const { app, oauth } = await start({ secrets, users }, host.database)
    const agent = new RawBrowser(app)
    const answer = await send(agent, await halfway(agent), { code })
    await oauth.close()
    clock.travel(30)
    return answer
  }
  const sealed = await host.table('second_factors').first('secret')
  expect((await signIn([newer, older], codeAt(secret))).html).not.toContain('Wrong code')
  expect(await host.table('second_factors').first('secret')).not.toEqual(sealed)
  await host.table('second_factors').update(sealed)
  // The first sign-in has encrypted the keys of the server with the newer secret.
  expect((await signIn([newer], codeAt(secret))).html).toContain('Wrong code')
  expect(logged.join()).toContain('none of the option secrets decrypts the second factor of user "1"')
  expect((await signIn([newer], codes[0] ?? '')).html).not.toContain('Wrong code')
})
