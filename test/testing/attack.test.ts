import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import express, { type Express, type Request, type RequestHandler } from 'express'
import session from 'express-session'
import helmet from 'helmet'
import type { Attack } from '../../lib/tools/testing/attack.ts'
import { attacks } from '../../lib/tools/testing/attacks/index.ts'
import { type AttackOptions, attack } from '../../lib/tools/testing/index.ts'
import { runAttacks } from '../../lib/tools/testing/run.ts'
import { type AttackedHost, attackHost, attackOptions, expectFindings } from '../support/attacked-host.ts'
import { type Host, startHost } from '../support/host.ts'
import { testsAll } from '../support/sample.ts'

const sessions = (cookie: session.CookieOptions = {}): RequestHandler =>
  session({
    secret: 'of the host',
    resave: false,
    saveUninitialized: true,
    name: 'host.sid',
    cookie: { sameSite: 'lax', ...cookie },
  })

const https = 'https://id.example.com/apps/oauth'
const native = (redirect_uri: string): Partial<AttackOptions> => ({
  client: { client_id: 'native', redirect_uri, scope: 'openid offline_access notes:read' },
})

const { client_id, client_secret, redirect_uri } = attackOptions.client
const registered = { client_id, client_secret, redirect_uris: [redirect_uri], scope: 'email notes:read' }

/** A proxy that ends TLS and strips a prefix. */
const proxy = (app: Express): RequestListener => {
  app.set('trust proxy', 1)
  return (req, res) => {
    req.url = req.url?.replace(/^\/apps(?=\/)/, '')
    app(req, res)
  }
}

interface Sound extends AttackedHost {
  /** Attacks that are skipped there, with the reason. */
  readonly skips?: Record<string, unknown>
  /** Attacks for which it matters what is special about this host. */
  readonly meets?: RegExp
}

const ofTls = /cookie|https|host|forged|session/
const ofClients = /code|client|redirect|refresh|nonce|token/

const hosts: Record<string, Sound> = {
  'mounted at /oauth': {
    skips: {
      'the host’s login page as an open redirector': 'the login page is Latchkey’s',
      'plain http under an https issuer': 'the issuer is http',
    },
  },
  'given as the path of its mount': { told: { issuer: '/oauth' } },
  'mounted at /': { mount: '/', told: { issuer: 'http://localhost:3000' } },
  'mounted in a nested path': {
    mount: '/v1/id/oauth',
    told: { issuer: 'http://localhost:3000/v1/id/oauth' },
  },
  'with helmet, body parsers and a session of its own': {
    before: [helmet(), express.json(), express.urlencoded({ extended: true }), sessions()],
    options: { session: 'host' },
    meets: /body|bodies|JSON|forged|session|pages|content|cookie|form-action/,
  },
  'behind a proxy that ends TLS and strips a prefix': {
    meets: ofTls,
    around: proxy,
    options: { issuer: https },
    told: { issuer: https },
  },
  'with a Secure session behind such a proxy': {
    meets: ofTls,
    around: proxy,
    before: [sessions({ secure: true })],
    options: { issuer: https, session: 'host' },
    told: { issuer: https, headers: { 'x-forwarded-proto': 'https', 'X-Forwarded-For': '203.0.113.7' } },
  },
  'whose client is public, at an https address': {
    meets: ofClients,
    told: {
      ...native('https://client.example.com/callback'),
      otherClient: undefined,
      api: undefined,
      wrongPasswords: false,
    },
    skips: {
      'codes and tokens used by another client': expect.stringContaining('otherClient'),
      'the API of the host without an access token in the header': expect.stringContaining('api'),
      'guessing passwords': 'wrongPasswords is false',
      'a client without its secret, with a wrong one, or with two': 'the client is public',
    },
  },
  'whose client is public, at a loopback address': { told: native('http://127.0.0.1/callback') },
  'whose client is public, at a private-use scheme': {
    meets: ofClients,
    told: native('com.example.app:/callback'),
  },
  'whose client sends its secret in the form, and gets neither an ID token nor a refresh token': {
    meets: ofClients,
    clients: [
      {
        ...registered,
        token_endpoint_auth_method: 'client_secret_post',
        grant_types: ['authorization_code'],
      },
    ],
    told: { client: { ...attackOptions.client, scope: 'email notes:read' }, otherClient: undefined },
    skips: {
      'the nonce in the ID token': 'the client does not ask for openid',
      'userinfo without an access token in the header': 'the client does not ask for openid',
      'a refresh token used again': 'the client gets no refresh token',
    },
  },
  'whose client needs no consent': {
    meets: ofClients,
    skips: { 'a refresh token used again': 'the client is registered without rotation' },
    clients: [
      {
        ...registered,
        redirect_uris: [redirect_uri, `${redirect_uri}/`],
        scope: 'openid notes:read',
        first_party: true,
        refresh_token_rotation: false,
      },
    ],
    told: {
      client: { ...attackOptions.client, redirect_uris: [`${redirect_uri}/`] },
      otherClient: undefined,
      api: undefined,
    },
  },
}

