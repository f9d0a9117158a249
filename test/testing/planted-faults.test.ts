import express, { type Express, type Request, type RequestHandler } from 'express'
import session from 'express-session'
import { attacks } from '../../lib/testing/attacks/index.ts'
import { type AttackedHost, attackHost, expectFindings, rewritingHeaders } from '../support/attacked-host.ts'
import { callback, secret } from '../support/host.ts'

const https = { issuer: 'https://id.example.com/oauth' }

const sessions = (settings: Partial<session.SessionOptions> = {}): RequestHandler =>
  session({
    secret: 'of the host',
    resave: false,
    saveUninitialized: true,
    name: 'host.sid',
    cookie: { sameSite: 'lax' },
    ...settings,
  })

const trusting = (app: Express): Express => app.set('trust proxy', 1)

/** The body of a form, read before the router as a gateway would. */
const rewritingForm = (rewrite: (form: URLSearchParams, req: Request) => void): RequestHandler[] => [
  express.text({ type: 'application/x-www-form-urlencoded' }),
  (req, _res, next) => {
    if (typeof req.body === 'string') {
      const form = new URLSearchParams(req.body)
      rewrite(form, req)
      req.body = form.toString()
    }
    next()
  },
]

/** Changes the query of every request, as a rewrite rule or a sanitiser does. */
const rewritingQuery =
  (rewrite: (query: URLSearchParams) => void): RequestHandler =>
  (req, _res, next) => {
    const [path = '', search = ''] = req.url.split('?')
    if (search !== '') {
      const query = new URLSearchParams(search)
      rewrite(query)
      req.url = `${path}?${query}`
    }
    next()
  }

const changingOne = (name: string, change: (value: string) => string): RequestHandler =>
  rewritingQuery((query) => {
    const [value, second] = query.getAll(name)
    if (value !== undefined && second === undefined) query.set(name, change(value))
  })

/** Changes every body before it is sent, keeping its length. */
const rewritingBody =
  (rewrite: (body: string, req: Request) => string): RequestHandler =>
  (req, res, next) => {
    const { end } = res
    const changed = (body: unknown): unknown =>
      Reflect.apply(end, res, [typeof body === 'string' ? rewrite(body, req) : body])
    res.end = changed as typeof end
    next()
  }

/** Takes each browser that sends the id of a request for the one that began it. */
const recognising = (): RequestHandler => {
  const browsers = new Map<string, string>()
  return (req, res, next) => {
    const { authorization_request: id } = req.query
    const known = browsers.get(String(id))
    if (known !== undefined) req.headers.cookie = `${known}; ${req.headers.cookie ?? ''}`
    res.on('finish', () => {
      const [began] = /lk_ar_[\w-]+/.exec(String(res.getHeader('location'))) ?? []
      const [cookie] = /latchkey_\w+_browser=[^;]+/.exec(String(res.getHeader('set-cookie'))) ?? []
      if (began && cookie) browsers.set(began, cookie)
    })
    next()
  }
}

/** Repeats a successful answer of the token endpoint to each request with the same body. */
const repeating = (): RequestHandler[] => {
  const answers = new Map<string, Promise<string | undefined>>()
  return [
    express.text({ type: 'application/x-www-form-urlencoded' }),
    async (req, res, next) => {
      if (req.path !== '/oauth/token') return next()
      const key = String(req.body)
      const known = await answers.get(key)
      if (known !== undefined) return void res.set('Cache-Control', 'no-store').json(JSON.parse(known))
      const answer = new Promise<string | undefined>((resolve) => {
        rewritingBody((body) => {
          resolve(res.statusCode === 200 ? body : undefined)
          return body
        })(req, res, next)
      })
      if (!answers.has(key)) answers.set(key, answer)
    },
  ]
}

const basic = `Basic ${Buffer.from(`web:${secret}`).toString('base64')}`

interface Planted extends AttackedHost {
  readonly found: Record<string, RegExp>
}

const fixations = {
  'session fixation: cookies from before the sign-in': /host\.sid/,
  'session fixation: cookies of an earlier sign-in': /host\.sid/,
}
const keepsSessionId: RequestHandler = (req, _res, next) => {
  req.session.regenerate = (done) => {
    done(undefined)
    return req.session
  }
  next()
}

