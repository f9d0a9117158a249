import * as openid from 'openid-client'
import { field, openCommandLine } from '../support/command-line.ts'
import { freePort } from '../support/free-ports.ts'
import { openHostFolder } from '../support/host-folder.ts'
import { locationOf, RawBrowser } from '../support/raw-browser.ts'

const callback = 'https://shop.example.com/callback'
const app = `import express from 'express'
import { authRouter } from 'latchkey'

const app = express()
app.use('/oauth', authRouter())
app.listen(process.env.PORT)
`
const cli = openCommandLine()
const host = openHostFolder({ 'app.js': app })
afterAll(async () => {
  await cli.close()
  host.remove()
})

test('authRouter() needs no argument: after two commands openid-client signs a user in', async () => {
  const port = await freePort()
  await host.start('app.js', { PORT: String(port) })
  const ada = [
    '--username',
    'ada',
    '--name',
    'Ada Lovelace',
    '--email',
    'ada@example.com',
    '--email-verified',
  ]
  const user = await cli.succeed(host.path, ['user', 'create', ...ada], { input: 'correct horse battery' })
  const shop = ['--name', 'Shop', '--redirect-uri', callback]
  const { stdout } = await cli.succeed(host.path, ['client', 'create', ...shop])

  const origin = `http://localhost:${port}`
  const config = await openid.discovery(
    new URL(`${origin}/oauth`),
    field(stdout, 'client_id'),
    field(stdout, 'client_secret'),
    undefined,
    { execute: [openid.allowInsecureRequests] },
  )
  const verifier = openid.randomPKCECodeVerifier()
  const [state, nonce] = [openid.randomState(), openid.randomNonce()]
  const authorizationUrl = openid.buildAuthorizationUrl(config, {
    redirect_uri: callback,
    scope: 'openid profile email',
    code_challenge: await openid.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state,
    nonce,
  })
  const browser = new RawBrowser(origin, origin)
  const login = await browser.open(authorizationUrl.href)
  const consent = await browser.signIn(login, 'ada', 'correct horse battery')
  const back = locationOf(await browser.decide(consent, 'allow'))
  expect(back.href.startsWith(`${callback}?`)).toBe(true)

  const tokens = await openid.authorizationCodeGrant(config, back, {
    pkceCodeVerifier: verifier,
    expectedState: state,
    expectedNonce: nonce,
    idTokenExpected: true,
  })
  const subject = field(user.stdout, 'subject')
  const claims = { sub: subject, name: 'Ada Lovelace', email: 'ada@example.com', email_verified: true }
  expect(tokens.claims()).toMatchObject({
    ...claims,
    iss: `${origin}/oauth`,
    aud: field(stdout, 'client_id'),
    nonce,
    auth_time: expect.any(Number),
    at_hash: expect.any(String),
  })
  expect(await openid.fetchUserInfo(config, tokens.access_token, subject)).toMatchObject(claims)
  const refreshed = await openid.refreshTokenGrant(config, tokens.refresh_token ?? '')
  expect(refreshed.access_token).not.toBe(tokens.access_token)
})
