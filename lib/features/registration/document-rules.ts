import { refuseClient, refuseMetadata } from '../../protocol/clients/client-metadata-checks.ts'
import { OAuthError } from '../../protocol/errors.ts'
import { parseJsonObject } from '../../protocol/json.ts'
import { lengths } from '../../protocol/lengths.ts'

// Client ID metadata documents: draft-ietf-oauth-client-id-metadata-document.

/**
 * Whether a client_id can be the URL of a metadata document (§3): https, with a path and without fragment, credentials
 * and dot segments, written as a URL parser writes it.
 *
 * @param plainOrigins origins that may use http
 */
export const isDocumentUrl = (clientId: string, plainOrigins: readonly string[]): boolean => {
  if (!/^https?:\/\//.test(clientId) || clientId.length > lengths.identifier || !URL.canParse(clientId))
    return false
  const url = new URL(clientId)
  const hasScheme = url.protocol === 'https:' || plainOrigins.includes(url.origin)
  const isBare = url.hash === '' && url.username === '' && url.password === '' && !clientId.includes('#')
  return hasScheme && isBare && url.pathname !== '/' && url.href === clientId
}

/** Secrets cannot be shared by a public document (§4.1). */
const secretMembers = ['client_secret', 'client_secret_expires_at']
const methods = ['none', 'private_key_jwt']

/**
 * How a client may authenticate. A document has the method that it prefers, and since it is for every server it may offer others
 * in `token_endpoint_auth_methods_supported` (OpenID Connect Relying Party Metadata Choices §2).
 *
 * @returns the method, and those of the list that this server accepts
 * @throws OAuthError `invalid_client_metadata` if it accepts none of them
 */
const authMethodsOf = (document: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> => {
  const {
    token_endpoint_auth_method: preferred = 'none',
    token_endpoint_auth_methods_supported: others = [],
  } = document
  const offered: readonly unknown[] = [preferred, ...(Array.isArray(others) ? others : [])]
  const hasKeys = document.jwks !== undefined || document.jwks_uri !== undefined
  const usable = methods.filter((method) => offered.includes(method))
  const [first, second] = usable
  if (first === undefined)
    refuseMetadata('token_endpoint_auth_method', 'must be none or private_key_jwt in a metadata document')
  return {
    token_endpoint_auth_method: (hasKeys ? second : undefined) ?? first,
    token_endpoint_auth_methods_supported: usable,
  }
}

/** A response to the request for a document. */
export interface DocumentResponse {
  readonly status: number
  readonly contentType: string | undefined
  readonly body: string
}

/**
 * The members of a metadata document (§4). Their values are checked like any registration.
 *
 * @param url its client_id
 * @throws OAuthError `invalid_client_metadata` unless it is the document of this client
 */
export const parseMetadataDocument = (
  url: string,
  { status, contentType = '', body }: DocumentResponse,
): Readonly<Record<string, unknown>> => {
  if (status !== 200) refuseClient(`the metadata document has status ${status}`)
  if (!/^application\/([\w.-]+\+)?json\s*(;|$)/i.test(contentType))
    refuseClient('the metadata document is not JSON')
  const document = parseJsonObject(body) ?? refuseClient('the metadata document is not a JSON object')
  if (document.client_id !== url) refuseMetadata('client_id', 'in the metadata document differs from its URL')
  for (const name of ['client_name', 'redirect_uris']) {
    if (document[name] === undefined)
      refuseMetadata(name, 'is required in a metadata document', 'metadata_missing')
  }
  if (secretMembers.some((name) => Object.hasOwn(document, name))) {
    refuseMetadata('client_secret', 'must not be in a metadata document')
  }
  return { ...document, ...authMethodsOf(document) }
}

/** Whether a failure is the client's: its document is gone or invalid, and not only out of reach for now. */
export const isDocumentGone = (error: unknown, status: number | undefined): boolean =>
  error instanceof OAuthError && status !== undefined && status < 500 && status !== 429

// Seconds.
const minAge = 300
const usualAge = 3600
/** Seconds. */
export const longestLifetime = 86_400

/**
 * How long a document may be used before it is read again (RFC 9111 §4.2.1), between 5 minutes and a day; one hour if it
 * does not say.
 *
 * @param age the header Age
 * @returns seconds
 */
export const documentLifetime = (cacheControl = '', age = ''): number => {
  if (/(^|[\s,])no-(store|cache)\b/i.test(cacheControl)) return minAge
  const stated = /(?:^|[\s,])max-age\s*=\s*"?([0-9]{1,9})/i.exec(cacheControl)?.[1]
  if (stated === undefined) return usualAge
  const left = Number(stated) - (/^[0-9]{1,9}$/.test(age) ? Number(age) : 0)
  return Math.min(longestLifetime, Math.max(minAge, left))
}
