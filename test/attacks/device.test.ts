import { decodeJwt } from 'jose'
import { userCodeAlphabet } from '../../lib/features/device/rules.ts'
import { device } from '../../lib/features/index.ts'
import { askForCodes, codesFor, connect, deviceClients, openCode, poll, typeCode } from '../support/device.ts'
import { authorizeUrl, clients, type Host, startHost } from '../support/host.ts'
import { expectErrorPage, expectExpiredPage } from '../support/outcomes.ts'
import { fieldsOf, formOf, RawBrowser } from '../support/raw-browser.ts'
import { ada, answerOf, bob, codeFor, expectError, guarded, redeem } from '../support/tokens.ts'

let host: Host
const start = async (limits: NonNullable<Parameters<typeof device>[0]>['limits'] = {}): Promise<Host> => {
  const started = await startHost({
    clients: [...clients, ...deviceClients],
    options: { features: [device({ limits })] },
  })
  started.app.set('trust proxy', 1)
  return started
}
beforeAll(async () => {
  host = await start()
})
afterAll(() => host.close())

const addresses = Array.from({ length: 250 }, (_, number) => `203.0.113.${number}`)
/** A browser at an address of its own, unless it is given one. */
const browser = (address = addresses.pop() ?? '', at = host) =>
  new RawBrowser(at.app, undefined, { 'x-forwarded-for': address })

/** Codes as an attacker tries them, none twice. */
const guess = (number: number): string =>
  [...number.toString(20).padStart(8, '0')]
    .map((digit) => userCodeAlphabet[Number.parseInt(digit, 20)])
    .join('')

/** Types so many wrong codes, and counts the answers by status. */
const guessMany = async (agents: readonly RawBrowser[], count: number): Promise<Record<number, number>> => {
  const forms = await Promise.all(
    agents.map(async (agent) => fieldsOf(await agent.open('/oauth/device'), 'user_code')),
  )
  const statuses: Record<number, number> = {}
  for (let number = 0; number < count; number += 1) {
    const place = number % agents.length
    const fields = { ...forms[place], user_code: guess(number) }
    const { status } = await agents[place]!.post('/oauth/device', fields)
    statuses[status] = (statuses[status] ?? 0) + 1
  }
  return statuses
}

test('of many guesses from one address, twenty are looked up; the user is not locked out', async () => {
  const count = 60
  const codes = await codesFor(host)
  const [attacker, user] = [browser(), browser()]
  expect(await guessMany([attacker], count)).toEqual({ 400: 20, 303: count - 20 })
  expect((await connect(user, codes.user_code)).html).toContain('Your device is connected')
})

test('guesses from many addresses reach a common limit, but signed-in users have their own', async () => {
  const limited = await start({ userCodeTotal: { max: 30, seconds: 3600 } })
  const user = browser(undefined, limited)
  await connect(user, (await codesFor(limited)).user_code)
  const attackers = Array.from({ length: 20 }, (_, number) => browser(`198.51.100.${number}`, limited))
  expect(await guessMany(attackers, 60)).toEqual({ 400: 30, 303: 30 })
  expect(await guessMany([user], 15)).toEqual({ 400: 10, 429: 5 })
  const codes = await codesFor(limited)
  const refused = await typeCode(user, codes.user_code)
  expect({ status: refused.status, retryAfter: Number(refused.headers['retry-after']) }).toEqual({
    status: 429,
    retryAfter: expect.closeTo(900, -2),
  })
  await limited.close()
})

test('beyond the common limit who is not signed in signs in first, and then connects the device', async () => {
  const limited = await start({ userCodeTotal: { max: 3, seconds: 3600 } })
  expect(await guessMany([browser(undefined, limited)], 4)).toEqual({ 400: 3, 303: 1 })
  const [right, wrong] = [(await codesFor(limited)).user_code, guess(99)]
  const user = browser(undefined, limited)
  const pages = [await typeCode(user, right), await typeCode(browser(undefined, limited), wrong)]
  const titles = pages.map(({ html }) => /<h1>(.*?)<\/h1>/s.exec(html)?.[1])
  expect(pages.map(({ status }) => status)).toEqual([200, 200])
  // The form does not show which code is right.
  expect(titles[0]).toBe(titles[1])
  const filled = await user.signIn(pages[0]!, ada.email, ada.password)
  expect(fieldsOf(filled, 'user_code')).toMatchObject({ user_code: right })
  const confirm = await user.submit(filled, 'user_code', {})
  const consent = await user.decide(confirm, 'allow')
  expect((await user.decide(consent, 'allow')).html).toContain('Your device is connected')
  await limited.close()
})