/** The first host meets every attack, each other one every third and what concerns it; all with TEST_ALL=1. */
const attacksOn = (place: number, { skips = {}, meets }: Sound): readonly Attack[] =>
  place === 0 || testsAll
    ? attacks
    : attacks.filter(
        ({ name }, index) => index % 3 === place % 3 || name in skips || (meets?.test(name) ?? false),
      )

describe('the report has no finding, and says what was skipped, for a host', () => {
  const listed = Object.entries(hosts).map(([is, host], place) => [is, place, host] as const)
  test.each(listed)('%s', async (_, place, host) => {
    const tried = attacksOn(place, host)
    const { skips = {} } = host
    const report = await attackHost(host, tried)
    expectFindings(report, {})
    expect(report.passed.length + report.skipped.length).toBe(tried.length)
    expect(report.passed.length).toBeGreaterThan(tried.length / 2)
    expect(Object.fromEntries(report.skipped.map(({ attack: name, why }) => [name, why]))).toMatchObject(
      skips,
    )
  })
})

test('an API that leads browsers to its sign-in page, and refuses programs, is no finding', async () => {
  const some = attacks.filter(({ name }) => name.startsWith('the API of the host'))
  const leading: RequestHandler = (req, res, next) => {
    const isPage = req.path === '/api/notes' && req.headers.authorization === undefined
    if (isPage && req.accepts('html', 'json') === 'html') res.redirect('/sign-in')
    else next()
  }
  expectFindings(await attackHost({ before: [leading] }, some), {})
})

test('with statelessLogin a signed cookie that stays valid is a note in the report, no finding', async () => {
  const name = 'session fixation: cookies of an earlier sign-in'
  const some = attacks.filter((one) => one.name === name)
  // The cookie is the login: whoever has a copy is the user.
  const current = ({ req }: { req: Request }) => {
    const [, id] = /(?:^|; )user=(\d+)/.exec(req.headers.cookie ?? '') ?? []
    return id === undefined ? undefined : { subject: id, authTime: Math.floor(Date.now() / 1000) - 60 }
  }
  const settings: AttackedHost = {
    options: {
      session: 'own',
      login: {
        current,
        remember: ({ id }, { res }) => void res.cookie('user', id, { httpOnly: true, sameSite: 'lax' }),
        forget: ({ res }) => void res.clearCookie('user'),
      },
    },
  }
  const found = await attackHost(settings, some)
  expect(found.findings.map((each) => each.attack)).toEqual([name])
  expect(found.findings[0]?.remedy).toContain('set statelessLogin: true')
  const report = await attackHost({ ...settings, told: { statelessLogin: true } }, some)
  expect(report.findings).toEqual([])
  expect(String(report)).toContain('a stolen copy of the cookie stays valid until it expires')
})

