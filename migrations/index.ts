import { accessTokens } from './access-tokens.ts'
import { authorizations } from './authorizations.ts'
import { clientLogos } from './client-logos.ts'
import { clientOwners } from './client-owners.ts'
import { clientRegistrations } from './client-registrations.ts'
import { clients } from './clients.ts'
import { consentReceipts } from './consent-receipts.ts'
import { consents } from './consents.ts'
import { deviceCodes } from './device-codes.ts'
import { events } from './events.ts'
import { importedSecrets } from './imported-secrets.ts'
import { logins } from './logins.ts'
import type { SchemaChange } from './migration.ts'
import { passkeys } from './passkeys.ts'
import { pendingRequests } from './pending-requests.ts'
import { personalTokens } from './personal-tokens.ts'
import { refreshTokens } from './refresh-tokens.ts'
import { replays } from './replays.ts'
import { salts } from './salts.ts'
import { secondFactors } from './second-factors.ts'
import { sessions } from './sessions.ts'
import { signingKeys } from './signing-keys.ts'
import { throttles } from './throttles.ts'
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
  ['009_sessions', sessions],
  ['010_signing_keys', signingKeys],
  ['011_replays', replays],
  ['012_salts', salts],
  ['013_throttles', throttles],
  ['014_consent_receipts', consentReceipts],
  ['015_client_registrations', clientRegistrations],
  ['016_client_logos', clientLogos],
  ['017_device_codes', deviceCodes],
  ['018_events', events],
  ['019_second_factors', secondFactors],
  ['020_passkeys', passkeys],
  ['021_client_owners', clientOwners],
  ['022_personal_tokens', personalTokens],
  ['023_imported_secrets', importedSecrets],
])
