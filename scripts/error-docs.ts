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
    'If the parameter was sent, middleware above the router has read the body and left nothing: mount the router above it. If it is `client_id`, a proxy removed the header `Authorization`.',
  redirect_uri_unregistered:
    'A slash, `www`, `http`, a port or a query differs. `latchkey explain` prints both URIs, `npx latchkey client update ID --redirect-uri URI` registers another.',
  request_without_cookie: 'See [Symptoms](#symptoms).',
  form_foreign:
    'The cookies were deleted or `secrets` replaced while the form was open; processes have different `secrets`; or a proxy changes `Origin` or `Sec-Fetch-Site`.',
  code_challenge_method_wrong:
    'Configure S256 in the client; only for one that cannot hash, add `plain` to [`codeChallengeMethods`](options.md).',
  authentication_client_unknown:
    'Client authentication failed. `npx latchkey client rotate-secret ID` makes a new secret.',
  client_assertion_untimely: 'The clock of the client is wrong: use NTP. 30 seconds are tolerated.',
  client_assertion_used:
    'The library caches assertions. [Sign one for each request](clients.md#client-metadata).',
  code_unknown:
    'The code is of another server, database or client, or was cut off; or a [replica](scaling.md#read-replicas) or [Galera node](operation.md#galera) lags.',
  code_expired:
    'More than 60 seconds have passed: a debugger, a slow start of the client, or clocks that differ.',
  code_used:
    'The callback ran twice: a double click, a reload, a prefetch, a retry, or an effect that React runs twice in development. Redeem the code once, on the server. Every token issued for it is revoked.',
  code_verifier_wrong:
    'The client has stored the verifier of another tab or request. Store it under `state`.',
  code_verifier_missing:
    'The client started with PKCE and has lost the verifier, for example with its session cookie.',
  refresh_token_expired: 'The token was not used for 30 days, or the authorization is a year old.',
  refresh_token_used:
    'Two processes or tabs used the token more than `lifetimes.refreshGracePeriod` apart, or the client did not store the new one at once. Every token of the authorization is revoked.',
  refresh_token_revoked:
    'The user removed the client, signed out (without `offline_access`), or `revokeAll()` was called.',
  user_inactive: '`isActive` returned `false`, or `users.find` found none.',
  client_unknown: '`npx latchkey client list` shows the clients of this database.',
  client_disabled: '`npx latchkey client enable ID` enables it.',
  client_waiting: 'See [Approval](developers.md#approval).',
  login_missing:
    'No user is signed in, or a frame of another site gets no cookies: see [Renewing tokens](recipes/spa.md#renewing-tokens).',
  login_not_made:
    'Your own login page came back, and `login.current` returned nothing. Store the session before you redirect to `return_to`.',
  login_not_renewed:
    'With `prompt=login` or `max_age`: `authTime` is missing, or older than the request. Ask for the password again if `prompt` contains `login`, and set the time anew.',
  token_missing:
    'No token came. Some proxies remove the header `Authorization`, and so do redirects of fetch to another origin.',
  token_unknown:
    'The token is of another issuer or database, has expired, was revoked, or is for another [resource](resources.md). `npx latchkey token inspect` tells you which.',
  token_user_missing: '`{ user: false }` accepts [tokens of clients](recipes/machine.md).',
  proof_url_differs:
    'The `htu` of the proof is wrong: the API is behind a proxy, or the client uses another URL. Set [`baseUrls`](dpop.md#the-url-of-a-request).',
  proof_nonce_needed: 'Repeat the request with the nonce of the header `DPoP-Nonce`.',
  unavailable:
    'The database or [one of your functions](users.md#when-your-function-fails) failed or took too long. The log has the cause under the same id.',
  session_unavailable: 'The session store is not connected or does not answer.',
  session_missing:
    "The session middleware comes after the router, its cookie has another `path`, or it is not express-session. Write `app.use(session(…))` above `app.use('/oauth', oauth)`.",
  request_not_https: 'The log has the line that mends it: see [Proxy](production.md#proxy).',
  failures_too_many:
    'Often a service with an old secret, which the event `client.refused` names. See [`limits`](options.md#limits).',
}

/** Reasons of one sentence are one item. Those whose sentence says what to do have none. */
const itemsOf = (sentences: Readonly<Record<string, string>>): string[] => {
  const groups = new Map<string, string[]>()
  for (const [reason, sentence] of Object.entries(sentences))
    groups.set(sentence, [...(groups.get(sentence) ?? []), reason])
  return [...groups.values()].flatMap((names) => {
    const found = names.flatMap((name) => remedies[name as Reason] ?? [])
    return found.length === 0 ? [] : [`- ${quoted(names)}: ${found.join(' ')}`]
  })
}

const quoted = (names: readonly string[]): string => names.map((each) => `\`${each}\``).join(', ')

const ofCode = ([code, sentences]: [string, Readonly<Record<string, string>>]): string => {
  const note = notes[code as ErrorCode]
  const items = itemsOf(sentences)
  return [
    `<a id="${code}"></a>**\`${code}\`**, ${errorStatuses[code as ErrorCode]}${note === undefined ? '' : `. ${note}`}`,
    ...(items.length > 0 ? [items.join('\n')] : []),
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
