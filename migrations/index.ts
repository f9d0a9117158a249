import { accessTokens } from './access-tokens.ts'
import { authorizations } from './authorizations.ts'
import { authorizationsLastUsed } from './authorizations-last-used.ts'
import { clients } from './clients.ts'
import { consentReceipts } from './consent-receipts.ts'
import { consents } from './consents.ts'
import { consentsOrganization } from './consents-organization.ts'
import { consentsTerms } from './consents-terms.ts'
import { logins } from './logins.ts'
import type { SchemaChange } from './migration.ts'
import { pendingRequests } from './pending-requests.ts'
import { pendingRequestsSelected } from './pending-requests-selected.ts'
import { refreshTokens } from './refresh-tokens.ts'
import { replays } from './replays.ts'
import { salts } from './salts.ts'
import { sessions } from './sessions.ts'
import { signingKeys } from './signing-keys.ts'
import { throttles } from './throttles.ts'
import { users } from './users.ts'

/** Every step of the schema in the order it is taken; a released name never changes. */
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
  ['015_consents_terms', consentsTerms],
  ['016_authorizations_last_used', authorizationsLastUsed],
  ['017_pending_requests_selected', pendingRequestsSelected],
  ['018_consents_organization', consentsOrganization],
])
