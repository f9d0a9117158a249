import type { RequestHandler } from 'express'
import { attacks } from '../../lib/tools/testing/attacks/index.ts'
import { type AttackedHost, attackHost, expectFindings } from '../support/attacked-host.ts'
import { callback } from '../support/host.ts'
import { testsAll } from '../support/sample.ts'
import * as fault from './faults.ts'

/** The server and the attacks know the same https issuer. */
const https = {
  options: { issuer: 'https://id.example.com/oauth' },
  told: { issuer: 'https://id.example.com/oauth' },
}
/** The pages use the session of the app. */
const ofHost: AttackedHost = { options: { session: 'host' } }
const behindProxy = { ...https, around: fault.trustsOneProxy }

/** What is found, by the attack that finds it. */
type Found = Readonly<Record<string, RegExp>>
type Fault = RequestHandler | readonly RequestHandler[]

/** A host, the middleware that it has before the router, what is found, and its settings. */
type Row = [host: string, fault: Fault, found: Found, settings?: AttackedHost]

const hosts: Row[] = [
  [
    'whose session keeps its id at sign-in',
    [fault.sessions(), fault.keepsSessionId],
    {
      'session fixation: cookies from before the sign-in': /host\.sid/,
      'session fixation: cookies of an earlier sign-in': /host\.sid/,
    },
    ofHost,
  ],
  [
    'that repairs redirect URIs by parsing them',
    fault.changesParameter('redirect_uri', (uri) => (URL.canParse(uri) ? new URL(uri).href : uri)),
    { 'redirect URIs that resemble the registered one': /callback\\t": 303 Location: \/oauth\/login/ },
  ],
  [
    'that takes a redirect URI for the registered one if it begins like it',
    fault.changesParameter('redirect_uri', (uri) => (uri.startsWith(callback) ? callback : uri)),
    { 'redirect URIs that resemble the registered one': /callback\/": 303/ },
  ],
  [
    'that makes one parameter of two',
    fault.keepsLastParameter,
    { 'redirect URIs that are repeated, missing, or in brackets': /another, then the registered one: 303/ },
  ],
  [
    'that answers silent requests itself when something is wrong',
    fault.answersSilentErrors(callback),
    {
      'errors that would redirect to an unregistered address':
        /prompt=none .*302 Location: https:\/\/attacker/,
    },
  ],
  [
    'that shortens state',
    fault.changesParameter('state', (state) => state.slice(0, 255)),
    { 'state and iss in answers to the client': /state was/ },
  ],
  [
    'that changes the nonce',
    fault.changesParameter('nonce', (nonce) => nonce.toLowerCase()),
    { 'the nonce in the ID token': /became/ },
  ],
  [
    'that takes HEAD for GET',
    fault.takesHeadForGet,
    { 'a code with HEAD, PUT or DELETE': /^HEAD: 303 Location: https:\/\/client/ },
  ],
  [
    'whose proxy takes Origin and Sec-Fetch-Site away',
    fault.dropsRequestHeaders('origin', 'sec-fetch-site'),
    {
      'the sign-in form, forged': /by another site: 303/,
      'the consent form, forged': /by another site: 303/,
    },
  ],
  [
    'that knows browsers again by the request',
    fault.recognisesBrowsers(),
    { 'a pending request in another browser': /^\/login for a new browser: 200/ },
  ],
  [
    'that signs out by GET',
    [fault.sessions(), fault.signsOutByGet],
    { 'signing a user out from another site': /the user is signed out/ },
    ofHost,
  ],
  [
    'whose session cookie is not Secure, and is set for everybody',
    fault.sessions(),
    {
      'the attributes of cookies that identify a user': /^host\.sid is not Secure/,
      'plain http under an https issuer': /^host\.sid was set$/,
    },
    { ...behindProxy, options: { ...behindProxy.options, session: 'host' } },
  ],
  [
    'whose session cookie scripts can read and other sites send',
    fault.sessions({ cookie: { httpOnly: false, sameSite: 'none' } }),
    {
      'the attributes of cookies that identify a user':
        /^host\.sid is not HttpOnly, .*\nhost\.sid has SameSite=None, so the browser sends it with requests from other sites$/,
    },
    ofHost,
  ],
  [
    'whose proxy takes all attributes of cookies away',
    fault.changesHeader('set-cookie', (cookies) =>
      [cookies].flat().map((cookie) => `${cookie.split(';')[0]}; Path=/`),
    ),
    {
      'the attributes of cookies that identify a user': /__Host-latchkey_[0-9a-f]{8}_browser is not Secure/,
    },
    behindProxy,
  ],
  [
    'that takes every request for https',
    fault.takesEveryRequestForHttps,
    { 'plain http under an https issuer': /a sign-in page was served/ },
    https,
  ],
  [
    'whose proxy takes security headers away',
    fault.dropsHeaders('content-security-policy', 'x-frame-options'),
    {
      'the pages in a frame of another site':
        /the consent page: frame-ancestors missing or wider, X-Frame-Options missing/,
      'scripts of other origins in the pages': /the login page: Content-Security-Policy: none/,
    },
  ],
  [
    'that lets inline scripts run',
    fault.changesHeader('content-security-policy', (policy) =>
      String(policy).replace("script-src 'self'", "script-src 'self' 'unsafe-inline'"),
    ),
    { 'scripts of other origins in the pages': /unsafe-inline/ },
  ],
  [
    'whose proxy has content types guessed',
    fault.dropsHeaders('x-content-type-options'),
    { 'guessing at content types': /the error page: no X-Content-Type-Options/ },
  ],
  [
    'whose proxy adds a policy for the whole origin',
    fault.changesHeader('content-security-policy', (policy) => [String(policy), "form-action 'self'"]),
    { 'form-action and the redirect to the client': /the consent page: .*form-action 'self'$/ },
  ],
  [
    'whose content network caches',
    fault.setsHeader('cache-control', 'public, max-age=3600'),
    { 'responses that a cache would store': /the login page: Cache-Control: public, max-age=3600/ },
  ],
  [
    'with CORS and credentials for everybody',
    fault.allowsEveryOriginWithCookies,
    {
      'scripts of other origins with the user’s cookies':
        /GET \/oauth\/authorize from https:\/\/attacker\.example: Access-Control-Allow-Credentials: true, Access-Control-Allow-Origin: https:\/\/attacker\.example/,
    },
  ],
  [
    'with CORS for everybody',
    fault.allowsEveryOrigin,
    {
      'scripts of other origins with the user’s cookies':
        /GET \/oauth\/login from https:\/\/attacker\.example: Access-Control-Allow-Origin: \*/,
    },
  ],
  [
    'that makes links of the Host header',
    fault.linksToHostHeader,
    { 'another host in the headers': /^Host: 303 Location: http:\/\/attacker\.example\/oauth\/login/ },
  ],
  [
    'that believes X-Forwarded-Host',
    fault.believesForwardedHost,
    { 'another host in the headers': /^X-Forwarded-Host: the metadata was 200 .*attacker/ },
  ],
  [
    'whose gateway completes form bodies',
    fault.completesForms(callback),
    {
      'a code with the wrong verifier or redirect URI':
        /redirect_uri with a trailing slash: 200.*\n?.*the honest client: 400/s,
    },
  ],
  [
    'whose gateway repeats answers of POST',
    fault.repeatsAnswers(),
    {
      'a code used twice': /the second time: 200 .*\nthe first access token is still valid/,
      'a code used ten times at once': /\d of ten succeeded/,
      'a refresh token used again': /the first one again: 200/,
    },
  ],
  [
    'whose gateway drops scopes it does not know',
    fault.dropsUnknownScopes,
    { 'a refresh that asks for more': /^200/ },
  ],
  [
    'whose gateway vouches for every client',
    fault.vouchesForClients,
    {
      'codes and tokens used by another client':
        /the code: 200 .*\nthe refresh token: 200 .*\nit could revoke/,
      'a client without its secret, with a wrong one, or with two': /a wrong secret: 400 .*invalid_grant/,
      'client credentials in the URL': /POST with the credentials in the query: 400 .*invalid_grant/,
      'introspection without a client': /without a client: 200/,
    },
  ],
  [
    'that merges queries into bodies',
    fault.mergesQueryIntoForm,
    {
      'userinfo without an access token in the header': /^the token in the query of a POST: 200 [^\n]*$/,
      'client credentials in the URL': /POST with the credentials in the query: 400 .*invalid_grant/,
    },
  ],
  [
    'that takes tokens from queries',
    fault.takesTokensFromQueries,
    {
      'userinfo without an access token in the header': /the token in the query: 200/,
      'the API of the host without an access token in the header': /the token in the query: 200/,
    },
  ],
  [
    'with a route of its API before the guard',
    fault.answersBeforeGuard,
    { 'the API of the host without an access token in the header': /no token: 200/ },
  ],
  [
    'with an API that refuses everybody',
    [],
    { 'the API of the host without an access token in the header': /the honest client: 404/ },
    { told: { api: '/api/nothing' } },
  ],
  [
    'that takes JSON for a form',
    fault.takesJsonForForm,
    {
      'bodies that a parser before the router could misread': /as JSON: 200/,
      'a sign-in as JSON': /303 Location: [\s\S]*the browser is signed in/,
    },
  ],
  [
    'with middleware that throws',
    fault.throwsOnBadUrls,
    { 'requests that make middleware throw': /client_id=%E0%A4%A .*node_modules|at decodeURIComponent/ },
  ],
  [
    'whose errors are 500',
    fault.failsOnPrototypes,
    { 'requests that make middleware throw': /__proto__.*: 500$/m },
  ],
  [
    'without limits on wrong passwords',
    [],
    {
      'guessing passwords': /^attempt 6: 400/,
      'guessing passwords from forged addresses': /^attempt 6: 400/,
    },
    { options: { limits: false } },
  ],
  [
    'that believes every X-Forwarded-For',
    [],
    { 'guessing passwords from forged addresses': /^attempt 6: 400/ },
    { around: fault.trustsEveryProxy },
  ],
]

test.each<Row>(hosts)('a host %s', async (_host, middleware, found, settings = {}) => {
  // A host without a fault withstands all attacks; here those that must succeed are enough.
  const tried = testsAll ? attacks : attacks.filter(({ name }) => name in found)
  expectFindings(await attackHost({ ...settings, before: [middleware].flat() }, tried), found)
})

test('every attack succeeds in one of these hosts, or on a login page of the host', () => {
  const found = new Set(hosts.flatMap(([, , findings]) => Object.keys(findings)))
  const others = attacks.map(({ name }) => name).filter((name) => !found.has(name))
  expect(others).toEqual(['the host’s login page as an open redirector'])
})
