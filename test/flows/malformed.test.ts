import { Agent, type IncomingHttpHeaders, request } from 'node:http'
import type { AuthRouterOptions, ClientSeed } from '../../lib/index.ts'
import { openServer, type TestServer } from '../support/client-server.ts'
import { authorizeUrl, callback, clients, type Host, pkce, secret, startHost } from '../support/host.ts'
import { codeOf } from '../support/outcomes.ts'
import { fc } from '../support/property.ts'
import { type Answer, fieldsOf, formOf, RawBrowser } from '../support/raw-browser.ts'
import { testsAll } from '../support/sample.ts'
import { assertion, type ClientKey, createClientKey } from '../support/signing-client.ts'
import { answerOf, redeem, userinfo } from '../support/tokens.ts'
import { type MalformedRequest, malformedRequest } from './malformed-requests.ts'

const count = testsAll ? 4000 : 400
/** After so many requests there is a new login with new codes and tokens, since some requests use the old ones up. */
const round = 200
const atOnce = 24
/** Longest answer; the stylesheet is the largest. */
const longest = 200_000
/** Milliseconds after which there is no answer. */
const timeoutMs = 20_000

/** The same requests each time, so that only a change of the code makes it fail; another seed finds others. */
const seed = Number(process.env.MALFORMED_SEED ?? 20_261_121)
const signedOut = 'https://client.example.com/signed-out'
const registered = [callback, 'http://127.0.0.1/callback', 'com.example.app:/callback', signedOut]

let key: ClientKey
let host: Host
let server: TestServer
const agent = new Agent({ keepAlive: true, maxSockets: atOnce })
const logged: unknown[] = []
const rejections: unknown[] = []
const onRejection = (reason: unknown): void => {
  rejections.push(reason)
}

beforeAll(async () => {
  process.on('unhandledRejection', onRejection)
  key = await createClientKey('ES256')
  const [web, native] = clients
  const response_types: ClientSeed['response_types'] = ['code', 'token', 'id_token', 'code id_token token']
  const options: Partial<AuthRouterOptions> = {
    protocol: { implicit: true },
    limits: false,
    logger: { info: () => {}, warn: () => {}, error: (...words: unknown[]) => void logged.push(words) },
  }
  host = await startHost({
    options,
    clients: [
      {
        ...web!,
        response_types,
        grant_types: [...web!.grant_types!, 'implicit'],
        post_logout_redirect_uris: [signedOut],
      },
      native!,
      {
        client_id: 'signer',
        token_endpoint_auth_method: 'private_key_jwt',
        grant_types: ['client_credentials'],
        jwks: { keys: [key.publicJwk] } as (typeof clients)[0]['jwks'],
        scope: 'notes:read',
      },
    ],
  })
  server = await openServer()
  server.serve(host.app)
})
afterAll(async () => {
  process.off('unhandledRejection', onRejection)
  agent.destroy()
  await server.close()
  await host.close()
})

