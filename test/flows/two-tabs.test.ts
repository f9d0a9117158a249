// Requests that wait in two tabs of one browser at the same time.
import { authorizeUrl, type Host, startHost } from '../support/host.ts'
import { codeOf, expectErrorPage, expectErrorRedirect, expectExpiredPage } from '../support/outcomes.ts'
import { type Answer, RawBrowser } from '../support/raw-browser.ts'
import { answerOf, redeem } from '../support/tokens.ts'

let host: Host
let browser: RawBrowser
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host.close())
beforeEach(() => {
  browser = new RawBrowser(host.app)
})

const asked = { client_id: 'web', prompt: 'consent' }
const notes = { scope: 'openid notes:read', state: 'of notes' }
const email = { scope: 'openid email', state: 'of e-mail' }
const open = (parameters: Readonly<Record<string, string>>): Promise<Answer> =>
  browser.open(authorizeUrl({ ...asked, ...parameters }))

/** The client has the answer to this very request, with a code for exactly what was asked for. */
const expectAnswered = async (answer: Answer, { scope, state }: typeof notes): Promise<void> => {
  expect(answer.location?.searchParams.get('state')).toBe(state)
  expect(await answerOf(redeem(host, codeOf(answer)))).toMatchObject({ scope })
}

test('both tabs finish, each with its own state and scopes, though one login renews the session', async () => {
  const [one, other] = [await open(notes), await open(email)]
  const first = await browser.signIn(one)
  const second = await browser.signIn(other)
  await expectAnswered(await browser.decide(second, 'allow'), email)
  await expectAnswered(await browser.decide(first, 'allow'), notes)
})

test('a tab at the login page continues after the login in the other', async () => {
  const [left, other] = [await open(notes), await open(email)]
  await expectAnswered(await browser.decide(await browser.signIn(other), 'allow'), email)
  await expectAnswered(await browser.decide(await browser.signIn(left), 'allow'), notes)
})

test('Cancel or an invalid request in one tab leaves the other as it is', async () => {
  const [left, other] = [await open(notes), await open(email)]
  const { state } = email
  expectErrorRedirect(await browser.decide(await browser.signIn(other), 'deny'), 'access_denied', { state })
  expectErrorRedirect(await open({ scope: 'notes:delete', state }), 'invalid_scope', { state })
  expectErrorPage(await open({ redirect_uri: 'https://elsewhere.example/' }), 400)
  await expectAnswered(await browser.decide(await browser.signIn(left), 'allow'), notes)
})

test('Allow on a copy of the page, or the login form sent again, shows that the request ended', async () => {
  const form = await open(notes)
  const page = await browser.signIn(form)
  const copy = await browser.open(page.url.href)
  await expectAnswered(await browser.decide(page, 'allow'), notes)
  expectExpiredPage(await browser.decide(copy, 'allow'), 'finished')
  expectExpiredPage(await browser.signIn(form), 'finished')
})