test('guesses at the same time do not exceed the limit', async () => {
  const agent = browser()
  const fields = fieldsOf(await agent.open('/oauth/device'), 'user_code')
  const answers = await Promise.all(
    Array.from({ length: 30 }, (_, number) =>
      agent.post('/oauth/device', { ...fields, user_code: guess(number) }),
    ),
  )
  expect(answers.filter(({ status }) => status === 400)).toHaveLength(20)
})

test('requests of devices from one address are limited', async () => {
  const limited = await start({ deviceCode: { max: 2, seconds: 60 } })
  const statuses = [await askForCodes(limited), await askForCodes(limited), await askForCodes(limited)]
  expect(statuses.map(({ status }) => status)).toEqual([200, 200, 429])
  await limited.close()
})

describe('a form that does not come from its page', () => {
  const crossSite = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }

  test('opens no device: of another site, with the token of another browser, or without a token', async () => {
    const { user_code } = await codesFor(host)
    const agent = browser()
    const { action, fields } = formOf((await agent.open('/oauth/device')).html, 'user_code')
    const typed = { ...fields, user_code }
    expectErrorPage(await agent.post(action, typed, crossSite), 403)
    expectErrorPage(await browser().post(action, typed), 403)
    expectErrorPage(await agent.post(action, { user_code }), 403)
  })

  test('confirms no device', async () => {
    const codes = await codesFor(host)
    const agent = browser()
    const page = await openCode(agent, codes.user_code)
    const fields = { ...fieldsOf(page, 'value="allow"'), decision: 'allow' }
    expectErrorPage(await agent.post('/oauth/device', fields, crossSite), 403)
    expectErrorPage(await agent.post('/oauth/device', { ...fields, csrf_token: '' }), 403)
    const stolen = browser()
    await stolen.open('/oauth/device')
    expectExpiredPage(await stolen.post('/oauth/device', fields))
    expectError(await poll(host, codes), 400, 'authorization_pending')
  })
})

test('no page can be skipped: neither by its address nor by the form of a later one', async () => {
  const codes = await codesFor(host)
  const agent = browser()
  const confirm = await openCode(agent, codes.user_code)
  const { search } = confirm.url
  expect((await agent.open(`/oauth/authorize${search}`)).url.pathname).toBe('/oauth/device')
  const allowed = await agent.decide(await agent.open(`/oauth/consent${search}`), 'allow')
  expect(allowed.url.pathname).toBe('/oauth/device')
  expectError(await poll(host, codes), 400, 'authorization_pending')
})

test('a page that named one account confirms for no other', async () => {
  const codes = await codesFor(host)
  const agent = browser()
  const confirm = await openCode(agent, codes.user_code, ada)
  const again = await agent.open(
    authorizeUrl({ client_id: 'web', scope: 'openid', prompt: 'login select_account' }),
  )
  await agent.signIn(again, bob.email, bob.password)
  const page = await agent.decide(confirm, 'allow')
  expect({ path: page.url.pathname, bob: page.html.includes('bob') }).toEqual({
    path: '/oauth/device',
    bob: true,
  })
  expectError(await poll(host, codes), 400, 'authorization_pending')
})

test('if two browsers open one code, the first Allow counts and the other sees that it has ended', async () => {
  const codes = await codesFor(host)
  const [one, two] = [browser(), browser()]
  const confirm = await openCode(one, codes.user_code, ada)
  await connect(two, codes.user_code, bob)
  expectExpiredPage(await one.decide(await one.decide(confirm, 'allow'), 'allow'), 'finished')
  const tokens = await answerOf(poll(host, codes))
  expect(decodeJwt(tokens.id_token).sub).toBe('2')
  expect((await guarded(host, tokens.access_token)).status).toBe(200)
  expect((await typeCode(browser(), codes.user_code)).html).toContain('This code is wrong or has expired')
})

test('neither kind of code is accepted as the other', async () => {
  const codes = await codesFor(host)
  await connect(browser(), codes.user_code)
  expectError(await redeem(host, codes.device_code), 400, 'invalid_grant')
  const code = await codeFor(host, { scope: 'openid' })
  expectError(await poll(host, { device_code: code }), 400, 'invalid_grant')
  await answerOf(poll(host, codes))
})
