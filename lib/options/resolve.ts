import type { Knex } from 'knex'
import type { SecurityProfile } from '../protocol/clients/security-profile.ts'
import { codeChallengeMethods } from '../protocol/requests/pkce.ts'
import { checkedDetailTypes, type DetailTypes } from './authorization-details.ts'
import { checkedBranding } from './branding.ts'
import { assertNames, assertRecord, refuse } from './check.ts'
import {
  type CheckedLogin,
  checkedAcrValues,
  checkedAdmin,
  checkedDatabase,
  checkedFlag,
  checkedGracePeriod,
  checkedIssuer,
  checkedLifetimes,
  checkedLogger,
  checkedLogin,
  checkedMaxAuthorizations,
  checkedMethods,
  checkedOrganizations,
  checkedOutbound,
  checkedPrefix,
  checkedSecrets,
  checkedSession,
  checkedViews,
} from './checks.ts'
import { checkedDevelopers, type Developers } from './developers.ts'
import {
  developmentDatabase,
  developmentIssuer,
  developmentSecret,
  environmentWarning,
  isProduction,
} from './development.ts'
import { type CheckedFeatures, checkedFeatures } from './features.ts'
import type { GrantDefinition } from './grant-options.ts'
import { checkedGrants } from './grants.ts'
import { checkedDefaultLocale, checkedLocales } from './locales.ts'
import type {
  AuthRouterOptions,
  Branding,
  Lifetimes,
  LocaleOptions,
  Logger,
  OutboundOptions,
  ScopeOptions,
  UserFunctions,
  UserMapping,
} from './options.ts'
import { checkedPasskeys, type Passkeys } from './passkey-options.ts'
import { checkedResources, type Resource } from './resources.ts'
import { checkedScopes } from './scopes.ts'
import { checkedSecurityProfile } from './security-profile.ts'
import { checkedThrottle, type Throttling } from './throttle.ts'
import type { TrustedIssuerOptions } from './trusted-issuer-options.ts'
import { checkedTrustedIssuers } from './trusted-issuers.ts'
import { assertUsers } from './users.ts'

/** Checked options with every default filled in. */
export interface Options {
  readonly issuer: string
  /** The path of the issuer, '' for the root. All links begin with it. */
  readonly basePath: string
  /** True when the issuer is the development default, which may not match the actual mount. */
  readonly issuerIsGuess: boolean
  readonly production: boolean
  /** Whether the server looks for mistakes when it starts: everywhere but in tests. */
  readonly checksAtStart: boolean
  readonly database: Knex | Knex.Config
  readonly secrets: readonly [string, ...string[]]
  readonly preparedStatements: boolean
  readonly tablePrefix: string
  readonly prune: boolean
  readonly storeEvents: boolean
  readonly users: UserMapping | UserFunctions | undefined
  readonly organizations: AuthRouterOptions['organizations']
  readonly admin: AuthRouterOptions['admin']
  readonly login: CheckedLogin
  /** Sign-in with passkeys; undefined is off. */
  readonly passkeys: Passkeys | undefined
  readonly session: AuthRouterOptions['session']
  readonly scopes: Readonly<Record<string, ScopeOptions>>
  /** By canonical identifier; empty if the host has none. */
  readonly resources: Readonly<Record<string, Resource>>
  readonly trustedIssuers: Readonly<Record<string, TrustedIssuerOptions>>
  /** Grants of the host. */
  readonly grants: readonly GrantDefinition[]
  /** Types of `authorization_details`; empty if the host has none. */
  readonly authorizationDetails: DetailTypes
  readonly acrValues: readonly string[]
  readonly developers: Developers | undefined
  readonly lifetimes: Lifetimes
  readonly refreshTokenGracePeriod: number
  readonly maxAuthorizationsPerClient: number | false
  readonly codeChallengeMethods: readonly ('S256' | 'plain')[]
  readonly throttle: Throttling | undefined
  readonly features: CheckedFeatures
  readonly securityProfile: SecurityProfile | undefined
  readonly views: string | undefined
  readonly defaultLocale: string
  readonly locales: Readonly<Record<string, LocaleOptions | boolean>>
  readonly branding: Branding
  readonly outbound: Required<OutboundOptions>
  readonly logger: Logger
}

const names = [
  'issuer',
  'database',
  'secrets',
  'preparedStatements',
  'tablePrefix',
  'prune',
  'storeEvents',
  'users',
  'organizations',
  'admin',
  'login',
  'session',
  'scopes',
  'resources',
  'trustedIssuers',
  'grants',
  'authorizationDetails',
  'acrValues',
  'developers',
  'lifetimes',
  'refreshTokenGracePeriod',
  'maxAuthorizationsPerClient',
  'codeChallengeMethods',
  'throttle',
  'features',
  'securityProfile',
  'views',
  'defaultLocale',
  'locales',
  'branding',
  'outbound',
  'logger',
]