const hosts: Record<string, Planted> = {
  'whose session keeps its id at sign-in': { before: [sessions(), keepsSessionId], found: fixations },
  'that repairs redirect URIs by parsing them': {
    before: [changingOne('redirect_uri', (uri) => (URL.canParse(uri) ? new URL(uri).href : uri))],
    found: { 'redirect URIs that resemble the registered one': /callback\\t": 303 Location: \/oauth\/login/ },
  },
  'that takes a redirect URI for the registered one if it begins like it': {
    before: [changingOne('redirect_uri', (uri) => (uri.startsWith(callback) ? callback : uri))],
    found: { 'redirect URIs that resemble the registered one': /callback\/": 303/ },
  },
  'that makes one parameter of two': {
    before: [
      rewritingQuery((query) => {
        for (const name of new Set(query.keys())) query.set(name, query.getAll(name).at(-1) ?? '')
      }),
    ],
    found: {
      'redirect URIs that are repeated, missing, or in brackets': /another, then the registered one: 303/,
    },
  },
  'that answers silent requests itself when something is wrong': {
    before: [
      (req, res, next) => {
        const { redirect_uri: uri = '', prompt } = req.query
        if (prompt !== 'none' || String(uri).startsWith(callback)) next()
        else res.redirect(`${uri}?error=invalid_request`)
      },
    ],
    found: {
      'errors that would redirect to an unregistered address':
        /prompt=none .*302 Location: https:\/\/attacker/,
    },
  },
  'that shortens state': {
    before: [changingOne('state', (state) => state.slice(0, 255))],
    found: { 'state and iss in answers to the client': /state was/ },
  },
  'that changes the nonce': {
    before: [changingOne('nonce', (nonce) => nonce.toLowerCase())],
    found: { 'the nonce in the ID token': /became/ },
  },
  'that takes HEAD for GET': {
    before: [
      (req, _res, next) => {
        if (req.method === 'HEAD') req.method = 'GET'
        next()
      },
    ],
    found: { 'a code with HEAD, PUT or DELETE': /^HEAD: 303 Location: https:\/\/client/ },
  },
  'whose proxy takes Origin and Sec-Fetch-Site away': {
    before: [
      (req, _res, next) => {
        delete req.headers.origin
        delete req.headers['sec-fetch-site']
        next()
      },
    ],
    found: {
      'the sign-in form, forged': /by another site: 303/,
      'the consent form, forged': /by another site: 303/,
    },
  },
  'that knows browsers again by the request': {
    before: [recognising()],
    found: { 'a pending request in another browser': /^\/login for a new browser: 200/ },
  },
  'that signs out by GET': {
    before: [
      sessions(),
      (req, _res, next) => (req.path === '/oauth/logout' ? req.session.regenerate(() => next()) : next()),
    ],
    found: { 'signing a user out from another site': /the user is signed out/ },
  },
  'whose session cookie is not Secure, and is set for everybody': {
    before: [sessions()],
    options: https,
    told: https,
    around: trusting,
    found: {
      'the attributes of cookies that identify a user': /^host\.sid is not Secure/,
      'plain http under an https issuer': /^host\.sid was set$/,
    },
  },
  'whose session cookie scripts can read and other sites send': {
    before: [sessions({ cookie: { httpOnly: false, sameSite: 'none' } })],
    found: {
      'the attributes of cookies that identify a user':
        /^host\.sid is not HttpOnly, .*\nhost\.sid has SameSite=None, so the browser sends it with requests from other sites$/,
    },
  },
  'whose proxy takes all attributes of cookies away': {
    before: [
      rewritingHeaders((headers) => {
        const cookies = [headers.get('set-cookie') ?? []]
          .flat()
          .map((cookie) => String(cookie).split(';')[0] ?? '')
        if (cookies.length > 0)
          headers.set(
            'set-cookie',
            cookies.map((cookie) => `${cookie}; Path=/`),
          )
      }),
    ],
    options: https,
    told: https,
    around: trusting,
    found: {
      'the attributes of cookies that identify a user': /__Host-latchkey_[0-9a-f]{8}_browser is not Secure/,
    },
  },
  'that takes every request for https': {
    before: [(req, _res, next) => next(void Object.defineProperty(req, 'secure', { value: true }))],
    options: https,
    told: https,
    found: { 'plain http under an https issuer': /a sign-in page was served/ },
  },
  'whose proxy takes security headers away': {
    before: [
      rewritingHeaders((headers) => {
        for (const name of ['content-security-policy', 'x-frame-options']) headers.delete(name)
      }),
    ],
    found: {
      'the pages in a frame of another site':
        /the consent page: frame-ancestors missing or wider, X-Frame-Options missing/,
      'scripts of other origins in the pages': /the login page: Content-Security-Policy: none/,
    },
  },
  'that lets inline scripts run': {
    before: [
      rewritingHeaders((headers) => {
        const policy = String(headers.get('content-security-policy') ?? '')
        if (policy)
          headers.set(
            'content-security-policy',
            policy.replace("script-src 'self'", "script-src 'self' 'unsafe-inline'"),
          )
      }),
    ],
    found: { 'scripts of other origins in the pages': /unsafe-inline/ },
  },
  'whose proxy has content types guessed': {
    before: [rewritingHeaders((headers) => void headers.delete('x-content-type-options'))],
    found: { 'guessing at content types': /the error page: no X-Content-Type-Options/ },
  },
  'whose proxy adds a policy for the whole origin': {
    before: [
      rewritingHeaders((headers) => {
        const policy = headers.get('content-security-policy')
        if (policy) headers.set('content-security-policy', [String(policy), "form-action 'self'"])
      }),
    ],
    found: { 'form-action and the redirect to the client': /the consent page: .*form-action 'self'$/ },
  },
  'whose content network caches': {
    before: [rewritingHeaders((headers) => void headers.set('cache-control', 'public, max-age=3600'))],
    found: { 'responses that a cache would store': /the login page: Cache-Control: public, max-age=3600/ },
  },
  'with CORS and credentials for everybody': {
    before: [
      (req, res, next) => {
        const { origin } = req.headers
        if (origin)
          res.set({ 'Access-Control-Allow-Origin': origin, 'Access-Control-Allow-Credentials': 'true' })
        next()
      },
    ],
    found: {
      'scripts of other origins with the user’s cookies':
        /GET \/oauth\/authorize from https:\/\/attacker\.example: Access-Control-Allow-Credentials: true, Access-Control-Allow-Origin: https:\/\/attacker\.example/,
    },
  },
  'with CORS for everybody': {
    before: [(_req, res, next) => next(void res.set('Access-Control-Allow-Origin', '*'))],
    found: {
      'scripts of other origins with the user’s cookies':
        /GET \/oauth\/login from https:\/\/attacker\.example: Access-Control-Allow-Origin: \*/,
    },
  },
  'that makes links of the Host header': {
    before: [
      (req, res, next) =>
        rewritingHeaders((headers) => {
          const location = String(headers.get('location') ?? '')
          if (location.startsWith('/')) headers.set('location', `http://${req.headers.host}${location}`)
        })(req, res, next),
    ],
    found: { 'another host in the headers': /^Host: 303 Location: http:\/\/attacker\.example\/oauth\/login/ },
  },
  'that believes X-Forwarded-Host': {
    before: [
      rewritingBody((body, req) => {
        const host = req.get('x-forwarded-host')
        return req.path.includes('.well-known') && host
          ? body.replaceAll('localhost:3000', host.slice(0, 14))
          : body
      }),
    ],
    found: { 'another host in the headers': /^X-Forwarded-Host: the metadata was 200 .*attacker/ },
  },
  'whose gateway completes form bodies': {
    before: rewritingForm((form) => {
      if (form.has('code') && !form.has('redirect_uri')) form.set('redirect_uri', callback)
    }),
    found: {
      'a code with the wrong verifier or redirect URI': /no redirect_uri: 200.*\n?.*the honest client: 400/s,
    },
  },
  'whose gateway repeats answers of POST': {
    before: repeating(),
    found: {
      'a code used twice': /the second time: 200 .*\nthe first access token is still valid/,
      'a code used ten times at once': /\d of ten succeeded/,
      'a refresh token used again': /the first one again: 200/,
    },
  },
  'whose gateway drops scopes it does not know': {
    before: rewritingForm((form) => {
      const scope = form.get('scope')
      if (scope !== null) form.set('scope', scope.replace('everything:else', '').trim())
    }),
    found: { 'a refresh that asks for more': /^200/ },
  },
  'whose gateway vouches for every client': {
    before: [
      (req, _res, next) => {
        if (/^\/oauth\/(token|introspect|revoke)$/.test(req.path)) req.headers.authorization = basic
        next()
      },
    ],
    found: {
      'codes and tokens used by another client':
        /the code: 200 .*\nthe refresh token: 200 .*\nit could revoke/,
      'a client without its secret, with a wrong one, or with two': /a wrong secret: 400 .*invalid_grant/,
      'client credentials in the URL': /POST with the credentials in the query: 400 .*invalid_grant/,
      'introspection without a client': /without a client: 200/,
    },
  },
  'that merges queries into bodies': {
    before: rewritingForm((form, req) => {
      for (const [name, value] of new URLSearchParams(req.url.split('?')[1]))
        if (!form.has(name)) form.set(name, value)
    }),
    found: {
      'userinfo without an access token in the header': /^the token in the query of a POST: 200 [^\n]*$/,
      'client credentials in the URL': /POST with the credentials in the query: 400 .*invalid_grant/,
    },
  },
  'that takes tokens from queries': {
    before: [
      (req, _res, next) => {
        const { access_token: token } = req.query
        if (token) req.headers.authorization = `Bearer ${token}`
        next()
      },
    ],
    found: {
      'userinfo without an access token in the header': /the token in the query: 200/,
      'the API of the host without an access token in the header': /the token in the query: 200/,
    },
  },
  'with a route of its API before the guard': {
    before: [(req, res, next) => (req.path === '/api/notes' ? void res.json([]) : next())],
    found: { 'the API of the host without an access token in the header': /no token: 200/ },
  },
  'with an API that refuses everybody': {
    told: { api: '/api/nothing' },
    found: { 'the API of the host without an access token in the header': /the honest client: 404/ },
  },
  'that takes JSON for a form': {
    before: [
      express.json(),
      (req, _res, next) => {
        if (req.is('json')) req.headers['content-type'] = 'application/x-www-form-urlencoded'
        next()
      },
    ],
    found: {
      'bodies that a parser before the router could misread': /as JSON: 200/,
      'a sign-in as JSON': /303 Location: [\s\S]*the browser is signed in/,
    },
  },
  'with middleware that throws': {
    before: [(req, _res, next) => next(void decodeURIComponent(req.url))],
    found: {
      'requests that make middleware throw': /client_id=%E0%A4%A .*node_modules|at decodeURIComponent/,
    },
  },
  'whose errors are 500': {
    before: [
      (req, res, next) => {
        if (req.url.includes('__proto__')) res.status(500).send('oops')
        else next()
      },
    ],
    found: { 'requests that make middleware throw': /__proto__.*: 500$/m },
  },
  'without limits on wrong passwords': {
    options: { throttle: false },
    found: {
      'guessing passwords': /^attempt 6: 400/,
      'guessing passwords from forged addresses': /^attempt 6: 400/,
    },
  },
  'that believes every X-Forwarded-For': {
    around: (app) => app.set('trust proxy', true),
    found: { 'guessing passwords from forged addresses': /^attempt 6: 400/ },
  },
}

test.each(Object.entries(hosts))('a host %s', async (_, { found, ...host }) => {
  // A host without a fault withstands all attacks; here those that must succeed are enough.
  const tried = process.env.TEST_ALL === '1' ? attacks : attacks.filter(({ name }) => name in found)
  expectFindings(await attackHost(host, tried), found)
})

test('every attack succeeds in one of these hosts, or on a login page of the host', () => {
  const found = new Set(Object.values(hosts).flatMap((host) => Object.keys(host.found)))
  const others = attacks.map(({ name }) => name).filter((name) => !found.has(name))
  expect(others).toEqual(['the host’s login page as an open redirector'])
})
