import { device, secondFactor } from '../../lib/features/index.ts'
import type { AuthRouterOptions } from '../../lib/index.ts'
import { codesFor, deviceClients, openCode, poll, typeCode } from '../support/device.ts'
import { authorizeUrl, callback, type Host, secret, startHost } from '../support/host.ts'
import { claimsOf, codeOf } from '../support/outcomes.ts'
import { type Answer, RawBrowser, textOf } from '../support/raw-browser.ts'
import { answerOf, redeem } from '../support/tokens.ts'

// access.allow asks for a level: of a login on the app's own page (`login.url`), and before a device is connected.

type Allow = NonNullable<AuthRouterOptions['access']>['allow']
let allow: Allow = () => true

const options: Partial<AuthRouterOptions> = {
  acrValues: ['pwd', 'mfa', 'hardware'],
  access: { allow: (user, request) => allow(user, request) },
  features: [device()],
}
const web = { client_id: 'web', client_secret: secret, redirect_uris: [callback], first_party: true }

/** The login of the app is in a cookie of its own: the id, the time and the level. */
const current: NonNullable<AuthRouterOptions['login']>['current'] = ({ req }) => {
  const [, subject, time, acr] = /app_user=(\d)-(\d+)-(\w+)/.exec(req.headers.cookie ?? '') ?? []
  return subject && { subject, authTime: Number(time), acr }
}

let ofApp: Host
let own: Host
beforeAll(async () => {
  const clients = [web, ...deviceClients]
  ofApp = await startHost({ clients, options: { ...options, login: { url: '/sign-in', current } } })
  const find = (_: unknown, { acrValues }: { acrValues: readonly string[] }) =>
    acrValues.some((acr) => acr !== 'pwd')
      ? { kind: 'code' as const, verify: (code: string) => code === '123456', acr: 'mfa' }
      : undefined
  own = await startHost({
    clients,
    options: {
      ...options,
      login: { acr: 'pwd' },
      features: [...(options.features ?? []), secondFactor({ find })],
    },
  })
})
afterAll(async () => {
  await ofApp.close()
  await own.close()
})
beforeEach(() => {
  allow = () => true
})

/** When the last sign-in was, in epoch seconds; before the first, long enough ago for one that stands. */
let time = Math.floor(Date.now() / 1000) - 1000
/** What the app's page does: it signs Ada in at a level, and leads back. */
const signInAtApp = async (agent: RawBrowser, page: Answer, acr: string): Promise<Answer> => {
  const asked = page.location ?? page.url
  expect(asked.pathname).toBe('/sign-in')
  time = Math.floor(Date.now() / 1000)
  agent.cookies.set('app_user', `1-${time}-${acr}`)
  const { html } = await agent.open(asked.searchParams.get('return_to') ?? 'about:blank')
  const [, link = ''] = /id="continue" href="([^"]+)"/.exec(html) ?? []
  return agent.open(link.replaceAll('&amp;', '&'))
}
const ofPage = ({ location, url }: Answer): Record<string, string> =>
  Object.fromEntries((location ?? url).searchParams)
const signedInAtApp = (): RawBrowser => {
  const agent = new RawBrowser(ofApp.app)
  agent.cookies.set('app_user', `1-${time - 500}-pwd`)
  return agent
}

describe('on the login page of the app', () => {
  const url = authorizeUrl({ client_id: 'web', scope: 'openid', state: 's' })
  const mfa: Allow = (_, { step }) => step !== 'authorize' || { acr: ['mfa', 'hardware'] }

  test('the page gets the levels, and the request goes on at one of them', async () => {
    allow = mfa
    const agent = signedInAtApp()
    const page = await agent.open(url)
    expect(ofPage(page)).toMatchObject({ prompt: 'login', acr_values: 'mfa hardware' })
    const { id_token } = await answerOf(redeem(ofApp, codeOf(await signInAtApp(agent, page, 'hardware'))))
    expect(claimsOf(id_token)).toMatchObject({ sub: '1', acr: 'hardware', auth_time: time })
    // The login has the level now.
    codeOf(await agent.open(url))
  })

  test('a user who was not signed in signs in once more if the first sign-in lacks the level', async () => {
    allow = mfa
    const agent = new RawBrowser(ofApp.app)
    const first = await agent.open(url)
    expect(ofPage(first)).not.toHaveProperty('acr_values')
    const second = await signInAtApp(agent, first, 'pwd')
    expect(ofPage(second)).toMatchObject({ prompt: 'login', acr_values: 'mfa hardware' })
    codeOf(await signInAtApp(agent, second, 'mfa'))
  })

  test('a sign-in that lacks the level ends the request, and the page is not asked again', async () => {
    allow = mfa
    const agent = signedInAtApp()
    const answer = await signInAtApp(agent, await agent.open(url), 'pwd')
    expect(ofPage(answer)).toMatchObject({ error: 'unmet_authentication_requirements', state: 's' })
  })

  test('prompt=none is no reason to leave: the client gets the error', async () => {
    allow = mfa
    const answer = await signedInAtApp().open(
      authorizeUrl({ client_id: 'web', scope: 'openid', prompt: 'none' }),
    )
    expect(answer.location?.href.startsWith(callback)).toBe(true)
    expect(ofPage(answer)).not.toHaveProperty('code')
  })
})

describe('before a device is connected', () => {
  const mfa: Allow = (_, { step }) => step !== 'device' || { acr: ['mfa'] }
  const connected = 'Your device is connected'
  /** The new login is asked again whether this is the user's device, and for consent. */
  const goOn = async (agent: RawBrowser, page: Answer): Promise<Answer> => {
    expect(textOf(page)).toContain('Is this your device?')
    const next = await agent.decide(page, 'allow')
    return next.url.pathname === '/oauth/consent' ? agent.decide(next, 'allow') : next
  }

  test('the user signs in with a second factor, and the device gets its tokens', async () => {
    allow = mfa
    const agent = new RawBrowser(own.app)
    const codes = await codesFor(own)
    const login = await agent.decide(await openCode(agent, codes.user_code), 'allow')
    expect(login.url.pathname).toBe('/oauth/login')
    const second = await agent.signIn(login)
    expect(second.url.pathname).toBe('/oauth/second-factor')
    const page = await agent.submit(second, 'name="code"', { code: '123456' })
    expect(textOf(await goOn(agent, page))).toContain(connected)
    const { id_token } = await answerOf(poll(own, codes))
    expect(claimsOf(id_token)).toMatchObject({ acr: 'mfa' })
  })

  test('the same on the login page of the app', async () => {
    allow = mfa
    const agent = signedInAtApp()
    const codes = await codesFor(ofApp)
    const page = await agent.decide(await typeCode(agent, codes.user_code), 'allow')
    expect(ofPage(page)).toMatchObject({ prompt: 'login', acr_values: 'mfa' })
    const back = await goOn(agent, await signInAtApp(agent, page, 'mfa'))
    expect(textOf(back)).toContain(connected)
    expect(claimsOf((await answerOf(poll(ofApp, codes))).id_token)).toMatchObject({ acr: 'mfa' })
  })

  test('a level that the sign-in does not reach connects nothing, and the device is told', async () => {
    allow = (_, { step }) => step !== 'device' || { acr: ['hardware'] }
    const agent = signedInAtApp()
    const codes = await codesFor(ofApp)
    const page = await agent.decide(await typeCode(agent, codes.user_code), 'allow')
    const answer = await signInAtApp(agent, page, 'pwd')
    expect(textOf(answer)).not.toContain(connected)
    expect((await poll(ofApp, codes)).body.error).toBe('access_denied')
  })
})
