import { featureNamed } from '../../options/features.ts'
import type { Options } from '../../options/options.ts'
import type { ClientMetadata } from '../../protocol/clients/client-metadata.ts'
import { complies } from '../../protocol/clients/security-profile.ts'

/**
 * `met`: always, and a test shows it. `by configuration`: the setting meets it. `host`: the app must do it. `not met`: the
 * setting does not meet it.
 */
export type State = 'met' | 'by configuration' | 'host' | 'not met'

/** A client, for the question whether a setting affects it. */
export interface AssessedClient {
  readonly metadata: ClientMetadata
  /** Whether it sent a PKCE challenge with the method plain of late. */
  readonly hasSentPlain: boolean
}

/** Whether a setting that is not met now would change anything for a client, or be refused to it. */
export interface Affects {
  /** `use`: what it sent of late says it, not its registration. */
  readonly by: 'registration' | 'use'
  affects(client: AssessedClient): boolean
}

/** One requirement, as it is for some options. */
export interface Assessed {
  readonly document: string
  /** The section or number in the document. */
  readonly number: string
  readonly requirement: string
  readonly state: State
  /** The setting that decides, or the test that shows it, or what the app must do. */
  readonly reason: string
  /** If the state is `not met`; undefined if the setting affects no client. */
  readonly affects?: Affects | undefined
}

type Judged = Pick<Assessed, 'state' | 'reason' | 'affects'>
type Row = readonly [number: string, requirement: string, judge: (options: Options) => Judged]

const met = (test: string, title: string) => (): Judged => ({ state: 'met', reason: `${test}: “${title}”` })
const host = (act: string) => (): Judged => ({ state: 'host', reason: act })
const setting =
  (name: string, isMet: (options: Options) => boolean, affects?: Affects) =>
  (options: Options): Judged =>
    isMet(options) ? { state: 'by configuration', reason: name } : { state: 'not met', reason: name, affects }

const registered = (affects: (metadata: ClientMetadata) => boolean): Affects => ({
  by: 'registration',
  affects: ({ metadata }) => affects(metadata),
})

/** With `login.url` the page that signs users in is the host's. */
const onLoginPage =
  (act: string, judge: (options: Options) => Judged) =>
  (options: Options): Judged =>
    options.login?.url ? { state: 'host', reason: act } : judge(options)

const comparedExactly = met(
  'test/attacks/redirect-uri.test.ts',
  'ends on a page when it differs from the registered one by',
)
const usedOnce = met('test/attacks/stolen-code-or-token.test.ts', 'ends every token of it')
const namesIssuer = met('test/attacks/authorize.test.ts', 'the answer names ours, once')
const rotated = met('test/attacks/stolen-code-or-token.test.ts', 'after the grace period ends the family')
const rotatedForPublic = met(
  'test/flows/refresh-token.test.ts',
  'does not count for a client that is public now',
)

const bearers = registered(
  (metadata) =>
    metadata.grant_types.length > 0 &&
    !metadata.dpop_bound_access_tokens &&
    !metadata.tls_client_certificate_bound_access_tokens,
)

/** Only FAPI holds every client to it; otherwise a client can still get bearer tokens. */
const boundTokens = ({ protocol }: Options): Judged => {
  const reason = 'protocol.dpop or protocol.mutualTls, with protocol.fapi2'
  if (!protocol.dpop && !protocol.mutualTls) return { state: 'not met', reason, affects: bearers }
  if (protocol.fapi2) return { state: 'by configuration', reason }
  return {
    state: 'host',
    reason: 'register clients with dpop_bound_access_tokens or its like for mutual TLS',
  }
}
const onlyS256 = setting(
  "codeChallengeMethods: ['S256']",
  ({ codeChallengeMethods }) => codeChallengeMethods.every((method) => method === 'S256'),
  { by: 'use', affects: ({ hasSentPlain }) => hasSentPlain },
)
const noImplicit = setting(
  'protocol.implicit: false',
  ({ protocol }) => !protocol.implicit,
  registered(({ grant_types }) => grant_types.includes('implicit')),
)
const pushed = setting(
  'pushedRequests({ required: true })',
  (options) => Boolean(Object(featureNamed(options, 'pushedRequests')?.option).required),
  registered(
    ({ grant_types, require_pushed_authorization_requests: isRequired }) =>
      !isRequired && grant_types.some((grant) => grant === 'authorization_code' || grant === 'implicit'),
  ),
)
const https = setting(
  'issuer with https',
  ({ issuer }) => issuer.startsWith('https:'),
  registered(() => true),
)
const fapi = setting(
  'protocol.fapi2: true',
  ({ protocol }) => Boolean(protocol.fapi2),
  registered((metadata) => !complies(metadata)),
)

