import type { AccountPage } from '../http/account-page.ts'
import type { Context, Incoming, PageContext } from '../http/context.ts'
import type { Endpoint } from '../http/endpoint.ts'
import { accountEndpoint } from './account/account.ts'
import { devicesEndpoint } from './account/devices.ts'
import { assetsEndpoint } from './assets.ts'
import { authorizeEndpoint } from './authorize.ts'
import { consentEndpoint } from './consent/consent.ts'
import { organizationEndpoint } from './consent/organization.ts'
import { createDiscoveryEndpoints } from './discovery.ts'
import { introspectEndpoint } from './introspect.ts'
import { createJwksEndpoint } from './jwks.ts'
import { loginEndpoint } from './login.ts'
import { logosEndpoint } from './logos.ts'
import { logoutEndpoint } from './logout.ts'
import type { FeatureOperators, OperatorPage } from './operator-page.ts'
import { revokeEndpoint } from './revoke.ts'
import { accessDeniedEndpoint, selectAccountEndpoint } from './select-account.ts'
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

/** The endpoints of a feature beside the pages of the account and of operators. */
export interface FeatureEndpoints {
  /** Programs call them; errors are JSON. */
  readonly programs?: readonly Endpoint<Context>[]
  /** Browsers open them; errors are pages. */
  readonly browsers?: readonly Endpoint<PageContext>[]
}

/** The parts of a feature that have endpoints. */
interface WithEndpoints {
  readonly endpoints?: FeatureEndpoints
  readonly account?: readonly AccountPage[]
  readonly operators?: FeatureOperators
}

const pagesForOperators = (added: readonly WithEndpoints[]): readonly OperatorPage[] =>
  added.flatMap(({ operators }) => operators?.pages ?? [])

/**
 * The endpoints of one router; the documents that they keep belong to it.
 *
 * @param added what the features add
 */
export const createEndpoints = (added: readonly WithEndpoints[]): Endpoints => ({
  api: [
    tokenEndpoint,
    userinfoEndpoint,
    introspectEndpoint,
    revokeEndpoint,
    createJwksEndpoint(),
    ...added.flatMap(({ endpoints }) => endpoints?.programs ?? []),
  ],
  pages: [
    authorizeEndpoint,
    loginEndpoint,
    selectAccountEndpoint,
    accessDeniedEndpoint,
    organizationEndpoint,
    consentEndpoint,
    accountEndpoint,
    devicesEndpoint,
    logoutEndpoint,
    ...added.flatMap(({ endpoints }) => endpoints?.browsers ?? []),
    ...added.flatMap(({ account = [] }) => account.map(({ endpoint }) => endpoint)),
    ...added.flatMap(({ operators }) => operators?.area?.(pagesForOperators(added)) ?? []),
  ],
  discovery: createDiscoveryEndpoints(),
  files: [assetsEndpoint, logosEndpoint],
  operators: [selfReportEndpoint],
})
