import { describedAt } from '../../protocol/clients/client.ts'
import { type ActiveFeature, defineFeature, type FeatureDefinition } from '../feature.ts'
import { withheldScopes } from './description.ts'
import { ensureDocumentClient } from './documents.ts'
import { registerEndpoint, registrationEndpoint } from './endpoints.ts'
import { clientRegistrations, registrationOrigins } from './migration.ts'
import { documentMembers, documentQuotas, failures, members, quotas } from './option.ts'
import { deleteClientRegistration, keepDisabledClient, keepUsedClient } from './table.ts'
import { expiryAfter, removeExpiredClients } from './unused.ts'

const definition: FeatureDefinition = {
  name: 'registration',
  storage: {
    migrations: new Map([
      ['registration_001', clientRegistrations],
      ['registration_002_origins', registrationOrigins],
    ]),
    users: undefined,
    clients: {
      erase: async (database, clientId) => void (await deleteClientRegistration(database, { clientId })),
      selfDescription: {
        withheldScopes,
        // Its registration access token is then worthless, and its document is no longer read.
        takeOver: async (tx, clientId) => void (await deleteClientRegistration(tx, { clientId })),
        disable: (tx, clientId) => keepDisabledClient(tx, { clientId }),
        // A client that is used now stays, for long enough.
        whenGranted: ({ clientId, metadata: { self_described: by } }, { until, now }) =>
          by === 'registration' || by === 'document'
            ? keepUsedClient({ clientId, now, expiresAt: expiryAfter(until) })
            : undefined,
      },
    },
    expired: [removeExpiredClients],
  },
}

/**
 * Clients that register themselves (RFC 7591, RFC 7592): docs/registration.md.
 *
 * @example registration({ identityScopes: false })
 */
export const registration = defineFeature(definition, {
  name: 'registration',
  members,
  limits: { failures, quotas },
  activate: (option) => ({
    endpoints: { programs: [registerEndpoint(option), registrationEndpoint(option)] },
  }),
})

/**
 * Clients whose id is the URL of a document with their metadata: docs/registration.md#metadata-documents.
 *
 * @example clientMetadataDocuments({ allowedOrigins: ['https://claude.ai'] })
 */
export const clientMetadataDocuments = defineFeature(definition, {
  name: 'clientMetadataDocuments',
  members: documentMembers,
  limits: { quotas: documentQuotas },
  activate: (option): ActiveFeature => ({
    oauth: {
      clients: {
        refresh: (server, clientId, from) => ensureDocumentClient(server, option, clientId, from),
        vouchesFor: (client) => option.verifiedOrigins?.includes(describedAt(client)?.origin ?? '') ?? false,
      },
      metadata: { client_id_metadata_document_supported: true },
    },
  }),
})
