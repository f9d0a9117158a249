import { completeDetailTypes } from './authorization-details.ts'
import { refuse } from './check.ts'
import { completeChoices } from './choices/option.ts'
import {
  developmentDatabase,
  developmentIssuer,
  developmentSecret,
  environmentWarning,
  isProduction,
  type SecretOf,
} from './development.ts'
import { configuredFeatures, featureNamed } from './features.ts'
import { type AuthRouterOptions, type Options, optionTree } from './options.ts'
import { completeResources } from './resources.ts'
import { required } from './schema.ts'
import { assertKnownScopes, assertScopes } from './scopes.ts'
import { secrets } from './server.ts'
import { scopesOfClaims } from './users.ts'

const remedies = {
  issuer: "the public https URL of the mount, such as issuer: 'https://app.example.com/oauth'",
  database: 'a Knex instance or configuration, such as database: knex',
  secrets: "secrets: process.env.LATCHKEY_SECRET?.split(','), generated with `openssl rand -base64 32`",
} as const

const assertProduction = (set: object, { NODE_ENV }: NodeJS.ProcessEnv): void => {
  for (const [name, remedy] of Object.entries(remedies)) {
    if (Reflect.get(set, name) !== undefined) continue
    const because = NODE_ENV === 'production' ? '' : `, and NODE_ENV=${NODE_ENV} counts as production`
    const otherwise =
      because === '' ? undefined : 'on your own machine set NODE_ENV=development, or an issuer on localhost'
    refuse(`${name} is required in production${because}: ${remedy}`, otherwise)
  }
}

/**
 * Checks that an authentication level exists.
 *
 * @param where the option that names it
 * @throws OptionsError
 */
export const assertLevel = (
  where: string,
  acr: string | undefined,
  { acrValues }: Pick<Options, 'acrValues'>,
): void => {
  if (acr !== undefined && !acrValues.includes(acr)) refuse(`${where} must be one of the option acrValues`)
}

const assertLogin = (options: Options): void => {
  const { url, current, acr, providers } = options.login
  assertLevel('login.acr', acr, options)
  if (current !== undefined) return
  if (url !== undefined) {
    refuse(
      'login.current is required with login.url: it returns the user who is logged in when the browser comes back',
    )
  }
  if (providers !== undefined) {
    refuse('login.current is required with login.providers: it returns the user whom your page signed in')
  }
}

const assertProtocol = (options: Options): void => {
  const { protocol, codeChallengeMethods } = options
  const grants = protocol.grants.map(({ grantType }) => grantType)
  const twice = grants.find((name, index) => grants.indexOf(name) !== index)
  if (twice !== undefined) refuse(`protocol.grants: ${twice} is defined twice`)
  if (!protocol.fapi2) return
  if (!protocol.mutualTls && !protocol.dpop)
    refuse('protocol.dpop or protocol.mutualTls must be on with protocol.fapi2')
  if (protocol.implicit) refuse('protocol.implicit must be off with protocol.fapi2')
  if (codeChallengeMethods.includes('plain'))
    refuse("codeChallengeMethods must be ['S256'] with protocol.fapi2")
  if (!Object(featureNamed(options, 'pushedRequests')?.option).required)
    refuse('features must have pushedRequests({ required: true }) with protocol.fapi2')
}

/**
 * Checks the options and fills in the defaults. In production `issuer`, `database` and `secrets` are required.
 *
 * @param environment NODE_ENV decides whether this is production
 * @param secretOf where the secret of development comes from
 * @throws OptionsError naming the option and what it should be
 * @example resolveOptions({ issuer: 'https://app.example.com/oauth', database, secrets: [secret] })
 */
export const resolveOptions = (
  given: AuthRouterOptions,
  environment: NodeJS.ProcessEnv = process.env,
  secretOf: SecretOf = developmentSecret,
): Options => {
  const checked = optionTree.check(given, '')
  const production = isProduction(environment, checked.issuer)
  if (production) assertProduction({ ...checked, database: checked.database.knex }, environment)
  const { protocol, logger } = checked
  const features = configuredFeatures(checked.features, given.limits !== false)
  const issuer = checked.issuer ?? developmentIssuer(environment)
  const warning = environmentWarning(environment, issuer)
  if (warning !== undefined) logger.warn(warning)
  const resources = completeResources(checked.resources, { ...checked, issuer })
  const knex = checked.database.knex ?? developmentDatabase()
  const options: Options = {
    ...checked,
    issuer,
    basePath: new URL(issuer).pathname.replace(/\/$/, ''),
    issuerIsGuess: checked.issuer === undefined,
    production,
    database: { ...checked.database, knex },
    secrets: checked.secrets ?? required(secrets).check([secretOf(knex, logger)], 'secrets'),
    resources,
    choices: completeChoices(checked.choices, checked),
    features,
    limits: {
      ...checked.limits,
      failures: Object.assign({}, checked.limits.failures, ...features.map(({ failures }) => failures)),
      quotas: Object.assign({}, checked.limits.quotas, ...features.map(({ quotas }) => quotas)),
    },
    protocol: {
      ...protocol,
      authorizationDetails: completeDetailTypes(protocol.authorizationDetails, { ...checked, resources }),
    },
  }
  assertScopes(options.scopes)
  for (const [scope, claim] of scopesOfClaims(options.users))
    assertKnownScopes(`users.claims['${claim}'].scope`, [scope], options)
  assertLogin(options)
  assertProtocol(options)
  for (const feature of features) feature.check(options)
  return options
}
