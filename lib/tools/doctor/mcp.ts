import { createHash, randomBytes } from 'node:crypto'
import { type Cause, type CauseName, causeAsText } from '../../events/connection-causes.ts'
import type { Reason } from '../../protocol/refusal.ts'
import { bearer, tokenType } from '../../protocol/tokens/token-binding.ts'
import type { AppAnswer, Diagnosis } from '../check.ts'
import { clockTolerance } from './database.ts'
import { type McpHost, type McpStep, mcpHosts } from './mcp-hosts.ts'
import { type Ask, secondsAhead, UnreachableError } from './mount.ts'

/** The MCP server that a play visits, and how to ask it. */
interface Target {
  /** The URL of the MCP server, as users give it to a host. */
  readonly url: string
  readonly ask: Ask
}

/** The answers that a host has seen so far. */
interface Seen {
  /** The header of the answer 401. */
  readonly challenge?: string
  readonly document?: Readonly<Record<string, unknown>>
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly clientId?: string
  /** How the registration is removed again (RFC 7592). */
  readonly registration?: { readonly uri: string; readonly token: string }
}

type Outcome = { readonly seen: Seen } | { readonly cause: Cause }
type Step = (target: Target, host: McpHost, seen: Seen) => Promise<Outcome>

/** How far a host came with what can be tried without a user. */
export interface PlayedHost {
  readonly host: McpHost
  /** Where it stopped, and why; undefined if it reaches the sign-in and its token would reach the guard. */
  readonly stop?: { readonly step: McpStep; readonly cause: Cause }
  /** The id of a registration that could not be removed. */
  readonly leftClient?: string
}

/** The result of `latchkey doctor --mcp`. */
export interface McpDiagnosis {
  readonly hosts: readonly PlayedHost[]
  readonly findings: readonly Diagnosis[]
}

const stop = (name: CauseName, values: Cause['values'] = {}): Outcome => ({ cause: { name, values } })
/** The reason of a refusal for the sake of a metadata document. */
const documentUnusable: Reason = 'client_document_unusable'

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)
const listOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
const words = (scope: string | undefined): readonly string[] => (scope ?? '').split(' ').filter(Boolean)

/** The path of a URL; none for the root, as in the paths of RFC 8414 §3.1 and RFC 9728 §3.1. */
const pathOf = (url: string): string => new URL(url).pathname.replace(/^\/$/, '')
const wellKnown = (name: string, url: string): string =>
  `${new URL(url).origin}/.well-known/${name}${pathOf(url)}`

/** The resource that a document at this place is about (RFC 9728 §3.1); undefined for any other place. */
const resourceAt = (place: string): string | undefined => {
  const { origin, pathname, search } = new URL(place)
  const [before, path] = pathname.split('/.well-known/oauth-protected-resource', 2)
  return before === '' && path !== undefined ? `${origin}${path}${search}` : undefined
}

/** An answer in a few words. */
const answered = ({ status, headers }: AppAnswer): string => {
  if (status === 0) return 'no answer'
  return headers.get('content-type')?.includes('html') ? `${status} with HTML` : String(status)
}

/** The server's words about a refusal. */
const reasonOf = (answer: AppAnswer): string =>
  textOf(answer.json?.error_description) ?? textOf(answer.json?.error) ?? `the answer is ${answered(answer)}`

/** The first parameter of this name in a challenge (RFC 9110 §11.6.1). */
const parameterOf = (challenge = '', name: string): string | undefined => {
  const beginning = [` ${name}="`, `,${name}="`].find((text) => challenge.includes(text))
  return beginning && challenge.split(beginning, 2)[1]?.split('"', 1)[0]
}

const authorization = (token: string): Readonly<Record<string, string>> => ({
  Authorization: `${tokenType(bearer)} ${token}`,
})

/** The first message of an MCP client. */
const firstMessage = (headers: Readonly<Record<string, string>> = {}): RequestInit => ({
  method: 'POST',
  headers: {
    Accept: 'application/json, text/event-stream',
    'Content-Type': 'application/json',
    ...headers,
  },
  body: JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'latchkey-doctor', version: '1' },
    },
  }),
})

const challengeStep: Step = async ({ url, ask }) => {
  const answer = await ask(url, firstMessage())
  if (answer.status !== 401) return stop('no-challenge', { url, answer: answered(answer) })
  return { seen: { challenge: answer.headers.get('www-authenticate') ?? '' } }
}

