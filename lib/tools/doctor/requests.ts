import { inspect } from 'node:util'
import type { Problem } from '../../protocol/problem.ts'
import { bearer, tokenType } from '../../protocol/tokens/token-binding.ts'
import { arrivalHeader, insecureArrivals } from '../../web/http/arrival.ts'
import {
  type AppAnswer,
  type Check,
  error,
  type Found,
  type MountedSubject,
  note,
  warning,
} from '../check.ts'
import { clockTolerance } from './database.ts'
import { isOurError, ownPolicy, rateLimiterFix, secondsAhead } from './mount.ts'

/** The name of the path of the mount in fixes. */
export const mountPathOf = ({ options: { basePath } }: MountedSubject): string => basePath || '/'

const isHttps = ({ options: { issuer } }: MountedSubject): boolean => issuer.startsWith('https:')

/** The issuer that the server names in its discovery document; undefined if something else answers. */
export const issuerThere = ({ mount: { discovery } }: MountedSubject): string | undefined => {
  const issuer = discovery.status === 200 ? discovery.json?.issuer : undefined
  return typeof issuer === 'string' ? issuer : undefined
}

/** Whether Latchkey answers that it is unavailable. */
const isOut = ({ mount: { discovery } }: MountedSubject): boolean =>
  discovery.status === 503 && isOurError(discovery)

/** How the request arrived, by the name that a refusal has for it; undefined if it arrived as it should. */
const arrivalAt = ({ mount: { discovery } }: MountedSubject): string | undefined =>
  discovery.headers.get(arrivalHeader) ?? undefined

const arrivalFindings = (subject: MountedSubject): Found => {
  const found = Object.entries<Problem>(insecureArrivals).find(([name]) => name === arrivalAt(subject))
  return found && error(found[1].problem, found[1].fix)
}

const availabilityFindings = (subject: MountedSubject): Found => {
  if (!isOut(subject)) return undefined
  const { discovery, url } = subject.mount
  if (arrivalAt(subject) === 'otherIssuer')
    return error('the server is not available: it has another issuer than this URL', `set issuer: '${url}'`)
  return (
    arrivalAt(subject) === undefined &&
    error(
      `the server is not available: ${discovery.json?.error_description}`,
      'see the log of the server, which has the cause. This command finds the secrets and the database in order, so compare its NODE_ENV, secrets and DATABASE_URL with those of the server',
    )
  )
}

/** Who answers in the place of Latchkey, and what mends it. */
const strangerFinding = (subject: MountedSubject): Found => {
  const { discovery, url } = subject.mount
  const { status, headers } = discovery
  const path = mountPathOf(subject)
  const mountLine = `mount it at the path of the issuer: app.use('${path}', oauth)`
  const elsewhere = `; or, if it is mounted elsewhere, set issuer to the URL where browsers find it, such as '${new URL(subject.options.issuer).origin}/v1/oauth'`
  const answers = `${url} is not the mount of a Latchkey server: its discovery document answers`
  if (status === 200) {
    const isHtml = headers.get('content-type')?.includes('html')
    return error(
      `${answers} ${isHtml ? 'HTML' : 'something else'}: another route stands before it`,
      `${mountLine}, above routes that match every path, such as app.get('*')`,
    )
  }
  const location = headers.get('location') ?? ''
  if (status >= 300 && status < 400 && url.startsWith('http:') && location.startsWith('https:')) {
    return error(
      `${answers} with a redirect to ${location}: the app or its proxy sends http to https`,
      "give doctor the https URL, or let the app trust its proxy: app.set('trust proxy', 1)",
    )
  }
  if (status >= 300 && status < 400) {
    return error(
      `${answers} with a redirect to ${location}: middleware before it, or a proxy, sends everyone away`,
      `${mountLine}, above middleware that asks for a login`,
    )
  }
  if (status === 401 || status === 403) {
    return error(
      `${answers} ${status}: middleware before it asks for a login`,
      `${mountLine}, above that middleware`,
    )
  }
  if (status >= 500) {
    return error(
      `${answers} ${status}: the app or its proxy fails`,
      'see the log of the app and of the proxy',
    )
  }
  return error(`${answers} ${status}`, `${mountLine}${elsewhere}`)
}

