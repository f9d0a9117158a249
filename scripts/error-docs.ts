/** Writes the reasons of docs/errors.md from the list of reasons. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type ErrorCode, errorStatuses } from '../lib/protocol/errors.ts'
import type { Reason } from '../lib/protocol/refusal.ts'
import { reasons } from '../lib/protocol/texts/reasons.ts'

const root = resolve(import.meta.dirname, '..')

/** What the sentences of an error code do not say. */
const notes: Partial<Readonly<Record<ErrorCode, string>>> = {
  invalid_scope:
    'Of several scopes, one that the client may not have is left out silently; in development the log names it. For `client_credentials` one is enough for the error.',
  access_denied: 'At the token endpoint the tokens of the client stay valid.',
  login_required: 'With `prompt=none`, or if your own login page did not sign the user in.',
  consent_required:
    'With `prompt=none`. If a user is signed in who has allowed the client nothing, it is always this error, so the client learns nothing about the user.',
  use_dpop_nonce: '401 where an access token is used. Libraries repeat the request once by themselves.',
  invalid_dpop_proof: '401 where an access token is used. See [DPoP](dpop.md#errors).',
  slow_down: 'See [polling](device.md#polling).',
  invalid_request_uri: 'Also for a pushed request that is unknown, expired or used.',
  server_error: 'A bug, in Latchkey or in one of your functions.',
  temporarily_unavailable: 'Or 429 for too many requests; the answer has `Retry-After`.',
}

/** What to do, where the sentence does not say it. */
const remedies: Partial<Readonly<Record<Reason, string>>> = {
  parameter_missing:
    'If it was sent, middleware above the router has read the body and left nothing: mount the router above it. If it is `client_id`, a proxy removed the header `Authorization`.',
  redirect_uri_unregistered:
    'A slash, `www`, `http`, a port or a query differs from the [registered](#limits) one. `latchkey explain` prints both, `npx latchkey client update ID --redirect-uri URI` registers it.',
  request_without_cookie: 'See [Symptoms](#symptoms).',
  form_foreign:
    'The cookies were deleted or `secrets` replaced while the form was open; processes have different `secrets`; or a proxy changes `Origin` or `Sec-Fetch-Site`.',
  code_challenge_method_wrong:
    'Configure S256 in the client; only for one that cannot hash, add `plain` to [`codeChallengeMethods`](options.md).',
  authentication_client_unknown: '`npx latchkey client rotate-secret ID` makes a new secret.',
  client_assertion_untimely: 'The clock of the client is wrong: use NTP. 30 seconds are tolerated.',
  client_assertion_used:
    'The library caches assertions. Sign one for each request: see [Client metadata](clients.md#client-metadata).',
  code_unknown:
    'It is of another server or database, was cut off, or belongs to another client; or a [replica](scaling.md#read-replicas) or [Galera node](operation.md#galera) lags.',
  code_expired:
    'More than 60 seconds have passed: a debugger, a slow start of the client, or clocks that differ.',
  code_used:
    'The callback ran twice: a double click, a reload, a prefetch, a retry, or an effect that React runs twice in development. Redeem the code once, on the server.',
  code_verifier_wrong:
    'The client has stored the verifier of another tab or request. Store it under `state`.',
  code_verifier_missing:
    'The client started with PKCE and has lost the verifier, for example with its session cookie.',
  refresh_token_expired: 'It was not used for 30 days, or the authorization is a year old.',
  refresh_token_used:
    'Two processes or tabs used it more than `lifetimes.refreshGracePeriod` apart, or the client did not store the new one before it used the access token.',
  refresh_token_revoked:
    'The user removed the client, signed out (without `offline_access`), or `revokeAll()` was called.',
  user_inactive: '`isActive` returned `false`, or `users.find` found none.',
  client_unknown: 'It is in another database, or has another id. `npx latchkey client list` shows all.',
  client_disabled: '`npx latchkey client enable ID` enables it.',
  client_waiting: 'See [Approval](developers.md#approval).',
  login_missing:
    'No user is signed in, or a frame of another site gets no cookies: see [Renewing tokens](recipes/spa.md#renewing-tokens).',
  login_not_made:
    'Your own login page came back, and `login.current` returned nothing. Store the session before you redirect to `return_to`; `login.current` must read the same session.',
  login_not_renewed:
    'With `prompt=login` or `max_age`: `authTime` is missing, or older than the request. Ask for the password again if `prompt` contains `login`, and set the time anew.',
  token_missing:
    'Some proxies remove the header `Authorization`, and so do redirects of fetch to another origin.',
  token_unknown:
    'It is of another issuer or database, has expired, was revoked, or is for another [resource](resources.md). `npx latchkey token inspect` tells you which.',
  token_user_missing: '`{ user: false }` accepts [tokens of clients](recipes/machine.md).',
  proof_url_differs:
    'The API is behind a proxy, or the client uses another URL: set [`baseUrls`](dpop.md#the-url-of-a-request).',
  proof_nonce_needed: 'Repeat the request with it.',
  unavailable:
    'The database or one of your functions failed or took too long. The log has the cause under the same id: see [When your function fails](users.md#when-your-function-fails).',
  session_unavailable: 'Its store is not connected or does not answer. The log says which.',
  session_missing:
    "The session middleware comes after the router, its cookie has another `path`, or it is not express-session. Write `app.use(session(…))` above `app.use('/oauth', oauth)`.",
  request_not_https: 'The log has the line that mends it: see [Proxy](production.md#proxy).',
  failures_too_many:
    'Often a service with an old secret, which the event `client.refused` names. See [`limits`](options.md#limits).',
}

