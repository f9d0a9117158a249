/** The facts on which the code of an app depends. */
export interface SnippetClient {
  readonly issuer: string
  readonly clientId: string
  /** The one that the code uses: the first that the client registered. */
  readonly redirectUri: string
  readonly scopes: readonly string[]
  /** It has no secret. */
  readonly isPublic: boolean
}

/** Code that signs people in with one library. */
interface Snippet {
  /** The name of the npm package, which is also the name of the snippet. */
  readonly library: string
  /** Packages that the app installs. */
  readonly packages: readonly string[]
  /** Whether it works without a secret. */
  readonly allowsPublic: boolean
  readonly code: (client: SnippetClient) => string
}

const text = (value: string): string => `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`

const scopeOf = ({ scopes }: SnippetClient): string => text(scopes.join(' '))

const isPlain = ({ issuer }: SnippetClient): boolean => issuer.startsWith('http:')

/** Where the code listens, and which paths it has. */
const placeOf = ({ redirectUri }: SnippetClient) => {
  const { origin, pathname, port } = new URL(redirectUri)
  return { origin: text(origin), callback: text(pathname), port: port === '' ? '3000' : port }
}

const withSession = `const app = express()
app.use(session({ secret: process.env.SESSION_SECRET, resave: false, saveUninitialized: false }))`

const openidClient: Snippet = {
  library: 'openid-client',
  packages: ['openid-client', 'express', 'express-session'],
  allowsPublic: true,
  code: (client) => {
    const { callback, port } = placeOf(client)
    const authentication = client.isPublic ? 'undefined, client.None()' : 'process.env.CLIENT_SECRET'
    const plain = `${client.isPublic ? '' : ', undefined'}, { execute: [client.allowInsecureRequests] }`
    return `import express from 'express'
import session from 'express-session'
import * as client from 'openid-client'

const server = new URL(${text(client.issuer)})
const config = await client.discovery(server, ${text(client.clientId)}, ${authentication}${isPlain(client) ? plain : ''})
const redirectUri = ${text(client.redirectUri)}

${withSession}

app.get('/login', async (req, res) => {
  const verifier = client.randomPKCECodeVerifier()
  const state = client.randomState()
  req.session.login = { verifier, state }
  const url = client.buildAuthorizationUrl(config, {
    redirect_uri: redirectUri,
    scope: ${scopeOf(client)},
    state,
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  })
  res.redirect(url.href)
})

app.get(${callback}, async (req, res) => {
  const { verifier, state } = req.session.login ?? {}
  const tokens = await client.authorizationCodeGrant(config, new URL(req.originalUrl, redirectUri), {
    pkceCodeVerifier: verifier,
    expectedState: state,
  })
  res.send('Hello, ' + tokens.claims()?.sub)
})

app.listen(process.env.PORT ?? ${port})`
  },
}

const expressOpenidConnect: Snippet = {
  library: 'express-openid-connect',
  packages: ['express-openid-connect', 'express'],
  allowsPublic: false,
  code: (client) => {
    const { origin, callback, port } = placeOf(client)
    return `import express from 'express'
import openid from 'express-openid-connect'

const { auth, requiresAuth } = openid
const app = express()
app.use(
  auth({
    issuerBaseURL: ${text(client.issuer)},
    baseURL: ${origin},
    clientID: ${text(client.clientId)},
    clientSecret: process.env.CLIENT_SECRET,
    secret: process.env.SESSION_SECRET,
    authRequired: false,
    authorizationParams: { response_type: 'code', response_mode: 'query', scope: ${scopeOf(client)} },
    routes: { callback: ${callback} },
  }),
)

app.get('/', requiresAuth(), (req, res) => res.send('Hello, ' + req.oidc.user.sub))

app.listen(process.env.PORT ?? ${port})`
  },
}

const passportOpenidConnect: Snippet = {
  library: 'passport-openidconnect',
  packages: ['passport-openidconnect', 'passport', 'express', 'express-session'],
  allowsPublic: false,
  code: (client) => {
    const { callback, port } = placeOf(client)
    const scopes = client.scopes.filter((scope) => scope !== 'openid').map(text)
    return `import express from 'express'
import session from 'express-session'
import passport from 'passport'
import { Strategy } from 'passport-openidconnect'

passport.use(
  new Strategy(
    {
      issuer: ${text(client.issuer)},
      authorizationURL: ${text(`${client.issuer}/authorize`)},
      tokenURL: ${text(`${client.issuer}/token`)},
      userInfoURL: ${text(`${client.issuer}/userinfo`)},
      clientID: ${text(client.clientId)},
      clientSecret: process.env.CLIENT_SECRET,
      callbackURL: ${text(client.redirectUri)},
      scope: [${scopes.join(', ')}],
    },
    (issuer, profile, done) => done(null, profile),
  ),
)
passport.serializeUser((user, done) => done(null, user))
passport.deserializeUser((user, done) => done(null, user))

${withSession}
app.use(passport.session())

app.get('/login', passport.authenticate('openidconnect'))
app.get(${callback}, passport.authenticate('openidconnect'), (req, res) => res.send('Hello, ' + req.user.id))

app.listen(process.env.PORT ?? ${port})`
  },
}

