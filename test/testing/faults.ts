import express, { type Express, type Request, type RequestHandler } from 'express'
import session from 'express-session'
import { rewritingHeaders } from '../support/attacked-host.ts'
import { secret } from '../support/host.ts'

// Mistakes that hosts, proxies and gateways make around the router, as middleware before it.

export const sessions = (settings: Partial<session.SessionOptions> = {}): RequestHandler =>
  session({
    secret: 'of the host',
    resave: false,
    saveUninitialized: true,
    name: 'host.sid',
    cookie: { sameSite: 'lax' },
    ...settings,
  })

export const keepsSessionId: RequestHandler = (req, _res, next) => {
  req.session.regenerate = (done) => {
    done(undefined)
    return req.session
  }
  next()
}

export const signsOutByGet: RequestHandler = (req, _res, next) =>
  req.path === '/oauth/logout' ? req.session.regenerate(() => next()) : next()

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

export const changesParameter = (name: string, change: (value: string) => string): RequestHandler =>
  rewritingQuery((query) => {
    const [value, second] = query.getAll(name)
    if (value !== undefined && second === undefined) query.set(name, change(value))
  })

export const keepsLastParameter = rewritingQuery((query) => {
  for (const name of new Set(query.keys())) query.set(name, query.getAll(name).at(-1) ?? '')
})

/** Sends errors of silent requests to any address. */
export const answersSilentErrors =
  (callback: string): RequestHandler =>
  (req, res, next) => {
    const { redirect_uri: uri = '', prompt } = req.query
    if (prompt !== 'none' || String(uri).startsWith(callback)) next()
    else res.redirect(`${uri}?error=invalid_request`)
  }

export const takesHeadForGet: RequestHandler = (req, _res, next) => {
  if (req.method === 'HEAD') req.method = 'GET'
  next()
}

export const takesEveryRequestForHttps: RequestHandler = (req, _res, next) => {
  Object.defineProperty(req, 'secure', { value: true })
  next()
}

export const dropsRequestHeaders =
  (...names: readonly string[]): RequestHandler =>
  (req, _res, next) => {
    for (const name of names) delete req.headers[name]
    next()
  }

export const dropsHeaders = (...names: readonly string[]): RequestHandler =>
  rewritingHeaders((headers) => {
    for (const name of names) headers.delete(name)
  })

/** Changes a header of the answers that have it. */
export const changesHeader = (
  name: string,
  change: (value: string | string[]) => string | string[],
): RequestHandler =>
  rewritingHeaders((headers) => {
    const value = headers.get(name)
    if (value !== undefined) headers.set(name, change(Array.isArray(value) ? value : String(value)))
  })

export const setsHeader = (name: string, value: string): RequestHandler =>
  rewritingHeaders((headers) => void headers.set(name, value))

export const allowsEveryOrigin: RequestHandler = (_req, res, next) => {
  res.set('Access-Control-Allow-Origin', '*')
  next()
}

export const allowsEveryOriginWithCookies: RequestHandler = (req, res, next) => {
  const { origin } = req.headers
  if (origin) res.set({ 'Access-Control-Allow-Origin': origin, 'Access-Control-Allow-Credentials': 'true' })
  next()
}

/** Makes absolute URLs of redirects to its own paths. */
export const linksToHostHeader: RequestHandler = (req, res, next) =>
  rewritingHeaders((headers) => {
    const location = String(headers.get('location') ?? '')
    if (location.startsWith('/')) headers.set('location', `http://${req.headers.host}${location}`)
  })(req, res, next)

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

export const believesForwardedHost = rewritingBody((body, req) => {
  const host = req.get('x-forwarded-host')
  return req.path.includes('.well-known') && host
    ? body.replaceAll('localhost:3000', host.slice(0, 14))
    : body
})

/** Takes each browser that sends the id of a request for the one that began it. */
export const recognisesBrowsers = (): RequestHandler => {
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

/** The body of a form, read before the router as a gateway would. */
export const rewritingForm = (rewrite: (form: URLSearchParams, req: Request) => void): RequestHandler[] => [
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

export const completesForms = (redirectUri: string): RequestHandler[] =>
  rewritingForm((form) => {
    if (form.has('code')) form.set('redirect_uri', redirectUri)
  })

export const dropsUnknownScopes = rewritingForm((form) => {
  const scope = form.get('scope')
  if (scope !== null) form.set('scope', scope.replace('everything:else', '').trim())
})

export const mergesQueryIntoForm = rewritingForm((form, req) => {
  for (const [name, value] of new URLSearchParams(req.url.split('?')[1]))
    if (!form.has(name)) form.set(name, value)
})

/** Repeats a successful answer of the token endpoint to each request with the same body. */
export const repeatsAnswers = (): RequestHandler[] => {
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

export const vouchesForClients: RequestHandler = (req, _res, next) => {
  if (/^\/oauth\/(token|introspect|revoke)$/.test(req.path)) req.headers.authorization = basic
  next()
}

export const takesTokensFromQueries: RequestHandler = (req, _res, next) => {
  const { access_token: token } = req.query
  if (token) req.headers.authorization = `Bearer ${token}`
  next()
}

export const answersBeforeGuard: RequestHandler = (req, res, next) =>
  req.path === '/api/notes' ? void res.json([]) : next()

export const takesJsonForForm: RequestHandler[] = [
  express.json(),
  (req, _res, next) => {
    if (req.is('json')) req.headers['content-type'] = 'application/x-www-form-urlencoded'
    next()
  },
]

export const throwsOnBadUrls: RequestHandler = (req, _res, next) => {
  decodeURIComponent(req.url)
  next()
}

export const failsOnPrototypes: RequestHandler = (req, res, next) => {
  if (req.url.includes('__proto__')) res.status(500).send('oops')
  else next()
}

export const trustsOneProxy = (app: Express): Express => app.set('trust proxy', 1)
export const trustsEveryProxy = (app: Express): Express => app.set('trust proxy', true)