const isRemedied = (reason: string): boolean => remedies[reason as Reason] !== undefined

/** Reasons of one sentence are one item, if any of them has a remedy; the others are names. */
const itemsOf = (sentences: Readonly<Record<string, string>>): string[] => {
  const groups = new Map<string, [string, string][]>()
  for (const [reason, sentence] of Object.entries(sentences))
    groups.set(sentence, [...(groups.get(sentence) ?? []), [reason, sentence]])
  const withRemedy = [...groups].filter(([, entries]) => entries.some(([reason]) => isRemedied(reason)))
  const explained = new Set(withRemedy.flatMap(([, entries]) => entries.map(([reason]) => reason)))
  const others = Object.keys(sentences).filter((reason) => !explained.has(reason))
  return [
    ...(others.length > 0 ? [others] : []).map((names) => `- ${quoted(names)}`),
    ...withRemedy.map(([sentence, entries]) => {
      const names = entries.map(([reason]) => reason)
      const remedy = names.map((name) => remedies[name as Reason]).filter(Boolean)
      return `- ${quoted(names)}: ${[`${sentence.replaceAll(/\{(\w+)\}/g, '*$1*')}.`, ...remedy].join(' ')}`
    }),
  ]
}

const quoted = (names: readonly string[]): string => names.map((each) => `\`${each}\``).join(', ')

const ofCode = ([code, sentences]: [string, Readonly<Record<string, string>>]): string => {
  const note = notes[code as ErrorCode]
  return [
    `<a id="${code}"></a>**\`${code}\`**, ${errorStatuses[code as ErrorCode]}${note === undefined ? '' : `. ${note}`}`,
    itemsOf(sentences).join('\n'),
  ].join('\n\n')
}

const marks = ['<!-- written by npm run docs:options -->', '<!-- end -->'] as const

/** @returns the text that docs/errors.md must have */
export const errorPage = (): string => {
  const page = readFileSync(join(root, 'docs/errors.md'), 'utf8')
  const [begin, end] = [page.indexOf(marks[0]), page.indexOf(marks[1])]
  if (begin < 0 || end < begin) throw new Error(`docs/errors.md lacks ${marks.join(' and ')}`)
  const written = Object.entries(reasons).map(ofCode).join('\n\n')
  return `${page.slice(0, begin + marks[0].length)}\n\n${written}\n\n${page.slice(end)}`
}

if (import.meta.filename === process.argv[1]) writeFileSync(join(root, 'docs/errors.md'), errorPage())
