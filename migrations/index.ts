import { accessTokens } from './access-tokens.ts'
import { accessTokensBinding } from './access-tokens-binding.ts'
import { accessTokensContext } from './access-tokens-context.ts'
import { accessTokensResources } from './access-tokens-resources.ts'
import { authorizations } from './authorizations.ts'
import { clientLogos } from './client-logos.ts'
import { clientOwners } from './client-owners.ts'
import { clientRegistrations } from './client-registrations.ts'
import { clients } from './clients.ts'
import { consentReceipts } from './consent-receipts.ts'
import { consents } from './consents.ts'
import { events } from './events.ts'
import { importedSecrets } from './imported-secrets.ts'
import { logins } from './logins.ts'
import { loginsAcr } from './logins-acr.ts'
import type { SchemaChange } from './migration.ts'
import { passkeys } from './passkeys.ts'
import { pendingRequests } from './pending-requests.ts'
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
  ['015_logins_acr', loginsAcr],
  ['016_access_tokens_resources', accessTokensResources],
  ['017_client_registrations', clientRegistrations],
  ['018_client_logos', clientLogos],
  ['019_access_tokens_binding', accessTokensBinding],
  ['021_access_tokens_context', accessTokensContext],
  ['022_events', events],
  ['023_second_factors', secondFactors],
  ['024_passkeys', passkeys],
  ['025_client_owners', clientOwners],
  ['027_imported_secrets', importedSecrets],
])