describe('the app', () => {
  let host: Host
  beforeAll(async () => {
    host = await startHost()
  })
  afterAll(() => host.close())

  test('may listen already', async () => {
    const server = createServer(host.app)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const some = attacks.filter(({ name }) => name === 'a code used twice')
    const { findings, passed } = await runAttacks(some, `http://127.0.0.1:${port}`, attackOptions)
    expect({ findings, passed }).toEqual({ findings: [], passed: ['a code used twice'] })
    const served = await fetch(`http://127.0.0.1:${port}/oauth/jwks`)
    expect(served.status).toBe(200)
    await new Promise((resolve) => {
      server.close(resolve)
      server.closeAllConnections()
    })
  })

  test('may be attacked again and again: wrong passwords lock no address that somebody uses', async () => {
    const some = attacks.filter(({ name }) => name === 'guessing passwords')
    for (let run = 0; run < 5; run += 1) {
      const { findings, passed } = await runAttacks(some, host.app, attackOptions)
      expect({ findings, passed }).toEqual({ findings: [], passed: ['guessing passwords'] })
    }
  })

  test('at localhost has one address, which is not locked unless the number is set', async () => {
    const server = createServer(host.app)
    await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve))
    const { port } = server.address() as AddressInfo
    const some = attacks.filter(({ name }) => name === 'guessing passwords')
    const run = (told: Partial<AttackOptions>) =>
      runAttacks(some, `http://localhost:${port}`, { ...attackOptions, ...told })
    const { skipped } = await run({})
    expect(skipped[0]?.why).toContain('set wrongPasswords to the number')
    expect((await run({ wrongPasswords: 5 })).passed).toEqual(['guessing passwords'])
    await new Promise((resolve) => {
      server.close(resolve)
      server.closeAllConnections()
    })
  })

  test.each([
    'https://id.example.com',
    'http://id.example.com:3000',
    'http://192.168.1.4:3000',
    'http://localhost.example.com',
    'http://user@attacker.example',
    'http://0.0.0.0:3000',
    'http://[::]:3000',
    'ftp://localhost',
    'localhost:3000',
    'x',
  ])('is refused at %s, before any request', async (address) => {
    await expect(attack(address, attackOptions)).rejects.toThrow(/localhost|Express app/)
    if (URL.canParse(address)) await expect(attack(new URL(address), attackOptions)).rejects.toThrow()
  })

  test.each([
    [{ issuer: undefined }, 'issuer is required'],
    [{ issuer: 'oauth' }, 'issuer must be a URL, or the path of the mount'],
    [{ client: undefined }, 'client is required'],
    [{ client: { client_id: 'web' } }, 'client.redirect_uri is required'],
    [
      { client: { ...attackOptions.client, redirect_uri: 'callback' } },
      'client.redirect_uri must be a redirect URI of the client, a URL',
    ],
    [{ client: { ...attackOptions.client, secret: 'x' } }, 'client.secret is not an option'],
    [{ user: { username: 'ada@example.com' } }, 'user.password is required'],
    [{ wrongPassword: 5 }, 'wrongPassword is not an option; did you mean wrongPasswords?'],
    [{ wrongPasswords: 0 }, 'wrongPasswords must be a whole number, at least 1'],
    [{ login: 'x' }, 'login must be a function'],
    [{ otherClient: {} }, 'otherClient.client_id is required'],
  ])('is not touched with the options %j', async (changes, message) => {
    const options = { ...attackOptions, ...changes } as AttackOptions
    await expect(attack(host.app, options)).rejects.toThrow(message)
  })

  const { client, user } = attackOptions
  test.each([
    ['a wrong password', { user: { ...user, password: 'x' } }, /expected a code from .*login/],
    [
      'an unknown client',
      { client: { ...client, client_id: 'unknown-client' } },
      /expected a code from .*400/,
    ],
    [
      'an unregistered redirect URI',
      { client: { ...client, redirect_uri: 'https://x.example/' } },
      /expected a code/,
    ],
    ['a wrong secret', { client: { ...client, client_secret: 'x' } }, /the client was refused: 401/],
    [
      'another mount',
      { issuer: '/auth' },
      /GET \/auth\/\.well-known.* answered 404.*Is the router mounted there/,
    ],
    [
      'another issuer',
      { issuer: 'http://localhost:3001/oauth' },
      /the issuer of the app is http:\/\/localhost:3000\/oauth, not/,
    ],
  ])('is not attacked with %s, since everything would seem to be refused', async (_, changes, message) => {
    await expect(attack(host.app, { ...attackOptions, ...changes })).rejects.toThrow(message)
  })

  test('is not attacked behind a limit on requests, which would pass for a defence', async () => {
    const limited = express().use((_req, res) => void res.status(429).send('slow down'))
    await expect(attack(limited, attackOptions)).rejects.toThrow('answered 429 slow down')
  })

  test('that ends is an error that names the attack, not one finding for each', async () => {
    const server = createServer(host.app).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const named = (name: string, run: Attack['run']): Attack => ({
      name,
      source: '',
      expected: '',
      remedy: '',
      run,
    })
    const fatal = named('the last one', async (target) => {
      server.close()
      server.closeAllConnections()
      await target.browser().get('/')
      return []
    })
    const attacks = [fatal, named('never', async () => [])]
    const attacked = runAttacks(attacks, `http://127.0.0.1:${port}`, attackOptions)
    await expect(attacked).rejects.toThrow(/the app no longer listens.*“the last one”.*ECONNREFUSED/)
  })

  test('that hangs up ends the attack', async () => {
    const rude: RequestListener = (req) => void req.socket.destroy()
    await expect(attack(rude, attackOptions)).rejects.toThrow('got no response: Error: socket hang up')
  })
})
