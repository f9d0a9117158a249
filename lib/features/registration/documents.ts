import type { AuthorizationServer } from '../../oauth/authorization-server.ts'
import { storeClient } from '../../oauth/clients/register.ts'
import { isOwnLimit, OutboundError } from '../../outbound/outbound.ts'
import type { ClientMetadata } from '../../protocol/clients/client-metadata.ts'
import { OAuthError } from '../../protocol/errors.ts'
import { refusal } from '../../protocol/refusal.ts'
import { isAhead } from '../../protocol/stored-time.ts'
import { isUniqueViolation } from '../../storage/database/errors.ts'
import { transaction } from '../../storage/database/transaction.ts'
import { findClient, lockClient } from '../../storage/repositories/clients.ts'
import { describedClient } from './description.ts'
import {
  documentLifetime,
  isDocumentGone,
  isDocumentUrl,
  longestLifetime,
  parseMetadataDocument,
} from './document-rules.ts'
import type { DocumentOption } from './option.ts'
import { originOf } from './registration.ts'
import {
  type ClientRegistrationRecord,
  createClientRegistration,
  findClientRegistration,
  type RegistrationOrigin,
  setDocumentRead,
  setDocumentUnread,
} from './table.ts'
import { makeRoom } from './unused.ts'

// Seconds.
/** How long a document may be used after it was last valid, while its server is out of reach. */
const maxStale = 2 * 86_400
/** How long an unused client stays in the database. */
const unusedLifetime = 86_400
/** The pause after a failure. */
const pause = 60

const unusable = (clientId: string, problem: string): OAuthError =>
  refusal('client_document_unusable', { values: { problem }, clientId })

const assertOrigin = (clientId: string, { allowedOrigins, deniedOrigins = [] }: DocumentOption): void => {
  const { origin } = new URL(clientId)
  if (deniedOrigins.includes(origin) || allowedOrigins?.includes(origin) === false) {
    throw unusable(clientId, 'this server does not accept metadata documents of this origin')
  }
}

interface ReadDocument {
  readonly metadata: ClientMetadata
  /** Seconds. */
  readonly lifetime: number
}

/** A document that cannot be used: gone for good, or only out of reach. */
class DocumentError extends Error {
  readonly isGone: boolean
  constructor(cause: Error, isGone: boolean) {
    super(cause.message, { cause })
    this.isGone = isGone
  }
}

/** Of a limit of this server: status 429 for too many requests, 503 while no request has its turn. */
const isOwnRefusal = ({ status }: OAuthError): boolean => status === 429 || status === 503

/** The client, if its document was read before, and the address of the request. */
interface Reading {
  readonly known: ClientRegistrationRecord | undefined
  readonly address: string | undefined
}

/**
 * @throws DocumentError
 * @throws OAuthError with status 429 or 503 if this server's own limits do not let it read the document now
 */
const fetchDocument = async (
  server: AuthorizationServer,
  { allow }: DocumentOption,
  clientId: string,
  { known, address }: Reading,
): Promise<ReadDocument> => {
  let status: number | undefined
  try {
    const { outbound } = server.reach.strangers({ clientId: known?.clientId, address })
    const { headers, body, ...response } = await outbound.request(clientId)
    status = response.status
    const document = parseMetadataDocument(clientId, {
      status,
      contentType: headers['content-type'],
      body,
    })
    const isNew = known === undefined && address !== undefined
    const request = { kind: 'document', clientId, ...(isNew && { address }) } as const
    const metadata = await describedClient(server, document, request, allow)
    return { metadata, lifetime: documentLifetime(headers['cache-control'], headers.age) }
  } catch (error) {
    if (isOwnLimit(error)) throw error.cause
    if (error instanceof OAuthError && isOwnRefusal(error)) throw error
    // Anything else is a fault of this server, or of the host's function.
    if (!(error instanceof OAuthError || error instanceof OutboundError)) throw error
    throw new DocumentError(error, isDocumentGone(error, status))
  }
}

const isSame = (one: ClientMetadata, other: ClientMetadata): boolean =>
  JSON.stringify(one) === JSON.stringify(other)