const differBySlash = (one: string, other: string): boolean =>
  one.replace(/\/$/, '') === other.replace(/\/$/, '')

/** RFC 9728 §3.3: the document must be about the URL that the client was given. */
const documentStep: Step = async ({ url, ask }, _host, { challenge }) => {
  const own = wellKnown('oauth-protected-resource', url)
  const named = parameterOf(challenge, 'resource_metadata')
  const place = named !== undefined && URL.canParse(named) ? named : own
  const answer = await ask(place)
  const served = answer.status === 200 ? textOf(answer.json?.resource) : undefined
  const path = new URL(url).pathname
  if (served !== undefined && URL.canParse(served) && new URL(served).href === new URL(url).href)
    return { seen: { document: answer.json ?? {} } }
  // Where the document of another resource is missing, its place still says which one the guard has.
  const resource = served ?? (place === own ? undefined : resourceAt(place))
  if (resource === undefined) {
    if (named === undefined) return stop('no-resource', { path })
    return stop('not-at-root', { url: place, answer: answered(answer) })
  }
  if (differBySlash(resource, url)) return stop('trailing-slash', { path, resource })
  const known = (await ask(own)).json?.resource
  return known === url || (served === undefined && known !== resource)
    ? stop('other-guard', { path, resource, meant: url })
    : stop('unknown-resource', { received: url, expected: resource })
}

/** Judges the metadata: every host needs S256 (MCP, RFC 7636) and clients without a secret. */
const judged = (metadata: Readonly<Record<string, unknown>>): Outcome => {
  if (!listOf(metadata.code_challenge_methods_supported).includes('S256')) return stop('no-pkce')
  if (!listOf(metadata.token_endpoint_auth_methods_supported).includes('none'))
    return stop('no-public-clients')
  return { seen: { metadata } }
}

const metadataStep: Step = async ({ ask }, _host, { document }) => {
  const [issuer = ''] = listOf(document?.authorization_servers)
  if (!URL.canParse(issuer)) return stop('no-metadata')
  // The order of the MCP specification.
  const places = [
    wellKnown('oauth-authorization-server', issuer),
    wellKnown('openid-configuration', issuer),
    `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`,
  ]
  const [first, ...others] = places as [string, ...string[]]
  const missing = await ask(first)
  let answer = missing
  for (const place of others) if (answer.json?.issuer === undefined) answer = await ask(place)
  if (answer.json?.issuer === undefined) return stop('not-at-root', { url: first, answer: answered(missing) })
  if (answer.json.issuer !== issuer)
    return stop('other-issuer', { received: String(answer.json.issuer), expected: issuer })
  return judged(answer.json)
}

const rootMetadataStep: Step = async ({ url, ask }) => {
  const place = `${new URL(url).origin}/.well-known/oauth-authorization-server`
  const answer = await ask(place)
  if (answer.json?.issuer === undefined) return stop('not-at-root', { url: place, answer: answered(answer) })
  return judged(answer.json)
}

const isLoopback = ({ hostname }: URL): boolean => ['localhost', '127.0.0.1', '[::1]'].includes(hostname)

/** Of a loopback address the port may differ (RFC 8252 §7.3). */
const isRegistered = (uri: string, registered: readonly string[]): boolean =>
  registered.some((each) => {
    if (each === uri) return true
    const [one, other] = [new URL(each), new URL(uri)]
    return isLoopback(one) && one.hostname === other.hostname && one.pathname === other.pathname
  })

const registrationStep: Step = async ({ ask }, { registration, document, redirectUri }, { metadata }) => {
  const endpoint = textOf(metadata?.registration_endpoint)
  if (endpoint === undefined) return stop('no-registration')
  const { client_id: _, ...described }: Readonly<Record<string, unknown>> = registration ?? document ?? {}
  const answer = await ask(endpoint, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    // Operators recognize what could not be removed.
    body: JSON.stringify({ ...described, client_name: `${described.client_name} (latchkey doctor)` }),
  })
  const clientId = textOf(answer.json?.client_id)
  if (answer.status !== 201 || clientId === undefined)
    return stop('registration-refused', { reason: reasonOf(answer) })
  const [uri, token] = [
    textOf(answer.json?.registration_client_uri),
    textOf(answer.json?.registration_access_token),
  ]
  const seen = { clientId, ...(uri && token && { registration: { uri, token } }) }
  const uris = listOf(answer.json?.redirect_uris)
  if (isRegistered(redirectUri, uris)) return { seen }
  return { seen, ...stop('redirect-uri', { received: redirectUri, expected: uris.join(', ') }) }
}

