import { inspect } from 'node:util'
import { type Check, error, type Found, type MountedSubject, note, warning } from '../check.ts'
import { clockTolerance } from './database.ts'
import { isOurError, secondsAhead } from './mount.ts'

/** What the fixes call the path of the mount. */
const pathOf = ({ options: { basePath } }: MountedSubject): string => basePath || '/'

const isHttps = ({ options: { issuer } }: MountedSubject): boolean => issuer.startsWith('https:')

const issuerFindings = (subject: MountedSubject): Found => {
  const { discovery, url } = subject.mount
  const { issuer } = subject.options
  if (discovery.status === 503 && isOurError(discovery)) return unavailableFindings(subject)
  const found = discovery.json?.issuer
  if (discovery.status !== 200 || typeof found !== 'string') {
    return error(
      `${url} is not the mount of a Latchkey server: its discovery document answers ${discovery.status}`,
      `mount it at the path of the issuer: app.use('${pathOf(subject)}', oauth)`,
    )
  }
  if (found !== issuer) {
    return error(
      `the server calls itself ${found}, the configuration ${issuer}`,
      `set issuer: ${inspect(found)} in both`,
    )
  }
  return (
    new URL(url).pathname.replace(/\/$/, '') !== subject.options.basePath &&
    error(`${url} has another path than the issuer ${issuer}`, `app.use('${pathOf(subject)}', oauth)`)
  )
}

const unavailableFindings = ({ mount: { discovery } }: MountedSubject): Found => {
  const reason = String(discovery.json?.error_description)
  return reason.includes('https')
    ? error(
        'requests arrive as http, although the issuer is https: the app does not trust its proxy',
        "app.set('trust proxy', 1), with the number of your proxies",
      )
    : error(`the server is not available: ${reason}`, 'see the log of the server, which has the cause')
}

const wellKnownFindings = async (subject: MountedSubject): Promise<Found> => {
  const { mount, options } = subject
  if (mount.discovery.status !== 200) return undefined
  const { origin } = new URL(mount.url)
  const paths = ['oauth-authorization-server', 'openid-configuration'].map(
    (name) => `/.well-known/${name}${options.basePath}`,
  )
  const answers = await Promise.all(paths.map((path) => mount.get(`${origin}${path}`)))
  const missing = paths.filter((_, index) => answers[index]?.json?.issuer !== options.issuer)
  return (
    missing.length > 0 &&
    error(`${missing.join(' and ')} cannot be found at ${origin}`, 'app.use(oauth.wellKnown)')
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

/** Characters of a value, and how many values: 45 kB, less than a client assertion and a request object may have. */
const [valueLength, values] = [1500, 30]

const largeForm: Readonly<Record<string, string>> = Object.fromEntries(
  Array.from({ length: values }, (_, index) => [`doctor_${index}`, 'x'.repeat(valueLength)]),
)

const formFindings = async (subject: MountedSubject): Promise<Found> => {
  const { mount } = subject
  if (mount.discovery.status !== 200) return undefined
  const before = `move app.use('${pathOf(subject)}', oauth) before`
  const small = await mount.post('/token', { grant_type: 'doctor' })
  if (small.status === 403 && !isOurError(small)) {
    return error(
      'a form of a client is answered 403 by other middleware, probably CSRF protection',
      `${before} it`,
    )
  }
  if (!isOurError(small)) {
    return error(
      `a form of a client is answered ${small.status} by other middleware, such as a parser of JSON`,
      `${before} app.use(express.json(…))`,
    )
  }
  const large = await mount.post('/token', largeForm)
  return (
    !isOurError(large) &&
    error(
      `a form of 45 kB is answered ${large.status} by a body parser with a smaller limit`,
      `${before} the parser, or raise its limit: express.urlencoded({ limit: '64kb' })`,
    )
  )
}

const ownPolicy = "default-src 'none'"

const headerFindings = async (subject: MountedSubject): Promise<Found> => {
  const { mount } = subject
  if (mount.discovery.status !== 200) return undefined
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

/** Checks that send requests to the running server. */
export const requestChecks: readonly Check<MountedSubject>[] = [
  { id: 'mount', title: 'the server runs at its issuer', run: issuerFindings },
  { id: 'well-known', title: 'discovery is at the root as well', run: wellKnownFindings },
  { id: 'clock', title: 'the clock of the server is right', run: clockFindings },
  { id: 'forms', title: 'forms of clients reach the server', run: formFindings },
  { id: 'headers', title: 'the pages keep their security headers', run: headerFindings },
]