/** Stores a valid document, unless the host has adopted the client meanwhile. */
const storeDocument = async (
  server: AuthorizationServer,
  clientId: string,
  { metadata, lifetime }: ReadDocument,
  origin: RegistrationOrigin,
): Promise<void> => {
  const { database } = server
  const now = server.now()
  const read = { clientId, readAt: now, freshUntil: now + lifetime }
  await transaction(database, async (tx) => {
    const existing = await lockClient(tx, { clientId, now })
    if (existing === undefined) {
      await storeClient(tx, server, { clientId, secret: undefined, metadata }, undefined, now)
      const expiresAt = now + unusedLifetime
      await createClientRegistration(tx, { ...read, tokenHash: null, now, expiresAt, origin })
    } else if ((await setDocumentRead(tx, read)) && !isSame(existing.metadata, metadata)) {
      await storeClient(tx, server, { clientId, secret: undefined, metadata }, existing, now)
    }
  }).catch((error: unknown) => {
    // Another request has stored it.
    if (!isUniqueViolation(error instanceof OAuthError ? error.cause : error)) throw error
  })
}

/** Notes that a known document could not be read, unless another process has read it meanwhile. If it is gone, it is no longer used. */
const noteFailure = async (
  { database, now }: AuthorizationServer,
  { clientId, readAt }: ClientRegistrationRecord,
  { isGone }: DocumentError,
): Promise<void> => {
  const from = readAt ?? 0
  const read = Math.min(from, now())
  await setDocumentUnread(database, { clientId, from, readAt: isGone ? 0 : read, freshUntil: now() + pause })
}

/**
 * Reads a document and stores it as a client.
 *
 * @param known the client, if it was read before
 * @throws OAuthError `unauthorized_client` if the document cannot be used, status 429 after too many
 */
const readDocument = async (
  server: AuthorizationServer,
  documents: DocumentOption,
  clientId: string,
  { known, address }: Reading,
): Promise<void> => {
  // How often a known document is read does not depend on requests.
  if (known === undefined && address !== undefined) {
    await server.throttle.takeQuota([{ name: 'document', address }])
  }
  try {
    const document = await fetchDocument(server, documents, clientId, { known, address })
    const origin = originOf(server, address ?? '')
    if (known === undefined) await makeRoom(server, origin)
    await storeDocument(server, clientId, document, origin)
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error
    if (known) await noteFailure(server, known, error)
    throw unusable(clientId, error.message)
  }
}

/** The client stays as it is until the document has been read again. */
const readAgain = async (
  server: AuthorizationServer,
  documents: DocumentOption,
  known: ClientRegistrationRecord,
  address: string | undefined,
): Promise<void> => {
  const { clientId, readAt } = known
  try {
    // First, so that requests at the same time do not read it too.
    const unread = { ...known, readAt: Math.min(readAt ?? 0, server.now()) }
    await setDocumentUnread(server.database, {
      clientId,
      from: readAt ?? 0,
      readAt: unread.readAt,
      freshUntil: server.now() + pause,
    })
    await readDocument(server, documents, clientId, { known: unread, address })
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    server.options.logger.warn(`latchkey: the metadata document ${clientId} was not read: ${error.message}`)
  }
}

/** Reads a document that is too old. Only what is wrong with the document ends the use of its client, not our own limits. */
const readStale = async (
  server: AuthorizationServer,
  documents: DocumentOption,
  known: ClientRegistrationRecord,
  address: string | undefined,
): Promise<void> => {
  try {
    await readDocument(server, documents, known.clientId, { known, address })
  } catch (error) {
    const isGone = (known.readAt ?? 0) === 0
    if (isGone || !(error instanceof OAuthError && isOwnRefusal(error))) throw error
  }
}

/**
 * Makes sure that a client whose id is the URL of a metadata document is in the database as the document describes it. For
 * any other client it does not query the database.
 *
 * @param documents the option `clientMetadataDocuments()`
 * @param values.address of a request that may introduce a new client; without one only a known document is read again
 * @throws OAuthError `unauthorized_client` if the document cannot be used, status 429 after too many
 */
export const ensureDocumentClient = async (
  server: AuthorizationServer,
  documents: DocumentOption,
  clientId: string,
  { address }: { address?: string } = {},
): Promise<void> => {
  const { database, options, now: clock } = server
  if (!isDocumentUrl(clientId, options.outbound.allowSelfDescribed)) return
  const now = clock()
  const known = await findClientRegistration(database, { clientId })
  if (known === undefined) {
    const isNew = address !== undefined
    // The host may have registered a client with this id.
    if (!isNew || (await findClient(database, { clientId, now }))) return
    assertOrigin(clientId, documents)
    return readDocument(server, documents, clientId, { known, address })
  }
  assertOrigin(clientId, documents)
  const [readAt, freshUntil] = [known.readAt ?? 0, known.freshUntil ?? 0]
  const isUsable = readAt + maxStale > now
  if (!isAhead(freshUntil, now, longestLifetime)) {
    if (!isUsable) return readStale(server, documents, known, address)
    server.runInBackground(readAgain(server, documents, known, address))
  }
  if (!isUsable) throw unusable(clientId, 'its metadata document is gone')
}
