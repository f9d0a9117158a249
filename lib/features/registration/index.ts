import { describedAt } from '../../protocol/clients/client.ts'
import type { Feature } from '../feature.ts'
import { withheldScopes } from './description.ts'
import { ensureDocumentClient } from './documents.ts'
import { registerEndpoint, registrationEndpoint } from './endpoints.ts'
import { clientRegistrations, registrationOrigins } from './migration.ts'
import { option } from './option.ts'
import { deleteClientRegistration, keepDisabledClient, keepUsedClient } from './table.ts'
import { expiryAfter, removeExpiredClients } from './unused.ts'

/** Clients that describe themselves: by dynamic registration (RFC 7591, RFC 7592), or by a metadata document. */
export const registration: Feature = {
  name: 'registration',
  option,
  migrations: new Map([
    ['107_client_registrations', clientRegistrations],
    ['109_client_registration_origins', registrationOrigins],
  ]),
  texts: {},
  userData: undefined,
  clientData: {
    erase: async (database, clientId) => void (await deleteClientRegistration(database, { clientId })),
    // Its registration access token is then worthless, and its document is no longer read.
    takeOver: async (tx, clientId) => void (await deleteClientRegistration(tx, { clientId })),
    disable: (tx, clientId) => keepDisabledClient(tx, { clientId }),
    // A client that is used now stays, for long enough.
    whenGranted: ({ clientId, metadata: { self_described: by } }, { until, now }) =>
      by === 'registration' || by === 'document'
        ? keepUsedClient({ clientId, now, expiresAt: expiryAfter(until) })
        : undefined,
  },
  expired: [removeExpiredClients],
  tools: undefined,
  activate: (options) => {
    const { registration: given, clientMetadataDocuments: documents } = options.features
    return {
      withheldScopes: (client) => withheldScopes(options, client),
      ...(given && { api: [registerEndpoint(given), registrationEndpoint(given)] }),
      ...(documents && {
        refreshClient: (server, clientId, from) => ensureDocumentClient(server, documents, clientId, from),
        vouchesFor: (client) =>
          documents.verifiedOrigins?.includes(describedAt(client)?.origin ?? '') ?? false,
        metadata: { client_id_metadata_document_supported: true },
      }),
    }
  },
}
