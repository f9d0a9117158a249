// Every part of a host breaks while every kind of answer is given. Whatever a client then gets, the process must go on, and so
// must the other pages of the app. Each part is broken in a process of its own.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { request as send } from 'node:http'
import { join } from 'node:path'
import { compiledPackage } from '../support/compiled.ts'

const credentials = { client_id: 'web', client_secret: 'a secret of a client that is long' }
const asked = `client_id=web&response_type=code&code_challenge=${'c'.repeat(43)}&code_challenge_method=S256&scope=openid`
const form = (fields: Readonly<Record<string, string>>) => ({
  method: 'POST',
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
  body: `${new URLSearchParams(fields)}`,
})
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })
const register = {
  method: 'POST',
  headers: { authorization: 'Bearer initial', 'content-type': 'application/json' },
  body: JSON.stringify({ redirect_uris: ['https://client.example.com/callback'] }),
}

interface Asked {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** A request for each endpoint and kind of answer. */
const requests = (token: string): readonly [string, Asked?][] => [
  ['/oauth/authorize'],
  ['/oauth/authorize?client_id=unknown'],
  [`/oauth/authorize?${asked}`],
  [`/oauth/authorize?${asked}&prompt=none`],
  [`/oauth/authorize?${asked}&prompt=none&response_mode=form_post`],
  [`/oauth/authorize?${asked}&prompt=none&response_mode=jwt`],
  [`/oauth/authorize?${asked}`, { method: 'HEAD' }],
  ['/oauth/login'],
  ['/oauth/login?authorization_request=lk_ar_x'],
  ['/oauth/login', form({ username: 'ada', password: 'right' })],
  ['/oauth/consent?authorization_request=lk_ar_x'],
  ['/oauth/consent', form({ decision: 'allow' })],
  ['/oauth/account'],
  ['/oauth/logout'],
  ['/oauth/logout', form({ csrf_token: 'x' })],
  ['/oauth/assets/style.css'],
  ['/oauth/assets/none.css'],
  ['/oauth/assets/%E0%A4%A'],
  ['/oauth/token', form({})],
  ['/oauth/token', { method: 'DELETE' }],
  ['/oauth/token', { method: 'OPTIONS' }],
  ['/oauth/token', form({ ...credentials, grant_type: 'client_credentials' })],
  ['/oauth/token', form({ ...credentials, client_secret: 'wrong', grant_type: 'client_credentials' })],
  ['/oauth/token', form({ ...credentials, grant_type: 'urn:example:pin' })],
  ['/oauth/introspect', form({ ...credentials, token })],
  ['/oauth/revoke', form({ ...credentials, token: 'none' })],
  ['/oauth/userinfo'],
  ['/oauth/userinfo', bearer('lk_at_none')],
  ['/oauth/userinfo', bearer(token)],
  ['/oauth/register', register],
  ['/oauth/register', form({})],
  ['/oauth/jwks'],
  ['/oauth/.well-known/openid-configuration'],
  ['/.well-known/oauth-authorization-server/oauth'],
  ['/api'],
  ['/api', bearer('lk_at_none')],
  ['/api', bearer(token)],
  ['/limited', bearer('lk_at_none')],
  ['/limited', bearer(token)],
  ['/healthz'],
]

/** The status of an answer, or that the connection was closed. */
const outcomeOf = (port: number, path: string, { body, ...asked }: Asked = {}): Promise<number | 'closed'> =>
  new Promise((resolve, reject) => {
    const outgoing = send({ host: '127.0.0.1', port, path, agent: false, timeout: 5000, ...asked })
    outgoing
      .on('response', (answer) => {
        answer.resume().on('error', () => resolve('closed'))
        answer.on('close', () => resolve(answer.complete ? (answer.statusCode ?? 0) : 'closed'))
      })
      .on('timeout', () => reject(new Error(`${path} hangs`)))
      .on('error', () => resolve('closed'))
      .end(body)
  })

/** Starts the app of `broken-host.mjs`. */
const brokenHost = async (part: string) => {
  const program = join(__dirname, 'broken-host.mjs')
  const child: ChildProcess = fork(program, [compiledPackage(), part], { execArgv: [], silent: true })
  let printed = ''
  child.stdout?.on('data', (text) => {
    printed += text
  })
  child.stderr?.on('data', (text) => {
    printed += text
  })
  const ended = once(child, 'exit').then(() => undefined)
  const [told] = (await Promise.race([once(child, 'message'), ended])) ?? []
  if (told === undefined) throw new Error(`the app did not start: ${printed}`)
  const { port, token } = told as { port: number; token: string }
  const isAlive = () => child.exitCode === null && child.signalCode === null
  const close = async () => {
    child.kill()
    await ended
  }
  return { port, token, isAlive, close, printed: () => printed }
}

type Outcome = readonly [request: string, number | 'closed']

const outcomesOf = async (part: string): Promise<Outcome[]> => {
  const host = await brokenHost(part)
  try {
    const answers: Outcome[] = []
    for (const [path, asked] of requests(host.token)) {
      const outcome = await outcomeOf(host.port, path, asked)
      const name = `${asked?.method ?? 'GET'} ${path}`
      answers.push([name, outcome])
      const others = await outcomeOf(host.port, '/alive')
      if (others !== 200 || !host.isAlive()) throw new Error(`${name} ended the app: ${host.printed()}`)
    }
    return answers
  } finally {
    await host.close()
  }
}

const isServerError = (outcome: number | 'closed'): boolean => outcome === 'closed' || outcome >= 500
const failures = (answers: readonly Outcome[]): string[] =>
  answers.filter(([, outcome]) => isServerError(outcome)).map(([name]) => name)

let usual: Outcome[]
beforeAll(async () => {
  usual = await outcomesOf('nothing')
})

test('an app that works has one server error: its grant throws an error that no header can say', () => {
  expect(failures(usual)).toEqual(['POST /oauth/token'])
})

test.each([
  'templates',
  'the layout',
  'a logger that throws',
  'a logger that rejects',
  'listeners of events',
  'an error handler',
])('what %s cannot do changes no answer', async (part) => {
  expect(await outcomesOf(part)).toEqual(usual)
})

test.each([
  'functions that throw an OAuthError',
  'functions that throw undefined',
  'functions that throw what cannot be read',
])('%s are a server error wherever they are called', async (part) => {
  const answers = await outcomesOf(part)
  expect(failures(answers)).toEqual(
    expect.arrayContaining(['GET /oauth/account', 'GET /oauth/userinfo', 'POST /oauth/register', 'GET /api']),
  )
  expect(answers.filter(([, outcome]) => outcome === 'closed')).toEqual([])
})

test.each([
  'a hook that throws',
  'a hook that throws at errors',
  'an answer that is complete',
  'an answer that has begun',
  'an answer that another handler gives at once',
  'the session',
  'a session that throws',
  'a store of limits',
])('the app outlives %s', async (part) => {
  expect(await outcomesOf(part)).toHaveLength(usual.length)
})
