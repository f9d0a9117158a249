import { createServer } from 'node:net'
import type { HostUser, Organization } from '../../lib/index.ts'
import { authorizeUrl, type Host, startHost } from '../support/host.ts'
import { codeOf, expectErrorPage, expectUnavailable } from '../support/outcomes.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { answerOf, guarded, introspect, redeem, refresh, userinfo } from '../support/tokens.ts'

// The host's functions when a service that they need is unavailable: nothing is decided and nothing is lost.

const ada = { id: 1, username: 'ada@example.com', email: 'ada@example.com' }
const acme: Organization = { id: 'acme', name: 'Acme' }

/** Runs before each function of the host. */
type Fault = () => Promise<void>
const works: Fault = async () => {}
let fault: Fault = works
const logged: unknown[][] = []

/** Connects to a port on which no process listens. */
const refused = async (): Promise<void> => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  if (typeof address === 'object') await fetch(`http://127.0.0.1:${address?.port}`)
}

const through =
  <Given extends unknown[], T>(answer: (...given: Given) => T) =>
  async (...given: Given): Promise<T> => {
    await fault()
    return answer(...given)
  }

let host: Host
beforeAll(async () => {
  host = await startHost({
    options: {
      limits: false,
      users: {
        find: through((id): HostUser | undefined => (id === '1' ? ada : undefined)),
        authenticate: through(({ password }: { password: string }) =>
          password === 'right' ? ada : undefined,
        ),
        claims: through(() => ({ email: ada.email })),
      },
      organizations: through(() => [acme]),
      logger: { info: () => {}, warn: () => {}, error: (...words) => void logged.push(words) },
    },
  })
})
afterAll(() => host.close())
afterEach(() => {
  fault = works
  logged.length = 0
})

/** A signed-in user with an unused code and the tokens of another code. */
const begun = async () => {
  const browser = new RawBrowser(host.app)
  const scope = 'openid email notes:read offline_access'
  const request = authorizeUrl({ client_id: 'web', scope })
  const tokens = await answerOf(redeem(host, codeOf(await browser.grant(request, ada.username, 'right'))))
  const code = codeOf(await browser.get(authorizeUrl({ client_id: 'web', scope: 'openid', prompt: 'none' })))
  return { browser, tokens, code, request }
}

const wrong = async (): Promise<void> => {
  throw new TypeError('row is undefined')
}

describe.each<[string, Fault, number]>([
  ['refuses connections', refused, 503],
  ['is wrong', wrong, 500],
])('while the function of the host %s', (_, cause, status) => {
  const error = status === 503 ? 'temporarily_unavailable' : 'server_error'

  test('clients and APIs get the error, and their tokens work afterwards', async () => {
    const { tokens, code } = await begun()
    const { access_token, refresh_token } = tokens
    fault = cause
    for (const asking of [
      redeem(host, code),
      refresh(host, refresh_token),
      userinfo(host, access_token),
      introspect(host, access_token),
      introspect(host, refresh_token),
      guarded(host, access_token),
    ]) {
      const { status: got, body, headers } = await asking
      expect({ got, body }).toEqual({
        got: status,
        body: {
          error,
          error_description: expect.stringMatching(/^the (service|server) [a-z ]+$/),
          error_id: expect.stringMatching(/^[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{2}$/),
        },
      })
      expect(headers['retry-after']).toBe(status === 503 ? '1' : undefined)
      expect(headers['www-authenticate']).toBeUndefined()
    }
    fault = works
    await redeem(host, code).expect(200)
    await refresh(host, refresh_token).expect(200)
    await userinfo(host, access_token).expect(200, { sub: '1', email: ada.email, org_id: 'acme' })
    const failed = { message: 'latchkey: users.find failed', cause: expect.anything() }
    expect(logged.map(([, reason]) => reason)).toContainEqual(expect.objectContaining(failed))
  })

  test('the user sees a page, and signs in afterwards', async () => {
    const browser = new RawBrowser(host.app)
    const login = await browser.open(authorizeUrl({ client_id: 'web', scope: 'openid', prompt: 'consent' }))
    fault = cause
    const refused = await browser.signIn(login, ada.username, 'right')
    if (status === 503) expectUnavailable(refused)
    else expectErrorPage(refused, status)
    fault = works
    const consent = await browser.signIn(login, ada.username, 'right')
    fault = cause
    expectErrorPage(await browser.decide(consent, 'allow'), status)
    expectErrorPage(await browser.open('/oauth/account'), status)
    fault = works
    codeOf(await browser.decide(consent, 'allow'))
  })
})
