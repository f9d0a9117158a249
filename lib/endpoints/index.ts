import type { Context, Incoming, PageContext } from '../http/context.ts'
import type { Endpoint } from '../http/route.ts'
import type { Options } from '../options/resolve.ts'
import { accountEndpoint } from './account.ts'
import { adminClientEndpoint } from './admin/client.ts'
import { adminClientsEndpoint } from './admin/clients.ts'
import { adminDeleteClientEndpoint } from './admin/delete-client.ts'
import { adminEventsEndpoint } from './admin/events.ts'
import { adminKeysEndpoint } from './admin/keys.ts'
import { adminNewClientEndpoint } from './admin/new-client.ts'
import { adminRequestsEndpoint } from './admin/requests.ts'
import { adminUsersEndpoint } from './admin/users.ts'
import { assetsEndpoint } from './assets.ts'
import { authorizeEndpoint } from './authorize.ts'
import { consentEndpoint } from './consent.ts'
import { developerEndpoint } from './developer.ts'
import {
  developerClientEndpoint,
  developerDeleteEndpoint,
  developerRotateEndpoint,
} from './developer-client.ts'
import { developerEditEndpoint, developerNewEndpoint } from './developer-form.ts'
import { createDiscoveryEndpoints } from './discovery.ts'
import { introspectEndpoint } from './introspect.ts'
import { createJwksEndpoint } from './jwks.ts'
import { loginEndpoint } from './login.ts'
import { logosEndpoint } from './logos.ts'
import { logoutEndpoint } from './logout.ts'
import { passkeysEndpoint } from './passkeys.ts'
import { registerEndpoint, registrationEndpoint } from './register.ts'
import { revokeEndpoint } from './revoke.ts'
import { secondFactorEndpoint } from './second-factor.ts'
import { secondFactorSettingsEndpoint } from './second-factor-settings.ts'
import { selectAccountEndpoint } from './select-account.ts'
import { selfReportEndpoint } from './self-report.ts'
import { tokenEndpoint } from './token.ts'
import { userinfoEndpoint } from './userinfo.ts'

/** Every endpoint, by kind. A new endpoint is one file and one line here. */
export interface Endpoints {
  /** Programs call them; errors are JSON. */
  readonly api: readonly Endpoint<Context>[]
  /** Browsers open them; errors are pages. */
  readonly pages: readonly Endpoint<PageContext>[]
  /** Also served at the root of the host (RFC 8414 §3.1). */
  readonly discovery: readonly Endpoint<Incoming>[]
  readonly files: readonly Endpoint<Incoming>[]
  /** For operators, after all others. */
  readonly operators: readonly Endpoint<Context>[]
}

const developerEndpoints: readonly Endpoint<PageContext>[] = [
  developerEndpoint,
  developerNewEndpoint,
  developerClientEndpoint,
  developerEditEndpoint,
  developerRotateEndpoint,
  developerDeleteEndpoint,
]

/** Only with the option `admin`. */
const adminEndpoints: readonly Endpoint<PageContext>[] = [
  adminClientsEndpoint,
  adminNewClientEndpoint,
  adminClientEndpoint,
  adminDeleteClientEndpoint,
  adminUsersEndpoint,
  adminKeysEndpoint,
  adminEventsEndpoint,
]

/**
 * The endpoints of one router; the documents that they keep belong to it.
 *
 * @param added what the features add
 */
export const createEndpoints = (
  {
    admin,
    features,
    login,
    passkeys,
    developers,
  }: Pick<Options, 'admin' | 'features' | 'login' | 'passkeys' | 'developers'>,
  added: readonly Partial<Pick<Endpoints, 'api' | 'pages' | 'files'>>[],
): Endpoints => ({
  api: [
    ...[tokenEndpoint, userinfoEndpoint, introspectEndpoint, revokeEndpoint, createJwksEndpoint()],
    ...(features.registration ? [registerEndpoint, registrationEndpoint] : []),
    ...added.flatMap(({ api = [] }) => api),
  ],
  pages: [
    authorizeEndpoint,
    loginEndpoint,
    ...(login.secondFactor || login.totp ? [secondFactorEndpoint] : []),
    ...(login.totp ? [secondFactorSettingsEndpoint] : []),
    selectAccountEndpoint,
    consentEndpoint,
    accountEndpoint,
    ...(passkeys ? [passkeysEndpoint] : []),
    logoutEndpoint,
    ...(developers ? developerEndpoints : []),
    ...(admin ? adminEndpoints : []),
    ...(admin && developers ? [adminRequestsEndpoint] : []),
    ...added.flatMap(({ pages = [] }) => pages),
  ],
  discovery: createDiscoveryEndpoints(),
  files: [assetsEndpoint, logosEndpoint, ...added.flatMap(({ files = [] }) => files)],
  operators: [selfReportEndpoint],
})