/** A host with a document registers where documents are not announced, as the MCP specification says. */
const ownDocumentStep: Step = async (target, host, seen) => {
  if (seen.metadata?.client_id_metadata_document_supported === true)
    return { seen: { clientId: host.document?.client_id ?? '' } }
  return textOf(seen.metadata?.registration_endpoint) === undefined
    ? stop('no-documents')
    : registrationStep(target, host, seen)
}

/** The scopes that the host asks for; undefined if it leaves them to the server. */
const scopesOf = ({ scopes, offlineAccess }: McpHost, seen: Seen): string | undefined => {
  const asked = {
    challenge: parameterOf(seen.challenge, 'scope'),
    resource: listOf(seen.document?.scopes_supported).join(' ') || undefined,
    none: undefined,
  }[scopes]
  const isListed = listOf(seen.metadata?.scopes_supported).includes('offline_access')
  return offlineAccess && isListed ? [...words(asked), 'offline_access'].join(' ') : asked
}

/** The refusal of an unknown client by the token endpoint, in JSON: a refresh with a token that no one has. */
const refusalOf = async (
  { ask }: Target,
  { metadata }: Seen,
  clientId: string,
): Promise<AppAnswer | undefined> => {
  const endpoint = textOf(metadata?.token_endpoint)
  if (endpoint === undefined) return undefined
  const answer = await ask(endpoint, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'refresh_token',
      refresh_token: 'of-latchkey-doctor',
      client_id: clientId,
    }),
  })
  return answer.json?.error === 'invalid_client' ? answer : undefined
}

/** Why an authorization request was refused, by the names of RFC 6749 §4.1.2.1 and RFC 8707 §2. */
const causeOfRefusal = (request: URLSearchParams, seen: Seen, code: string, reason: string): Cause => {
  if (code === 'invalid_target')
    return { name: 'unknown-resource', values: { received: request.get('resource') ?? 'none' } }
  if (code === 'invalid_scope') {
    const expected = listOf(seen.document?.scopes_supported).join(' ') || undefined
    return { name: 'unknown-scope', values: { received: request.get('scope') ?? 'none', expected } }
  }
  return { name: 'request-refused', values: { reason } }
}

/** The error in a redirect to the client; undefined if the answer leads elsewhere, such as to the sign-in. */
const errorAt = ({ headers }: AppAnswer, place: string, redirectUri: string): URLSearchParams | undefined => {
  const location = headers.get('location') ?? ''
  if (!URL.canParse(location, place) || !location.startsWith(redirectUri)) return undefined
  const { searchParams } = new URL(location, place)
  return searchParams.has('error') ? searchParams : undefined
}

/** The scopes of the challenge that the token of the host would lack. */
const lackingScopes = (
  scope: string | undefined,
  { challenge, document }: Seen,
): Cause['values'] | undefined => {
  const listed = Array.isArray(document?.scopes_supported) ? listOf(document.scopes_supported) : undefined
  // The server leaves out scopes that the resource does not have.
  const got = scope === undefined ? listed : words(scope).filter((each) => listed?.includes(each) ?? true)
  const lacking = words(parameterOf(challenge, 'scope')).filter((each) => got?.includes(each) === false)
  return lacking.length === 0
    ? undefined
    : { expected: lacking.join(' '), received: got?.join(' ') || 'none' }
}

