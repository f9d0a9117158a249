import type { Knex } from 'knex'
import { codeChallengeMethods } from '../protocol/pkce.ts'
import { assertNames, assertRecord, refuse } from './check.ts'
import {
  checkedBranding,
  checkedDatabase,
  checkedFeatures,
  checkedFlag,
  checkedGracePeriod,
  checkedIssuer,
  checkedLifetimes,
  checkedLogger,
  checkedLogin,
  checkedMethods,
  checkedOrganizations,
  checkedOrigins,
  checkedPrefix,
  checkedSecrets,
  checkedSession,
  checkedViews,
} from './checks.ts'
import { developmentDatabase, developmentIssuer, developmentSecret } from './development.ts'
import { checkedLanguage, checkedLocales } from './locales.ts'
import type {
  AuthRouterOptions,
  Branding,
  Features,
  Lifetimes,
  LocaleOptions,
  Logger,
  LoginOptions,
  ScopeOptions,
  UserFunctions,
  UserMapping,
} from './options.ts'
import { checkedScopes } from './scopes.ts'
import { checkedThrottle, type Throttling } from './throttle.ts'
import { assertUsers } from './users.ts'

/** Options with every default filled in and every rule checked. */
export interface Options {
  readonly issuer: string
  /** The path of the issuer, '' for the root: everything that we link to begins with it. */
  readonly basePath: string
  /** Nobody said the issuer, so it may be wrong. */
  readonly issuerIsGuess: boolean
  readonly production: boolean
  readonly database: Knex | Knex.Config
  readonly secrets: readonly [string, ...string[]]
  readonly prepared: boolean
  readonly tablePrefix: string
  readonly cleanUp: boolean
  readonly users: UserMapping | UserFunctions | undefined
  readonly organizations: AuthRouterOptions['organizations']
  readonly login: LoginOptions
  readonly session: AuthRouterOptions['session']
  readonly scopes: Readonly<Record<string, ScopeOptions>>
  readonly lifetimes: Lifetimes
  readonly refreshTokenGracePeriod: number
  readonly codeChallengeMethods: readonly ('S256' | 'plain')[]
  readonly throttle: Throttling | undefined
  readonly features: Required<Features>
  readonly views: string | undefined
  readonly language: string
  readonly locales: Readonly<Record<string, LocaleOptions | false>>
  readonly branding: Branding
  readonly allowOutbound: readonly string[]
  readonly logger: Logger
}

const names = [
  ...['issuer', 'database', 'secrets', 'tablePrefix', 'users', 'login', 'session', 'scopes', 'lifetimes'],
  ...[
    'refreshTokenGracePeriod',
    'codeChallengeMethods',
    'throttle',
    'features',
    'views',
    'branding',
    'allowOutbound',
  ],
  ...['logger', 'prepared', 'cleanUp', 'organizations', 'language', 'locales'],
]

/**
 * Checks what the host says and fills in the rest; in production issuer, database and secrets must be said.
 *
 * @throws OptionsError naming the option and what it should be
 * @example resolveOptions({ issuer: 'https://app.example.com/oauth', database, secrets: [secret] })
 */
export const resolveOptions = (
  options: AuthRouterOptions = {},
  environment: NodeJS.ProcessEnv = process.env,
): Options => {
  assertRecord('options', options)
  assertNames('', options, names)
  const production = environment.NODE_ENV === 'production'
  if (production) assertProduction(options)

  const issuer = checkedIssuer(options.issuer ?? developmentIssuer(environment))
  const database = checkedDatabase(options.database ?? developmentDatabase())
  return {
    issuer,
    basePath: new URL(issuer).pathname.replace(/\/$/, ''),
    issuerIsGuess: (options.issuer ?? undefined) === undefined,
    production,
    database,
    secrets: checkedSecrets(options.secrets ?? [developmentSecret(database)]),
    prepared: checkedFlag('prepared', options.prepared ?? true),
    tablePrefix: checkedPrefix(options.tablePrefix ?? 'oauth_'),
    cleanUp: checkedFlag('cleanUp', options.cleanUp ?? true),
    users: options.users === undefined ? undefined : assertUsers(options.users),
    organizations: checkedOrganizations(options.organizations),
    login: checkedLogin(options.login ?? {}),
    session: checkedSession(options.session),
    scopes: checkedScopes(options.scopes ?? {}),
    lifetimes: checkedLifetimes(options.lifetimes ?? {}),
    refreshTokenGracePeriod: checkedGracePeriod(options.refreshTokenGracePeriod ?? 10),
    codeChallengeMethods: checkedMethods(options.codeChallengeMethods ?? codeChallengeMethods),
    throttle: checkedThrottle(options.throttle ?? {}),
    features: checkedFeatures(options.features ?? {}),
    views: checkedViews(options.views),
    language: checkedLanguage(options.language ?? 'en'),
    locales: checkedLocales(options.locales ?? {}),
    branding: checkedBranding(options.branding ?? {}),
    allowOutbound: checkedOrigins(options.allowOutbound ?? []),
    logger: checkedLogger(options.logger ?? console),
  }
}

const assertProduction = (options: AuthRouterOptions): void => {
  if ((options.issuer ?? undefined) === undefined) {
    refuse(
      "issuer is required in production: the public https URL of the mount, such as issuer: 'https://app.example.com/oauth'",
    )
  }
  if ((options.database ?? undefined) === undefined) {
    refuse('database is required in production: a Knex instance or configuration, such as database: knex')
  }
  if ((options.secrets ?? undefined) === undefined) {
    refuse(
      'secrets is required in production: secrets: [process.env.LATCHKEY_SECRET], made by `openssl rand -base64 32`',
    )
  }
}