const arctic: Snippet = {
  library: 'arctic',
  packages: ['arctic', 'express', 'express-session'],
  allowsPublic: true,
  code: (client) => {
    const { callback, port } = placeOf(client)
    const secret = client.isPublic ? 'null' : 'process.env.CLIENT_SECRET'
    return `import { CodeChallengeMethod, decodeIdToken, generateCodeVerifier, generateState, OAuth2Client } from 'arctic'
import express from 'express'
import session from 'express-session'

const client = new OAuth2Client(${text(client.clientId)}, ${secret}, ${text(client.redirectUri)})
const [authorize, token] = [${text(`${client.issuer}/authorize`)}, ${text(`${client.issuer}/token`)}]
const scopes = ${scopeOf(client)}.split(' ')

${withSession}

app.get('/login', (req, res) => {
  const [state, verifier] = [generateState(), generateCodeVerifier()]
  req.session.login = { state, verifier }
  const method = CodeChallengeMethod.S256
  res.redirect(client.createAuthorizationURLWithPKCE(authorize, state, method, verifier, scopes).href)
})

app.get(${callback}, async (req, res) => {
  const { state, verifier } = req.session.login ?? {}
  if (req.query.state !== state) return res.status(400).send('Start again')
  const tokens = await client.validateAuthorizationCode(token, req.query.code, verifier)
  res.send('Hello, ' + decodeIdToken(tokens.idToken()).sub)
})

app.listen(process.env.PORT ?? ${port})`
  },
}

const oauth4webapi: Snippet = {
  library: 'oauth4webapi',
  packages: ['oauth4webapi', 'express', 'express-session'],
  allowsPublic: true,
  code: (client) => {
    const { callback, port } = placeOf(client)
    const options = isPlain(client) ? ', { [oauth.allowInsecureRequests]: true }' : ''
    const authentication = client.isPublic
      ? 'oauth.None()'
      : 'oauth.ClientSecretPost(process.env.CLIENT_SECRET)'
    return `import express from 'express'
import session from 'express-session'
import * as oauth from 'oauth4webapi'

const issuer = new URL(${text(client.issuer)})
const server = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer${options}))
const client = { client_id: ${text(client.clientId)} }
const authentication = ${authentication}
const redirectUri = ${text(client.redirectUri)}

${withSession}

app.get('/login', async (req, res) => {
  const [state, verifier] = [oauth.generateRandomState(), oauth.generateRandomCodeVerifier()]
  req.session.login = { state, verifier }
  const url = new URL(server.authorization_endpoint)
  url.search = new URLSearchParams({
    client_id: client.client_id,
    response_type: 'code',
    redirect_uri: redirectUri,
    scope: ${scopeOf(client)},
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  })
  res.redirect(url.href)
})

app.get(${callback}, async (req, res) => {
  const { state, verifier } = req.session.login ?? {}
  const parameters = oauth.validateAuthResponse(server, client, new URL(req.originalUrl, redirectUri), state)
  const response = await oauth.authorizationCodeGrantRequest(
    ...[server, client, authentication, parameters, redirectUri, verifier${options}],
  )
  const tokens = await oauth.processAuthorizationCodeResponse(server, client, response)
  res.send('Hello, ' + oauth.getValidatedIdTokenClaims(tokens)?.sub)
})

app.listen(process.env.PORT ?? ${port})`
  },
}

const simpleOauth2: Snippet = {
  library: 'simple-oauth2',
  packages: ['simple-oauth2', 'express', 'express-session'],
  allowsPublic: false,
  code: (client) => {
    const { callback, port } = placeOf(client)
    const { origin, pathname } = new URL(client.issuer)
    const base = pathname === '/' ? '' : pathname
    return `import { randomBytes } from 'node:crypto'
import express from 'express'
import session from 'express-session'
import { AuthorizationCode } from 'simple-oauth2'

const client = new AuthorizationCode({
  client: { id: ${text(client.clientId)}, secret: process.env.CLIENT_SECRET },
  auth: {
    tokenHost: ${text(origin)},
    authorizePath: ${text(`${base}/authorize`)},
    tokenPath: ${text(`${base}/token`)},
  },
})
const redirectUri = ${text(client.redirectUri)}

${withSession}

app.get('/login', (req, res) => {
  req.session.state = randomBytes(16).toString('hex')
  const request = { redirect_uri: redirectUri, scope: ${scopeOf(client)}, state: req.session.state }
  res.redirect(client.authorizeURL(request))
})

app.get(${callback}, async (req, res) => {
  if (req.query.state !== req.session.state) return res.status(400).send('Start again')
  const { token } = await client.getToken({ code: req.query.code, redirect_uri: redirectUri })
  const headers = { Authorization: 'Bearer ' + token.access_token }
  const user = await fetch(${text(`${client.issuer}/userinfo`)}, { headers })
  res.send('Hello, ' + (await user.json()).sub)
})

app.listen(process.env.PORT ?? ${port})`
  },
}

const snippets: readonly Snippet[] = [
  openidClient,
  expressOpenidConnect,
  passportOpenidConnect,
  arctic,
  oauth4webapi,
  simpleOauth2,
]

/** The libraries for which there is code for a client. */
export const snippetsFor = ({ isPublic }: Pick<SnippetClient, 'isPublic'>): readonly Snippet[] =>
  snippets.filter(({ allowsPublic }) => allowsPublic || !isPublic)
