import { type SentencePart, sentenceParts } from './description.ts'

// Why a connection of a client stopped, and what to do. The pages, the command line and checks of a running server all read
// this list, so that one cause has the same words everywhere.

/** The texts about a cause. `{name}` in a sentence stands for the value of that name. */
export interface CauseText {
  /** The fault. A part in brackets is left out if one of its values is unknown. */
  readonly sentence: string
  /** The mend, by the same rules. */
  readonly remedy: string
}

/** The causes, in the order of the steps of a connection. */
export const connectionCauses = {
  'no-challenge': {
    sentence: 'A call to {url} without a valid token gets the answer {answer}, and not 401',
    remedy:
      'Put requireToken() in front of the route, and give clients the URL of the route itself; a proxy must pass 401 on',
  },
  cors: {
    sentence: 'The browser keeps {url} from a client that is a web page at {origin}: CORS does not allow it',
    remedy:
      'Add CORS for the origin to this route, with its headers Authorization, Content-Type and MCP-Protocol-Version, and expose WWW-Authenticate',
  },
  'trailing-slash': {
    sentence: 'The client uses {path}, and the resource is {resource}: they differ by a slash at the end',
    remedy:
      'Use one URL in the option resources, in the guard and in the client, best without a slash at the end',
  },
  'other-guard': {
    sentence:
      'The guard at {path} names the resource {resource}, and so requires tokens for it, and not for {meant}',
    remedy: "Give the guard at {path} this resource: requireToken(scope, { resource: '{meant}' })",
  },
  'no-resource': {
    sentence: 'The guard at {path} has no resource, so its answer 401 names no document about it',
    remedy: 'Pass resource to requireToken(): the URL that clients are given, as in the option resources',
  },
  'no-root-document': {
    sentence:
      'After the answer 401 the document about {resource} was not asked for here: it is not served at the root, or the client does not look for it',
    remedy:
      'Mount oauth.wellKnown at the root, before other routes: app.use(oauth.wellKnown); behind a proxy, send /.well-known/ to this app. latchkey doctor checks both',
  },
  'not-at-root': {
    sentence: '{url} is not served: the answer is {answer}',
    remedy:
      'Mount oauth.wellKnown at the root, before other routes: app.use(oauth.wellKnown); behind a proxy, send /.well-known/ to this app; compare the option issuer with the URL of the mount. At the root itself the metadata needs registration()',
  },
  'document-not-served': {
    sentence: 'The client asked for {path}, and this server has no document there',
    remedy:
      'Give the client the URL of the resource as the option resources has it; for a document about the issuer, compare the option issuer with the URL of the mount',
  },
  'no-metadata': {
    sentence:
      'The client read the document about the resource, and did not ask for the metadata of this server',
    remedy:
      'Compare the option issuer with the public URL of the mount, and mount oauth.wellKnown at the root. A client also stops if resource in the document is not the URL that it was given',
  },
  'other-issuer': {
    sentence:
      'The metadata is of the issuer {received}, and the document about the resource names {expected}',
    remedy: 'Set the option issuer to the public URL of the mount',
  },
  'no-pkce': {
    sentence: 'code_challenge_methods_supported in the metadata has no S256, without which clients stop',
    remedy: 'Let the proxy pass the metadata on as it is: this server always lists S256',
  },
  'no-public-clients': {
    sentence:
      'The client read the metadata and did not go on: token_endpoint_auth_methods_supported has no none, which clients without a secret need',
    remedy: 'Turn off protocol.fapi2, or register the client with a key of its own',
  },
  'not-introduced': {
    sentence:
      'The client read the metadata and did not go on: it neither registered nor, from this address, opened the sign-in',
    remedy:
      'Turn on registration() and clientMetadataDocuments(), or give the client an id that you registered; check that a proxy leaves the metadata as it is',
  },
  'no-registration': {
    sentence: 'The client has to register, and the metadata has no registration_endpoint',
    remedy: 'Turn on registration(), or give the client an id that you registered',
  },
  'no-documents': {
    sentence:
      'The client has a metadata document and no other way, and the metadata has no client_id_metadata_document_supported',
    remedy: 'Turn on clientMetadataDocuments() or registration()',
  },
  'registration-refused': {
    sentence: 'The registration was refused: {reason}[; expected {expected}][, received {received}]',
    remedy: 'Correct what the client registers, or allow it: docs/registration.md',
  },
  'registration-deleted': {
    sentence: 'The registration of the client was deleted[ at {time}], and the client still uses it',
    remedy: 'Remove the connection in the app and add it again: then it registers anew',
  },
  'document-unreadable': {
    sentence: 'The metadata document of the client cannot be used: {reason}',
    remedy:
      'Open the URL from the machine of this server. If it is right there, this server cannot reach it: docs/registration.md#metadata-documents. A network that reaches the internet through a proxy needs outbound.proxy: docs/operation.md#outbound-proxy',
  },
  'client-disabled': {
    sentence: 'The client is disabled',
    remedy: 'Enable it on its admin page, or by latchkey client enable',
  },
  'client-waiting': {
    sentence: 'The client waits for approval',
    remedy: 'Approve or refuse it on the admin page of requests, or by latchkey client approve',
  },
  'redirect-uri': {
    sentence: 'The redirect URI is not registered: the client sent {received}[, and has {expected}]',
    remedy: 'Register the URI, byte for byte; of a loopback address only the port may differ',
  },
  'unknown-resource': {
    sentence:
      'The client asked for a resource that this server does not know: {received}[; it knows {expected}]',
    remedy: 'Give the client the URL as the option resources has it, or add the resource there',
  },
  'unknown-scope': {
    sentence: 'The client asked for a scope that it may not have: {received}[; it may have {expected}]',
    remedy: 'List the scope in scopes of the resource, or in scope of a client that you registered',
  },
  'request-refused': {
    sentence: 'The authorization request was refused: {reason}[; expected {expected}][, received {received}]',
    remedy: 'Correct the request of the client',
  },
  'not-requested': {
    sentence: 'The client registered, and no browser opened the sign-in',
    remedy: 'The app must open a browser on the machine of the user: look at what it shows there',
  },
  'sign-in-failed': {
    sentence: 'The user opened the sign-in, and the last attempt failed',
    remedy: 'Open the user’s page; it says why',
  },
  'not-signed-in': {
    sentence: 'The user opened the sign-in, and did not sign in',
    remedy: 'Nothing, if the user closed the page. Otherwise open the sign-in in the same browser again',
  },
  denied: {
    sentence: 'The user pressed Cancel',
    remedy: 'Nothing: the user can connect again',
  },
  'not-allowed': {
    sentence: 'The user signed in, and did not press Allow',
    remedy: 'Nothing, if the user closed the page. Otherwise connect again',
  },
  'not-redeemed': {
    sentence:
      'A code was sent, and the client did not redeem it: the browser could not reach the app, or the app had ended',
    remedy: 'Keep the app open during the sign-in, on the machine of the browser',
  },
  clock: {
    sentence:
      'A clock is wrong: the time of the client and that of this server differ by {difference}[; expected {expected}][, received {received}]',
    remedy: 'Set the clocks of both machines by NTP',
  },
  'token-refused': {
    sentence: 'The token endpoint refused the client: {reason}[; expected {expected}][, received {received}]',
    remedy: 'Correct what the client sends to the token endpoint; it can connect again',
  },
  'never-called': {
    sentence:
      'A token was issued[ for {resource}], and no guard has seen a call with it: the client stopped, it calls another URL, or its calls do not reach this app',
    remedy:
      'Compare the URL in the app with the option resources. A guard in another process that verifies JWTs by itself is seen here only with reportCalls: docs/guards.md#an-api-in-another-process',
  },
  'authorization-dropped': {
    sentence:
      'A client has a token, and the calls to {path} arrive without the header Authorization: a proxy drops it, or the client does not send it',
    remedy:
      'Let the proxy pass Authorization on: CGIPassAuth On in Apache, proxy_set_header Authorization $http_authorization in nginx',
  },
  'token-for-other-resource': {
    sentence:
      'The token is for another resource: the client has one for {received}, and the guard[ at {path}] requires {expected}',
    remedy: 'Use the same URL in the option resources, in the guard and in the client',
  },
  'token-expired': {
    sentence:
      'The client uses a token that has expired, and does not refresh it[; expected {expected}][, received {received}]',
    remedy:
      'Let the client refresh its tokens: it needs the grant refresh_token. Compare the clocks of all processes',
  },
  'token-ended': {
    sentence: 'The client uses a token that was revoked',
    remedy: 'Nothing: the client can connect again',
  },
  'token-unknown': {
    sentence: 'The guard[ at {path}] does not know the token: it is of another server, or was removed',
    remedy: 'Connect the client again; check that both use the same issuer and database',
  },
  'user-gone': {
    sentence: 'The user of the token is disabled, is gone, or has left the organization',
    remedy: 'Nothing, if that is meant. Otherwise look at isActive of the option users',
  },
  'scope-missing': {
    sentence: 'A scope is missing: the guard[ at {path}] requires {expected}, and the token has {received}',
    remedy:
      'List the scope in scopes of the resource, and name it in ask of the guard, so that clients request it at the first sign-in; the user may also have left it out',
  },
  'login-too-weak': {
    sentence: 'The guard[ at {path}] requires another sign-in: {reason}',
    remedy: 'The client must ask for it, by acr_values or max_age of the challenge',
  },
  'call-refused': {
    sentence:
      'The guard[ at {path}] refused the call: {reason}[; expected {expected}][, received {received}]',
    remedy: 'Correct what the client sends',
  },
  removed: {
    sentence: 'The access of the client was removed[ at {time}]',
    remedy: 'Nothing, if that is meant: the user can connect again',
  },
  failed: {
    sentence: 'This server failed: {reason}',
    remedy: 'Look for the error id in the log',
  },
} as const satisfies Readonly<Record<string, CauseText>>

/** The name of a cause. */
export type CauseName = keyof typeof connectionCauses

/** Why a connection stopped, with what is known about it. */
export interface Cause {
  readonly name: CauseName
  /** The values of the sentence, which may come from strangers. */
  readonly values: Readonly<Record<string, string | undefined>>
}

/** A cause in words, in pieces that say which of them are values. */
export interface CauseInWords {
  readonly sentence: readonly SentencePart[]
  readonly remedy: readonly SentencePart[]
}

/**
 * A cause in words.
 *
 * @example causeInWords({ name: 'denied', values: {} }).sentence // [{ text: 'The user pressed Cancel', isValue: false }]
 */
export const causeInWords = ({ name, values }: Cause): CauseInWords => {
  const { sentence, remedy } = connectionCauses[name]
  return { sentence: sentenceParts(sentence, values), remedy: sentenceParts(remedy, values) }
}

/** The texts of a cause as plain text. */
export const causeAsText = (cause: Cause): { readonly sentence: string; readonly remedy: string } => {
  const text = (parts: readonly SentencePart[]): string => parts.map((part) => part.text).join('')
  const { sentence, remedy } = causeInWords(cause)
  return { sentence: text(sentence), remedy: text(remedy) }
}
