import { accessTokens } from './access-tokens.ts'
import { authorizations } from './authorizations.ts'
import { authorizationsByClient } from './authorizations-by-client.ts'
import { clientLogos } from './client-logos.ts'
import { clients } from './clients.ts'
import { clientsByOrigin } from './clients-by-origin.ts'
import { consentReceipts } from './consent-receipts.ts'
import { consents } from './consents.ts'
import { events } from './events.ts'
import { importedSecrets } from './imported-secrets.ts'
import { logins } from './logins.ts'
import { loginsDevices } from './logins-devices.ts'
import type { SchemaChange } from './migration.ts'
import { pendingRequests } from './pending-requests.ts'
import { refreshTokens } from './refresh-tokens.ts'
import { replays } from './replays.ts'
import { revocations } from './revocations.ts'
import { salts } from './salts.ts'
import { signingKeys } from './signing-keys.ts'
import { throttles } from './throttles.ts'
import { throttlesOwners } from './throttles-owners.ts'
import { users } from './users.ts'

/**
 * Every migration, in order. From version 0.1 on, a migration that was released is never edited or renamed: each change of
 * the schema is a new one.
 */
export const migrations: ReadonlyMap<string, SchemaChange> = new Map([
  ['001_clients', clients],
  ['002_users', users],
  ['003_logins', logins],
  ['004_pending_requests', pendingRequests],
  ['005_authorizations', authorizations],
  ['006_access_tokens', accessTokens],
  ['007_refresh_tokens', refreshTokens],
  ['008_consents', consents],
  ['009_signing_keys', signingKeys],
  ['010_replays', replays],
  ['011_salts', salts],
  ['012_throttles', throttles],
  ['013_consent_receipts', consentReceipts],
  ['014_client_logos', clientLogos],
  ['015_events', events],
  ['016_imported_secrets', importedSecrets],
  ['017_revocations', revocations],
  ['018_logins_devices', loginsDevices],
  ['019_authorizations_by_client', authorizationsByClient],
  ['020_throttles_owners', throttlesOwners],
  ['021_clients_by_origin', clientsByOrigin],
])