const issuerFindings = (subject: MountedSubject): Found => {
  if (isOut(subject)) return undefined
  const { url } = subject.mount
  const { issuer, basePath } = subject.options
  const found = issuerThere(subject)
  if (found === undefined) return strangerFinding(subject)
  if (found !== issuer) {
    return error(
      `the server calls itself ${found}, the configuration ${issuer}`,
      `set issuer: ${inspect(found)} in both`,
    )
  }
  return (
    new URL(url).pathname.replace(/\/$/, '') !== basePath &&
    error(
      `${url} has another path than the issuer ${issuer}`,
      `app.use('${mountPathOf(subject)}', oauth), or set issuer: ${inspect(`${new URL(issuer).origin}${new URL(url).pathname}`)}`,
    )
  )
}

/** A path of no one that looks like a path of `/.well-known`, so that what answers everything else answers it alike. */
const unusedPathLike = (path: string): string =>
  path.replace('/.well-known/', '/latchkey-doctor-looks-for-a-404/')

/** The names of the headers, which tell programs apart; a page may be another at each request. */
const headerNames = ({ headers }: AppAnswer): string => [...headers.keys()].join(' ')

/** Whether the same program gave both answers. */
const isSameProgram = (one: AppAnswer, other: AppAnswer): boolean =>
  one.status === other.status && headerNames(one) === headerNames(other)

const wellKnownFindings = async (subject: MountedSubject): Promise<Found> => {
  const { mount, options } = subject
  const issuer = issuerThere(subject)
  if (issuer === undefined) return undefined
  const { origin } = new URL(mount.url)
  const paths = ['oauth-authorization-server', 'openid-configuration'].map(
    (name) => `/.well-known/${name}${options.basePath}`,
  )
  const answers = await Promise.all(paths.map((path) => mount.get(`${origin}${path}`)))
  const missing = paths.filter((_, index) => answers[index]?.json?.issuer !== issuer)
  const [first] = missing
  const answer = answers[paths.indexOf(first ?? '')]
  if (first === undefined || answer === undefined) return undefined
  const what = `${missing.join(' and ')} cannot be found at ${origin}`
  if (isSameProgram(answer, await mount.get(`${origin}${unusedPathLike(first)}`)))
    return error(what, "app.use(oauth.wellKnown) on the outermost app, above routes such as app.get('*')")
  return error(
    `${what}: the proxy answers ${answer.status} itself, or another route for /.well-known`,
    'let the proxy forward /.well-known/ to the app, with app.use(oauth.wellKnown) above other routes for it',
  )
}

/** A header with which a rate limiter says how many requests it allows. Latchkey sends none here. */
const limitHeader = /^(?:x-)?ratelimit-(?:limit|policy)\b/

const rateLimiterFindings = ({ mount: { discovery }, options: { basePath } }: MountedSubject): Found => {
  const [name, value] = [...discovery.headers].find(([header]) => limitHeader.test(header)) ?? []
  return (
    name !== undefined &&
    warning(
      `a rate limiter in front of the mount counts every request (${name}: ${value}), although the server of a client sends those of all its users from one address`,
      rateLimiterFix(basePath),
    )
  )
}

const clockFindings = ({ mount, now }: MountedSubject): Found => {
  const ahead = secondsAhead(mount.discovery, now())
  return (
    ahead !== undefined &&
    Math.abs(ahead) > clockTolerance &&
    error(
      `the clock of the server is ${Math.abs(ahead)} s ${ahead > 0 ? 'ahead of' : 'behind'} the one here`,
      'synchronize both machines with NTP: timedatectl set-ntp true',
    )
  )
}

/** So many at once: a balancer gives them to several processes, also one that chooses by connection. */
const atOnce = 4

/** The ids of the keys in an answer; undefined if it has none. */
const keysIn = ({ status, json }: AppAnswer): string[] | undefined =>
  status === 200 && Array.isArray(json?.keys) && json.keys.length > 0
    ? json.keys.map((key) => String(Object(key).kid))
    : undefined

/** While keys are replaced, processes may publish different ones for a moment, but never without any in common. */
const processFindings = async (subject: MountedSubject): Promise<Found> => {
  if (issuerThere(subject) === undefined) return undefined
  const asked = Array.from({ length: atOnce }, (_, number) => subject.mount.get(`/jwks?doctor=${number}`))
  const answers = await Promise.all(asked)
  const sets = answers.map(keysIn).filter((keys) => keys !== undefined)
  const [first] = sets
  if (first === undefined) return undefined
  const fix = 'start every process with the same options database and secrets: docs/scaling.md#more-processes'
  const refused = answers.find((answer) => keysIn(answer) === undefined)
  if (refused) {
    return error(
      `of ${atOnce} requests for the keys some are answered, and one with ${refused.status}: not every process can serve`,
      `${fix}; the log of the process that refuses has the cause`,
    )
  }
  return (
    sets.some((keys) => !keys.some((key) => first.includes(key))) &&
    error(
      `${atOnce} requests for the keys got different ones: the processes have different databases, so a sign-in that one begins cannot end at another`,
      fix,
    )
  )
}

