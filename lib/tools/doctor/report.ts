import { rulesName } from '../../options/development.ts'
import { impliedScopes } from '../../options/scopes.ts'
import { isLoopbackHost } from '../../protocol/clients/redirect-uri.ts'
import { withImpliedScopes } from '../../protocol/scope.ts'
import type { SelfReport } from '../../web/endpoints/self-report.ts'
import { type Check, error, type Found, type MountedSubject, note, warning } from '../check.ts'

/** A check of what the app reports about itself; it finds nothing without a report. */
const ofReport =
  (findingsOf: (report: SelfReport, subject: MountedSubject) => Found): Check<MountedSubject>['run'] =>
  (subject) =>
    subject.mount.report && findingsOf(subject.mount.report, subject)

const isPublicIssuer = ({ options: { issuer } }: MountedSubject): boolean =>
  !isLoopbackHost(new URL(issuer).hostname)

const unreportedFindings = ({ mount, options }: MountedSubject): Found =>
  mount.report === undefined &&
  mount.discovery.json?.issuer === options.issuer &&
  note(
    'the server does not recognize the secret of this configuration, so its session and proxy are not checked',
    'run the command with the same secrets as the server',
  )

const environmentFindings = ({ production }: SelfReport, subject: MountedSubject): Found => {
  if (!production && isPublicIssuer(subject)) {
    return error(
      'the server runs with the rules of development: error pages show details',
      'start it with NODE_ENV=production',
    )
  }
  return (
    production !== subject.options.production &&
    error(
      `the server runs with the rules of ${rulesName(production)}, this command with those of ${rulesName(!production)}`,
      'run both with the same NODE_ENV, in which case the configuration is checked as the server reads it',
    )
  )
}

const proxyFindings = ({ trustProxy }: SelfReport): Found =>
  trustProxy === true &&
  error(
    'the app trusts every proxy, so clients choose the address that the limits on wrong passwords count',
    "app.set('trust proxy', 1), with the number of your proxies",
  )

const storeFindings = ({ production, session }: SelfReport, subject: MountedSubject): Found =>
  session?.store === 'MemoryStore' &&
  (production || isPublicIssuer(subject)) &&
  error(
    "the app's sessions are kept in memory: logins vanish at each restart, and memory grows",
    "give express-session a store, or set session: 'own'",
  )

const sessionFindings = ({ ignoresSession }: SelfReport): Found =>
  ignoresSession &&
  warning(
    'the app has a session of its own, and Latchkey keeps its logins in another cookie',
    "set session: 'host' to use the app's, or session: 'own' to keep them apart",
  )

const passportFindings = ({ passportProblem }: SelfReport, { options: { login } }: MountedSubject): Found => {
  const isUsed = login.current !== undefined || login.remember !== undefined
  return passportProblem && isUsed && warning(passportProblem.problem, passportProblem.fix)
}

const missingSessionFindings = ({ sessionProblem }: SelfReport): Found =>
  sessionProblem && error(sessionProblem.problem, sessionProblem.fix)

const cookieFindings = ({ session }: SelfReport, { options: { issuer } }: MountedSubject): Found => {
  if (session === undefined) return undefined
  const { httpOnly, secure, sameSite } = session.cookie
  const isStrict = sameSite === 'true' || sameSite === 'strict'
  return [
    !httpOnly && error('scripts can read the session cookie', 'session({ cookie: { httpOnly: true } })'),
    !secure &&
      issuer.startsWith('https:') &&
      error('the session cookie is also sent over http', 'session({ cookie: { secure: true } })'),
    isStrict &&
      error(
        'the session cookie is SameSite=Strict, so users who come from a client are not signed in',
        "session({ cookie: { sameSite: 'lax' } })",
      ),
    !isStrict &&
      sameSite !== 'lax' &&
      warning(
        'the session cookie is sent with forms of other sites',
        "session({ cookie: { sameSite: 'lax' } })",
      ),
  ]
}

/** The parts of a line `Set-Cookie`; attributes are compared whatever their case. */
const partsOf = (line: string): ReadonlyMap<string, string> => {
  const [pair = '', ...attributes] = line.split(';').map((part) => part.trim())
  const named = attributes.map((attribute): [string, string] => {
    const [name = '', value = ''] = attribute.split('=')
    return [name.toLowerCase(), value]
  })
  return new Map([
    ['the cookie', pair],
    ...named.map(([name, value]): [string, string] => [name, value.toLowerCase()]),
  ])
}

/** Findings about our cookie on its way through a proxy. */
const ownCookieFindings = ({ cookie }: SelfReport, { mount: { cookies } }: MountedSubject): Found => {
  const [name = ''] = cookie.split('=')
  const arrived = cookies.find((line) => line.startsWith(`${name}=`))
  const fix =
    'let the proxy forward Set-Cookie as it is; nginx: remove proxy_cookie_path, proxy_cookie_domain and proxy_cookie_flags for this location'
  if (arrived === undefined) {
    return error(
      `a cookie of Latchkey does not arrive, so no user can sign in: it was sent as ${cookie}`,
      fix,
    )
  }
  const [before, after] = [partsOf(cookie), partsOf(arrived)]
  const isChanged = [...before.keys(), ...after.keys()].some((part) => before.get(part) !== after.get(part))
  return (
    isChanged &&
    error(
      `a proxy or middleware changes the cookies of Latchkey, so browsers may not return them: ${cookie} arrives as ${arrived}`,
      fix,
    )
  )
}

const guardFindings = ({ guardedScopes }: SelfReport, { options }: MountedSubject): Found => {
  const implied = impliedScopes(options)
  const unguarded = Object.entries(options.scopes)
    .filter(([name, { claims = [] }]) => {
      const isGuarded = withImpliedScopes([name], implied).some((scope) => guardedScopes.includes(scope))
      return !isGuarded && claims.length === 0
    })
    .map(([name]) => name)
  return (
    unguarded.length > 0 &&
    note(
      `no guard in this app requires ${unguarded.join(', ')}`,
      `app.get('/api/…', oauth.requireToken('${unguarded[0]}'), …), unless another API checks it`,
    )
  )
}

/** Checks of what the running app reports about itself. */
export const reportChecks: readonly Check<MountedSubject>[] = [
  { id: 'report', title: 'the server reports about itself', run: unreportedFindings },
  { id: 'environment', title: 'the server runs in production', run: ofReport(environmentFindings) },
  { id: 'trust-proxy', title: 'clients cannot choose their address', run: ofReport(proxyFindings) },
  {
    id: 'session-option',
    title: "the option session says what becomes of the app's session",
    run: ofReport(sessionFindings),
  },
  { id: 'session-missing', title: "the app's session can be used", run: ofReport(missingSessionFindings) },
  { id: 'passport', title: 'Passport comes before the router', run: ofReport(passportFindings) },
  { id: 'session-store', title: 'sessions survive a restart', run: ofReport(storeFindings) },
  { id: 'session-cookie', title: 'the session cookie is protected', run: ofReport(cookieFindings) },
  { id: 'cookies', title: 'cookies of Latchkey arrive as they are sent', run: ofReport(ownCookieFindings) },
  { id: 'guards', title: 'every scope is required somewhere', run: ofReport(guardFindings) },
]
