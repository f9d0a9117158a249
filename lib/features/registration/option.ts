import { limit } from '../../options/limits.ts'
import { type CheckedMembers, callback, custom, explicit, flag } from '../../options/schema.ts'
import { origins } from '../../options/server.ts'
import type { ClientChanges, ClientMetadata } from '../../protocol/clients/client-metadata.ts'
import { isUnpredictable } from '../../protocol/entropy.ts'

/** How a client describes itself, and what it is. */
export interface RegistrationRequest {
  /** How the client describes itself: by dynamic registration, or by a metadata document. */
  kind: 'registration' | 'document'
  /** The URL of the metadata document, or the id of the client that changes its registration. */
  clientId?: string
  /** The IP address of the request; undefined when a document is read again in the background. */
  address?: string
}

/**
 * Decides about a client that describes itself. It gets the checked metadata. `false` refuses the client, changed
 * metadata replaces what the client said, and anything else accepts it as it is. Only this function can add `scope` beyond
 * the resources, `client_credentials`, or the members that are for the host.
 */
export type AllowClient = (
  client: ClientMetadata,
  request: RegistrationRequest,
) => ClientChanges | boolean | undefined | Promise<ClientChanges | boolean | undefined>

type InitialAccessToken = string | ((token: string) => boolean | Promise<boolean>)

const minTokenLength = 32

const isInitialToken = (token: unknown): token is InitialAccessToken =>
  typeof token === 'function' ||
  (typeof token === 'string' && token.length >= minTokenLength && isUnpredictable(token))

// An environment variable that is not set would open registration to everyone.
const initialAccessToken = explicit(
  custom<InitialAccessToken>(
    'a function, or a random string of at least 32 characters, such as that of `openssl rand -hex 32`',
    (token) => (isInitialToken(token) ? token : undefined),
  ),
)

/** Whether such clients may ask who the user is. */
const identityScopes = flag(true)

/** Dynamic client registration at `/register` (RFC 7591, RFC 7592): docs/registration.md. */
export const members = {
  /**
   * What a client that registers must send: a random string of at least 32 characters, or a function that checks it.
   * @default none: anyone can register a client
   */
  initialAccessToken,
  /**
   * Whether such clients may request `openid`, `profile`, `email`, `address` and `phone`. `false` leaves them the scopes of
   * your resources and `offline_access`.
   */
  identityScopes,
  /** Changes or refuses registrations. @default accepts all that are valid */
  allow: callback<AllowClient>(),
}

export const failures = {
  /** Wrong tokens at `/register` from one address. */
  register: limit(30, 60),
}

export const quotas = {
  /**
   * Registrations and their changes from one address, without those of clients that users have allowed something:
   * docs/registration.md#limits.
   */
  registration: limit(60, 3600),
  /** Registrations and their changes from one address in a day. */
  registrationDaily: limit(300, 86_400),
}

/** Clients whose `client_id` is the https URL of a document with their metadata: docs/registration.md#metadata-documents. */
export const documentMembers = {
  /** The only origins of documents, such as `'https://app.example.com'`. @default all */
  allowedOrigins: origins,
  /** Origins whose documents are refused. @default none */
  deniedOrigins: origins,
  /**
   * Origins that you vouch for, such as `'https://claude.ai'`. Pages show their clients like those that you registered.
   * @default none
   */
  verifiedOrigins: origins,
  /** `registration({ identityScopes })` for these clients. */
  identityScopes,
  /** Changes or refuses documents. @default accepts all that are valid */
  allow: callback<AllowClient>(),
}

export const documentQuotas = {
  /** New metadata documents that requests from one address make the server read. */
  document: limit(60, 3600),
}

/** The checked options of `registration()`. */
export type RegistrationOption = CheckedMembers<typeof members>
/** The checked options of `clientMetadataDocuments()`. */
export type DocumentOption = CheckedMembers<typeof documentMembers>