/**
 * Checks the options and fills in the defaults. In production `issuer`, `database` and `secrets` are required.
 *
 * @param environment NODE_ENV decides whether this is production
 * @throws OptionsError naming the option and what it should be
 * @example resolveOptions({ issuer: 'https://app.example.com/oauth', database, secrets: [secret] })
 */
export const resolveOptions = (
  options: AuthRouterOptions = {},
  environment: NodeJS.ProcessEnv = process.env,
): Options => {
  assertRecord('options', options)
  assertNames('', options, names)
  const production = isProduction(environment, options.issuer)
  if (production) assertProduction(options, environment)

  const issuer = checkedIssuer(options.issuer ?? developmentIssuer(environment))
  const database = checkedDatabase(options.database ?? developmentDatabase())
  const logger = checkedLogger(options.logger ?? console)
  const warning = environmentWarning(environment, issuer)
  if (warning !== undefined) logger.warn(warning)
  const resources = checkedResources(options.resources ?? {}, issuer, options)
  const acrValues = checkedAcrValues(options.acrValues ?? [])
  const login = checkedLogin(options.login ?? {}, acrValues)
  const branding = checkedBranding(options.branding ?? {})
  return {
    issuer,
    basePath: new URL(issuer).pathname.replace(/\/$/, ''),
    issuerIsGuess: (options.issuer ?? undefined) === undefined,
    production,
    checksAtStart: environment.NODE_ENV !== 'test',
    database,
    secrets: checkedSecrets(options.secrets ?? [developmentSecret(database, logger)]),
    preparedStatements: checkedFlag('preparedStatements', options.preparedStatements ?? true),
    tablePrefix: checkedPrefix(options.tablePrefix ?? 'oauth_'),
    prune: checkedFlag('prune', options.prune ?? true),
    storeEvents: checkedFlag('storeEvents', options.storeEvents ?? false),
    users: options.users === undefined ? undefined : assertUsers(options.users),
    organizations: checkedOrganizations(options.organizations),
    admin: checkedAdmin(options.admin),
    login,
    passkeys: checkedPasskeys(login, { issuer, branding, acrValues }),
    session: checkedSession(options.session),
    scopes: checkedScopes(options.scopes ?? {}),
    resources,
    trustedIssuers: checkedTrustedIssuers(options.trustedIssuers ?? {}),
    grants: checkedGrants(options.grants ?? []),
    authorizationDetails: checkedDetailTypes(options.authorizationDetails ?? {}, { ...options, resources }),
    acrValues,
    developers: checkedDevelopers(options.developers, options),
    lifetimes: checkedLifetimes(options.lifetimes ?? {}),
    refreshTokenGracePeriod: checkedGracePeriod(options.refreshTokenGracePeriod ?? 10),
    maxAuthorizationsPerClient: checkedMaxAuthorizations(options.maxAuthorizationsPerClient ?? 100),
    codeChallengeMethods: checkedMethods(
      options.codeChallengeMethods ?? (options.securityProfile ? ['S256'] : codeChallengeMethods),
    ),
    throttle: checkedThrottle(options.throttle ?? {}),
    features: checkedFeatures(options.features ?? {}, options),
    securityProfile: checkedSecurityProfile(options),
    views: checkedViews(options.views),
    defaultLocale: checkedDefaultLocale(options.defaultLocale ?? 'en'),
    locales: checkedLocales(options.locales ?? {}),
    branding,
    outbound: checkedOutbound(options.outbound ?? {}),
    logger,
  }
}

const assertProduction = (options: AuthRouterOptions, { NODE_ENV }: NodeJS.ProcessEnv): void => {
  const missing = (name: string, remedy: string): never =>
    refuse(
      `${name} is required in production${NODE_ENV === 'production' ? '' : `, and NODE_ENV=${NODE_ENV} counts as production`}: ${remedy}`,
    )
  if ((options.issuer ?? undefined) === undefined) {
    missing('issuer', "the public https URL of the mount, such as issuer: 'https://app.example.com/oauth'")
  }
  if ((options.database ?? undefined) === undefined) {
    missing('database', 'a Knex instance or configuration, such as database: knex')
  }
  if ((options.secrets ?? undefined) === undefined) {
    missing('secrets', 'secrets: [process.env.LATCHKEY_SECRET], generated with `openssl rand -base64 32`')
  }
}
