import type { ClientChanges, ClientMetadata } from '../protocol/clients/client-metadata.ts'

/** The applicant for a registration, as a policy sees it. */
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
 * metadata replaces what the client said, and anything else accepts it as it is. Only a policy can add `scope` beyond
 * the resources, `client_credentials`, or the members that are for the host.
 */
export type ClientPolicy = (
  client: ClientMetadata,
  request: RegistrationRequest,
) => ClientChanges | boolean | undefined | Promise<ClientChanges | boolean | undefined>

/** Dynamic client registration (RFC 7591, RFC 7592). */
export interface RegistrationOptions {
  /**
   * Required of a client that registers: a secret of at least 32 characters, or a function that checks the token of the
   * request. @default none: anyone can register a client
   */
  initialAccessToken?: string | ((token: string) => boolean | Promise<boolean>)
  /** Changes or refuses registrations. @default accepts all that are valid */
  policy?: ClientPolicy
}

/** Clients whose `client_id` is the URL of a document with their metadata. */
export interface MetadataDocumentOptions {
  /** The only origins of documents, such as `'https://app.example.com'`. @default all */
  allow?: readonly string[]
  /** Origins whose documents are refused. @default [] */
  deny?: readonly string[]
  /** Changes or refuses documents. @default accepts all that are valid */
  policy?: ClientPolicy
}