/** A token that no server has issued: UserInfo refuses it with an error, if the header arrives. */
const unknownToken = { Authorization: `${tokenType(bearer)} latchkey-doctor` }

const authorizationFindings = async (subject: MountedSubject): Promise<Found> => {
  if (issuerThere(subject) === undefined) return undefined
  const answer = await subject.mount.get('/userinfo', unknownToken)
  if (!isOurError(answer)) {
    return error(
      `a request with the header Authorization is answered ${answer.status} by something in front of the mount, such as middleware that expects tokens of its own`,
      `move app.use('${mountPathOf(subject)}', oauth) before that middleware`,
    )
  }
  return (
    answer.status === 401 &&
    // Without a token, the challenge names no error (RFC 6750 §3.1).
    !answer.headers.get('www-authenticate')?.includes('error=') &&
    error(
      'the header Authorization does not arrive: clients with a secret and callers with a token are refused',
      'let the proxy forward it; nginx: remove proxy_set_header Authorization; Apache with FastCGI: CGIPassAuth On',
    )
  )
}

/** A site that no app allows. */
const foreignSite = 'https://latchkey-doctor.invalid'

const corsFindings = async (subject: MountedSubject): Promise<Found> => {
  if (issuerThere(subject) === undefined) return undefined
  const { headers } = await subject.mount.get('/authorize', { Origin: foreignSite })
  return (
    headers.get('access-control-allow-credentials') === 'true' &&
    headers.get('access-control-allow-origin') === foreignSite &&
    error(
      'CORS with credentials for every origin: other sites can read the pages of a signed-in user',
      `move app.use('${mountPathOf(subject)}', oauth) before app.use(cors(…)), or list your own origins in it`,
    )
  )
}

const headerFindings = async (subject: MountedSubject): Promise<Found> => {
  const { mount } = subject
  if (issuerThere(subject) === undefined) return undefined
  // An authorization request without parameters: an error page.
  const { headers } = await mount.get('/authorize')
  const policy = headers.get('content-security-policy') ?? ''
  const isOurs = policy.startsWith(ownPolicy) && !policy.includes(',')
  const hsts = headers.get('strict-transport-security')
  const isDirect = mount.url.startsWith('http:')
  return [
    !isOurs &&
      error(
        `the pages have another Content-Security-Policy than Latchkey sends: ${policy || 'none'}`,
        'remove the one that your proxy or a later middleware sets; helmet() before the mount is fine',
      ),
    hsts === null &&
      isHttps(subject) &&
      (isDirect ? note : warning)(
        'the server sends no Strict-Transport-Security, so a browser may send a login over http',
        'app.use(helmet()) before the mount, or set the header in your proxy',
      ),
  ]
}

const cacheFindings = async (subject: MountedSubject): Promise<Found> => {
  if (issuerThere(subject) === undefined) return undefined
  // Each error page has an id of its own. The other checks ask for it as HTML, at another URL.
  const idThere = async () =>
    (await subject.mount.get('/authorize?of=doctor', { Accept: 'application/json' })).json?.error_id
  const [first, second] = [await idThere(), await idThere()]
  return (
    first !== undefined &&
    first === second &&
    error(
      'a cache answers for the pages: two requests got one error page, so visitors get the pages of others',
      `let the cache obey Cache-Control: no-store, or turn it off for ${mountPathOf(subject)}`,
    )
  )
}

/** Checks that send requests to the running server. */
export const requestChecks: readonly Check<MountedSubject>[] = [
  { id: 'https', title: 'requests arrive by https', run: arrivalFindings },
  { id: 'available', title: 'the server is available', run: availabilityFindings },
  { id: 'mount', title: 'the server runs at its issuer', run: issuerFindings },
  { id: 'processes', title: 'all processes have the same keys', run: processFindings },
  { id: 'well-known', title: 'discovery is at the root as well', run: wellKnownFindings },
  {
    id: 'rate-limiter',
    title: 'no rate limiter stands in front of the mount',
    run: rateLimiterFindings,
  },
  { id: 'clock', title: 'the clock of the server is right', run: clockFindings },
  {
    id: 'authorization',
    title: 'the header Authorization reaches the server',
    run: authorizationFindings,
  },
  { id: 'cors', title: 'other sites cannot read the pages', run: corsFindings },
  { id: 'headers', title: 'the pages keep their security headers', run: headerFindings },
  { id: 'cache', title: 'no cache keeps the pages', run: cacheFindings },
]