const ownSession = ({ session }: Options): Judged =>
  session === undefined || session === 'own'
    ? { state: 'by configuration', reason: 'lifetimes.sessionIdle' }
    : { state: 'host', reason: 'your session decides' }

/** Without devices there is no flow across devices. */
const onDevices =
  (judge: (options: Options) => Judged) =>
  (options: Options): Judged =>
    featureNamed(options, 'device')
      ? judge(options)
      : { state: 'by configuration', reason: 'features without device()' }

const pkceForPublic = met(
  'test/attacks/authorize.test.ts',
  'a missing challenge is an error for a public client',
)

const documents: Readonly<Record<string, readonly Row[]>> = {
  'RFC 9700': [
    ['2.1', 'redirect URIs are compared as strings', comparedExactly],
    ['2.1.1', 'public clients use PKCE', pkceForPublic],
    ['2.1.1 S256', 'the PKCE challenge does not show the verifier', onlyS256],
    ['2.1.2', 'no access token is in the front channel', noImplicit],
    ['2.2.1', 'access tokens are bound to their sender', boundTokens],
    ['2.2.2', 'refresh tokens rotate, and reuse ends them', rotated],
    ['2.4', 'the password grant is not offered', met('test/attacks/token.test.ts', 'the grant type')],
    [
      '2.6',
      'the server publishes its metadata',
      met('test/flows/discovery.test.ts', 'both documents are below the issuer'),
    ],
    ['4.4', 'answers name the issuer', namesIssuer],
    ['4.5', 'a code works once', usedOnce],
    [
      '4.12',
      'redirects after a form use 303',
      met('test/attacks/login.test.ts', 'is answered with 303 and a local path'),
    ],
    ['4.13', 'proxies replace the headers that they set', host("set 'trust proxy' to match your proxies")],
    ['4.16', 'pages cannot be framed', met('test/attacks/pages.test.ts', 'cannot be framed')],
  ],
  'RFC 10017': [
    ['redirects', 'redirect URIs of browser-based apps are compared exactly', comparedExactly],
    ['PKCE', 'browser-based apps use PKCE', pkceForPublic],
    ['front channel', 'no access token is in the front channel', noImplicit],
    ['rotation', 'refresh tokens of browser-based apps rotate', rotatedForPublic],
    [
      'lifetime',
      'a new refresh token does not live longer than the first',
      met('test/flows/refresh-token.test.ts', 'a refresh token ends'),
    ],
    ['scripts', 'pages with tokens run only their own scripts', host('set a Content-Security-Policy there')],
  ],
  'RFC 10027': [
    [
      'confirmation',
      'the user confirms that the device is theirs',
      onDevices(met('test/attacks/device.test.ts', 'no page can be skipped')),
    ],
    [
      'one-time codes',
      'a code of a device works once',
      onDevices(
        met(
          'test/flows/device-authorization.test.ts',
          'a second use of the code revokes what the first one issued',
        ),
      ),
    ],
    [
      'guesses',
      'guesses of codes are limited',
      onDevices(met('test/attacks/device.test.ts', 'of many guesses from one address, twenty are looked up')),
    ],
    [
      'proximity',
      'a device far from its user is noticed',
      onDevices(host('compare the addresses in the event device.authorized')),
    ],
  ],
  'OAuth 2.1 draft': [
    ['1.5', 'the server is reached over TLS', https],
    [
      '2.3',
      'redirect URIs are registered and compared exactly',
      met('test/protocol/redirect-uri.test.ts', 'only a loopback port may differ from a registered URI'),
    ],
    ['4.1.1', 'the PKCE method is S256', onlyS256],
    ['4.1.3', 'a code works once, for its client', usedOnce],
    ['4.3', 'refresh tokens of public clients rotate', rotatedForPublic],
    ['10.1', 'the implicit grant is gone', noImplicit],
  ],
  'FAPI 2.0 Security Profile': [
    ['5.3.2.1 profile', 'every client is held to the profile', fapi],
    ['5.3.2.1 tokens', 'access tokens are bound to their sender', boundTokens],
    ['5.3.2.2 PAR', 'authorization requests are pushed', pushed],
    ['5.3.2.2 PKCE', 'PKCE uses S256', onlyS256],
    [
      '5.3.2.2 code',
      'a code lives for at most 60 seconds',
      setting('lifetimes.code: 60 or less', ({ lifetimes }) => lifetimes.code <= 60),
    ],
    ['5.3.2.2 iss', 'answers name the issuer', namesIssuer],
    ['5.2', 'TLS is 1.2 or newer, with recommended ciphers', host('configure TLS at the app or its proxy')],
  ],
  'OWASP ASVS 5': [
    [
      '6.3.1',
      'guessing of passwords is limited',
      onLoginPage(
        'limit guesses on your own login page',
        setting('limits.failures.loginAccountAddress', ({ limits }) =>
          Boolean(limits.failures.loginAccountAddress),
        ),
      ),
    ],
    [
      '6.3.3',
      'users can have a second factor or a passkey',
      onLoginPage(
        'offer one on your own login page',
        setting('passkeys(), authenticatorApps() or secondFactor()', (options) =>
          ['passkeys', 'authenticatorApps', 'secondFactor'].some((name) => featureNamed(options, name)),
        ),
      ),
    ],
    [
      '7.2.4',
      'a login gets a new session secret',
      met('test/attacks/session.test.ts', 'that was fixed before the login is worthless after it'),
    ],
    ['7.3.1', 'a session ends without activity', ownSession],
    ['7.3.2', 'a session ends after some time', setting('lifetimes.sessionAbsolute', () => true)],
    ['10.4.1', 'redirect URIs are compared as strings', comparedExactly],
    ['10.4.2', 'a code works once', usedOnce],
    [
      '10.4.3',
      'a code lives for at most 10 minutes',
      setting('lifetimes.code: 600 or less', ({ lifetimes }) => lifetimes.code <= 600),
    ],
    ['10.4.4', 'no implicit and no password grant', noImplicit],
    ['10.4.6', 'PKCE refuses the method plain', onlyS256],
    ['10.4.8', 'refresh tokens end, even if used', setting('lifetimes.refreshTokenAbsolute', () => true)],
    ['10.4.13', 'authorization requests are pushed', pushed],
    ['10.4.14', 'access tokens are bound to their sender', boundTokens],
    [
      '11.4.2',
      'passwords are stored with a slow hash',
      (options) =>
        options.users
          ? { state: 'host', reason: 'your user table decides' }
          : met('test/passwords/passwords.test.ts', 'makes argon2id hashes')(),
    ],
    ['12.2.1', 'the server is reached over TLS', https],
  ],
}

/**
 * Compares options with what security standards require.
 *
 * @param options the checked options of a server
 * @returns each requirement with its state, in the order of the documents
 * @example assess(options).filter(({ state }) => state === 'not met')
 */
export const assess = (options: Options): Assessed[] =>
  Object.entries(documents).flatMap(([document, rows]) =>
    rows.map(([number, requirement, judge]) => ({ document, number, requirement, ...judge(options) })),
  )