const authorizeStep: Step = async (target, host, seen) => {
  const endpoint = textOf(seen.metadata?.authorization_endpoint) ?? ''
  const { redirectUri } = host
  if (!URL.canParse(endpoint)) return stop('no-metadata')
  const scope = scopesOf(host, seen)
  const request = new URLSearchParams({
    response_type: 'code',
    client_id: seen.clientId ?? '',
    redirect_uri: redirectUri,
    code_challenge: createHash('sha256').update(randomBytes(32)).digest('base64url'),
    code_challenge_method: 'S256',
    state: 'of-latchkey-doctor',
    ...(scope !== undefined && { scope }),
    ...(host.resource && { resource: target.url }),
  })
  // An error page in JSON has the reason, if developers may read it.
  const open = (more = ''): Promise<AppAnswer> =>
    target.ask(`${endpoint}?${request}${more}`, { headers: { Accept: 'application/json' } })
  const answer = await open()
  if (answer.status === 0 || answer.status >= 500)
    return stop('failed', { reason: `${endpoint}: ${answered(answer)}` })
  const isRefused = answer.status >= 400 || errorAt(answer, endpoint, redirectUri) !== undefined
  if (isRefused) {
    // With `prompt=none` the client gets the error that people would see on a page.
    const told = errorAt(await open('&prompt=none'), endpoint, redirectUri)
    if (told) {
      const code = told.get('error') ?? ''
      return { cause: causeOfRefusal(request, seen, code, told.get('error_description') ?? code) }
    }
    const isAboutDocument = answer.json?.reason === documentUnusable
    return stop(isAboutDocument ? 'document-unreadable' : 'request-refused', { reason: reasonOf(answer) })
  }
  const lacking = lackingScopes(scope, seen)
  return lacking === undefined
    ? { seen: {} }
    : stop('scope-missing', { path: new URL(target.url).pathname, ...lacking })
}

/** A token of no one must be refused otherwise than none, or it did not arrive. */
const callStep: Step = async ({ url, ask }, _host, { challenge }) => {
  const answer = await ask(url, firstMessage(authorization('of-latchkey-doctor')))
  if (answer.status < 400) return stop('no-challenge', { url, answer: answered(answer) })
  return answer.status === 401 && (answer.headers.get('www-authenticate') ?? '') === challenge
    ? stop('authorization-dropped', { path: new URL(url).pathname })
    : { seen: {} }
}

/** Only a user makes tokens. */
const withUser: Step = async () => ({ seen: {} })

const steps: Readonly<Record<McpStep, Step>> = {
  challenge: challengeStep,
  'resource-document': documentStep,
  metadata: metadataStep,
  'root-metadata': rootMetadataStep,
  registration: registrationStep,
  document: ownDocumentStep,
  authorize: authorizeStep,
  token: withUser,
  call: callStep,
  refresh: withUser,
}

/** @returns the id if the registration could not be removed */
const removed = async ({ ask }: Target, { clientId, registration }: Seen): Promise<string | undefined> => {
  if (clientId === undefined || registration === undefined) return undefined
  const headers = authorization(registration.token)
  const { status } = await ask(registration.uri, { method: 'DELETE', headers })
  return status === 204 ? undefined : clientId
}

/** The headers of requests that a browser asks about first (the Fetch standard). */
const askedHeaders = 'authorization, content-type, mcp-protocol-version'

/** Whether a web page may send what hosts send to these URLs, and read the challenge. */
const blockedByCors = async (
  { url, ask }: Target,
  origin: string,
  { challenge, metadata }: Seen,
): Promise<Cause | undefined> => {
  const isAllowed = ({ headers }: AppAnswer): boolean =>
    ['*', origin].includes(headers.get('access-control-allow-origin') ?? '')
  const places = [
    url,
    parameterOf(challenge, 'resource_metadata'),
    textOf(metadata?.registration_endpoint),
    textOf(metadata?.token_endpoint),
  ].filter((place) => place !== undefined)
  const headers = {
    Origin: origin,
    'Access-Control-Request-Method': 'POST',
    'Access-Control-Request-Headers': askedHeaders,
  }
  for (const place of places) {
    const answer = await ask(place, { method: 'OPTIONS', headers })
    if (answer.status >= 300 || !isAllowed(answer)) return { name: 'cors', values: { url: place, origin } }
  }
  const answer = await ask(url, firstMessage({ Origin: origin }))
  const isExposed = /\*|www-authenticate/i.test(answer.headers.get('access-control-expose-headers') ?? '')
  return isAllowed(answer) && isExposed ? undefined : { name: 'cors', values: { url, origin } }
}

/** Goes through the steps of a host until one fails. */
const playSteps = async (
  target: Target,
  host: McpHost,
): Promise<{ readonly seen: Seen; readonly stop?: NonNullable<PlayedHost['stop']> }> => {
  let seen: Seen = {}
  for (const step of host.steps) {
    const outcome: { readonly seen?: Seen; readonly cause?: Cause } = await steps[step](target, host, seen)
    seen = { ...seen, ...outcome.seen }
    if (outcome.cause) return { seen, stop: { step, cause: outcome.cause } }
  }
  const cause = host.page === undefined ? undefined : await blockedByCors(target, host.page, seen)
  return { seen, ...(cause && { stop: { step: 'challenge', cause } }) }
}