const browser = () => new RawBrowser(server.origin)
const cookieOf = ({ cookies }: RawBrowser): string =>
  [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
const scope = 'openid profile email notes:write offline_access'
const web = { client_id: 'web', scope, state: 's', nonce: 'n' }
const challenged = (verifier: string) => {
  return { code_challenge: pkce(verifier).challenge, code_challenge_method: 'S256' }
}
const waitingId = (page: Answer): string => page.url.searchParams.get('authorization_request') ?? ''

/** A new login, a code, tokens, and requests that wait for login and consent: what `$NAME` stands for. */
const circumstances = async (): Promise<Record<string, string>> => {
  const signedIn = browser()
  const verifier = 'v'.repeat(43)
  const request = { ...web, ...challenged(verifier) }
  const [first, other] = [await signedIn.grant(authorizeUrl(web)), await signedIn.grant(authorizeUrl(web))]
  const tokens = await answerOf(redeem(host, codeOf(first)))
  const others = await answerOf(redeem(host, codeOf(other)))
  const code = codeOf(await signedIn.grant(authorizeUrl(request)))
  const [login, consent] = [browser(), browser()]
  const loginPage = await login.open(authorizeUrl(web))
  const consentPage = await consent.signIn(await consent.open(authorizeUrl({ ...web, prompt: 'consent' })))
  const logoutPage = await signedIn.open('/oauth/logout?client_id=web')
  return {
    CALLBACK: callback,
    SIGNED_OUT: signedOut,
    SECRET: secret,
    BASIC: Buffer.from(`web:${secret}`).toString('base64'),
    VERIFIER: verifier,
    CHALLENGE: pkce(verifier).challenge,
    COOKIE: cookieOf(signedIn),
    CODE: code,
    ACCESS_TOKEN: tokens.access_token,
    REFRESH_TOKEN: tokens.refresh_token,
    ID_TOKEN: tokens.id_token,
    OTHER_TOKEN: others.refresh_token,
    OTHER_ID_TOKEN: others.id_token,
    ASSERTION: await assertion('signer', key),
    LOGIN_REQUEST: waitingId(loginPage),
    LOGIN_CSRF: fieldsOf(loginPage, 'name="password"').csrf_token ?? '',
    LOGIN_COOKIE: cookieOf(login),
    CONSENT_REQUEST: waitingId(consentPage),
    CONSENT_CSRF: fieldsOf(consentPage, 'value="allow"').csrf_token ?? '',
    CONSENT_COOKIE: cookieOf(consent),
    LOGOUT_CSRF: fieldsOf(logoutPage, 'name="csrf_token"').csrf_token ?? '',
  }
}

interface Received {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

const send = (sent: MalformedRequest, again = false): Promise<Received> =>
  new Promise((resolve, reject) => {
    const { method, target, headers, body } = sent
    const length = body === undefined ? {} : { 'Content-Length': Buffer.byteLength(body) }
    const url = new URL(server.origin)
    const outgoing = request(
      {
        host: url.hostname,
        port: url.port,
        agent,
        method,
        path: target,
        timeout: timeoutMs,
        headers: { ...headers, ...length, Host: 'localhost:3000' },
      },
      (res) => {
        const chunks: Buffer[] = []
        res.on('data', (chunk: Buffer) => chunks.push(chunk))
        res.on('error', reject)
        res.on('end', () => {
          const answer = Buffer.concat(chunks).toString('latin1')
          resolve({ status: res.statusCode ?? 0, headers: res.headers, body: answer })
        })
      },
    )
    outgoing.on('error', (error: NodeJS.ErrnoException) => {
      // The server may close an idle connection in the very moment in which it is used again.
      if (outgoing.reusedSocket && error.code === 'ECONNRESET' && !again)
        send(sent, true).then(resolve, reject)
      else reject(error)
    })
    outgoing.on('timeout', () => outgoing.destroy(new Error('no answer')))
    outgoing.end(body)
  })

const startsAt = (location: string, uri: string): boolean =>
  location.startsWith(uri) && /^(?:$|[?&#])/.test(location.slice(uri.length))

/** Our own pages by path, and what is registered; the port of a loopback address may be any (RFC 8252 §7.3). */
const mayLeadTo = (location: string): boolean =>
  /^\/oauth\/(?:account|authorize|login|consent|logout)(?:[?#]|$)/.test(location) ||
  registered.some((uri) => startsAt(location.replace(/^(http:\/\/127\.0\.0\.1):[0-9]{1,5}\//, '$1/'), uri))

// Exact in case and at word boundaries: a random token may well spell "econn".
const leaks =
  /node_modules|\bat \S+ \(|\bSQLITE_|\bSqlError\b|syntax error|\b(?:select|SELECT) .+ (?:from|FROM)\b|\bTypeError\b|\bECONN[A-Z]+\b/

/** What is wrong with an answer, whatever the request was. */
const faultOf = ({ status, headers, body }: Received, method: string | undefined): string | undefined => {
  if (status < 200 || status >= 500) return `status ${status}`
  if (body.length > longest) return `an answer of ${body.length} bytes`
  const { location } = headers
  if (location !== undefined && !mayLeadTo(location)) return `a redirect to ${location}`
  const mayLeadNowhere = status === 304 || method === 'HEAD'
  if (status >= 300 && status < 400 && !mayLeadNowhere && location === undefined)
    return 'a redirect to nowhere'
  if (body.includes('id="form-post"')) {
    const { action } = formOf(body, 'id="form-post"')
    if (!mayLeadTo(action)) return `a form to ${action}`
  }
  if (leaks.test(body)) return 'an answer that tells of the inside'
  return undefined
}

const filledIn = (text: string, values: Readonly<Record<string, string>>, write: (value: string) => string) =>
  // Longest names first, and also as they stand in a form.
  text.replace(/(?:\$|%24)([A-Z_]{4,})/g, (whole, name: string) => {
    const value = Object.hasOwn(values, name) ? values[name] : undefined
    return value === undefined ? whole : write(value)
  })

const realised = (template: MalformedRequest, values: Record<string, string>): MalformedRequest => ({
  method: template.method,
  // Node itself hangs up on a head of more than 16 kB, at times before its answer was read.
  target: filledIn(template.target, values, encodeURIComponent).slice(0, 8000),
  headers: Object.fromEntries(
    Object.entries(template.headers).map(([name, text]) => [name, filledIn(text, values, String)]),
  ),
  body: template.body === undefined ? undefined : filledIn(template.body, values, encodeURIComponent),
})

test(`${count} malformed requests are answered, none with 500, and none with a redirect to elsewhere`, async () => {
  const requests = fc.sample(malformedRequest, { seed, numRuns: count })
  const statuses = new Map<number, number>()
  for (let start = 0; start < count; start += round) {
    const values = await circumstances()
    const queue = requests.slice(start, start + round).map((template, index) => ({ template, index }))
    const work = async (): Promise<void> => {
      for (let next = queue.shift(); next; next = queue.shift()) {
        const sent = realised(next.template, values)
        const logsBefore = logged.length
        const outcome = await send(sent).then(
          (received) => ({ received, fault: faultOf(received, sent.method) }),
          (error: Error) => ({ received: undefined, fault: error.message }),
        )
        const fault = outcome.fault ?? (logged.length > logsBefore ? 'an error in the log' : undefined)
        if (fault !== undefined) {
          const { status, body } = outcome.received ?? {}
          const log = logged.slice(logsBefore).flat().map(String).join('\n')
          throw new Error(
            `MALFORMED_SEED=${seed}, request ${start + next.index}: ${fault}\n${JSON.stringify(sent, null, 1).slice(0, 6000)}\n${status} ${body?.slice(0, 500)}\n${log}`,
          )
        }
        const status = outcome.received?.status ?? 0
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
      }
    }
    await Promise.all(Array.from({ length: atOnce }, work))
  }
  if (process.env.MALFORMED_STATUSES) console.log(Object.fromEntries(statuses))
  // Both the almost right and the wholly wrong were among them.
  for (const status of [200, 303, 400, 401, 403, 405, 413, 415]) {
    expect({ status, seen: statuses.get(status) ?? 0 }).toEqual({ status, seen: expect.any(Number) })
    expect(statuses.get(status) ?? 0).toBeGreaterThan(0)
  }
  expect(rejections).toEqual([])

  const ada = browser()
  const done = await ada.grant(authorizeUrl(web))
  const tokens = await answerOf(redeem(host, codeOf(done)))
  expect((await userinfo(host, tokens.access_token)).body).toMatchObject({ sub: '1' })
  codeOf(await ada.get(authorizeUrl({ ...web, prompt: 'none' })))
}, 180_000)

test.each(['/oauth/assets/%ff', '/oauth/assets/style.css%zz', '/oauth/assets/%'])(
  'a path that cannot be decoded, %s, is answered with an error page without a stack',
  async (target) => {
    const received = await send({ method: 'GET', target, headers: {}, body: undefined })
    expect([received.status, faultOf(received, 'GET')]).toEqual([400, undefined])
    expect(received.body).toContain('id="error-id"')
  },
)