const playHost = async (target: Target, host: McpHost): Promise<PlayedHost> => {
  const { seen, ...stopped } = await playSteps(target, host)
  const leftClient = await removed(target, seen)
  return { host, ...stopped, ...(leftClient !== undefined && { leftClient }) }
}

const findingOf = (cause: Cause, level: Diagnosis['level'] = 'error'): Diagnosis => {
  const { sentence, remedy } = causeAsText(cause)
  return { check: cause.name, level, message: sentence, fix: remedy }
}

const clockFindings = (answer: AppAnswer, now: number): Diagnosis[] => {
  const ahead = secondsAhead(answer, now) ?? 0
  if (Math.abs(ahead) <= clockTolerance) return []
  return [findingOf({ name: 'clock', values: { difference: `${Math.abs(ahead)} s` } })]
}

const leftFindings = (played: readonly PlayedHost[]): Diagnosis[] =>
  played.flatMap(({ leftClient }) =>
    leftClient === undefined
      ? []
      : {
          check: 'left-client',
          level: 'note' as const,
          message: `the registration ${leftClient} could not be removed`,
          fix: 'delete the client whose name ends with (latchkey doctor); unused ones end by themselves',
        },
  )

const discovery: readonly McpStep[] = ['challenge', 'resource-document', 'metadata', 'root-metadata']

/** Whether the server still knows the client that an app has stored. A sign-in would make one with a document known again. */
const clientFindings = async (
  target: Target,
  [host]: readonly McpHost[],
  clientId: string | undefined,
): Promise<Diagnosis[]> => {
  if (host === undefined || clientId === undefined) return []
  const { page: _, ...rest } = host
  const { seen } = await playSteps(target, {
    ...rest,
    steps: host.steps.filter((step) => discovery.includes(step)),
  })
  const refusal = await refusalOf(target, seen, clientId)
  return refusal === undefined ? [] : [findingOf({ name: 'registration-deleted', values: {} })]
}

/** A host that gets no answer goes on as after any other failure. */
const tolerant =
  (ask: Ask): Ask =>
  async (url, init) => {
    try {
      return await ask(url, init)
    } catch (error) {
      if (!(error instanceof UnreachableError)) throw error
      return { status: 0, headers: new Headers(), text: '', json: undefined }
    }
  }

/**
 * Plays the requests of MCP hosts against a running server, up to the sign-in, and a call with a token of no one. Registrations
 * are removed again.
 *
 * @param url of the MCP server, as users give it to a host
 * @param surroundings.ask sends one request and follows no redirect
 * @param surroundings.now epoch seconds
 * @param surroundings.clientId the id that an app has stored, to see whether the server still knows it
 * @returns how far each host came, and each mistake once
 * @throws UnreachableError if nothing answers at the URL, StoppedError if its TLS fails
 * @example await diagnoseMcp('https://app.example.com/mcp', { ask: requestAnswer, now })
 */
export const diagnoseMcp = async (
  url: string,
  {
    ask,
    now,
    hosts = mcpHosts,
    clientId,
  }: {
    readonly ask: Ask
    now(): number
    readonly hosts?: readonly McpHost[]
    readonly clientId?: string | undefined
  },
): Promise<McpDiagnosis> => {
  const first = await ask(url, firstMessage())
  const target = { url, ask: tolerant(ask) }
  const ofClient = await clientFindings(target, hosts, clientId)
  const played: PlayedHost[] = []
  for (const host of hosts) played.push(await playHost(target, host))
  const found = played.flatMap(({ stop: stopped }) =>
    // A server needs no web pages as clients.
    stopped ? [findingOf(stopped.cause, stopped.cause.name === 'cors' ? 'warning' : 'error')] : [],
  )
  return {
    hosts: played,
    findings: [
      // One mistake stops many hosts.
      ...new Map(found.map((finding) => [`${finding.check} ${finding.message}`, finding])).values(),
      ...clockFindings(first, now()),
      ...ofClient,
      ...leftFindings(played),
    ],
  }
}
