import { isUnpredictable } from '../protocol/entropy.ts'
import { checkedBaseUrls } from './base-urls.ts'
import { assertNames, assertRecord, assertType, refuse } from './check.ts'
import { checkedDeviceAuthorization, type DeviceAuthorization } from './device-options.ts'
import type { DpopOptions } from './dpop-options.ts'
import { checkedMutualTls, type MutualTls } from './mutual-tls.ts'
import type {
  AuthRouterOptions,
  Features,
  MetadataDocumentOptions,
  RegistrationOptions,
  TokenExchangeOptions,
} from './options.ts'
import type { PersonalTokenOptions } from './personal-token-options.ts'
import { checkedPersonalTokens } from './personal-tokens.ts'

/** Checked features; undefined is off. */
export interface CheckedFeatures {
  readonly implicit: boolean
  readonly registration: RegistrationOptions | undefined
  readonly clientMetadataDocuments: MetadataDocumentOptions | undefined
  readonly requestObjects: boolean
  readonly pushedRequests: boolean | 'required'
  readonly frontChannelLogout: boolean
  readonly deviceAuthorization: DeviceAuthorization | undefined
  readonly tokenExchange: TokenExchangeOptions | undefined
  readonly mutualTls: MutualTls | undefined
  readonly dpop: Required<DpopOptions> | undefined
  readonly personalAccessTokens: Required<PersonalTokenOptions> | undefined
}

/**
 * @param others the options that features depend on
 * @throws OptionsError
 */
export const checkedFeatures = (
  features: Features,
  others: Pick<AuthRouterOptions, 'scopes' | 'securityProfile'>,
): CheckedFeatures => {
  assertRecord('features', features)
  assertNames('features.', features, [
    'implicit',
    'registration',
    'clientMetadataDocuments',
    'requestObjects',
    'tokenExchange',
    'pushedRequests',
    'frontChannelLogout',
    'deviceAuthorization',
    'mutualTls',
    'dpop',
    'personalAccessTokens',
  ])
  assertType('features.implicit', features.implicit, 'boolean')
  assertType('features.requestObjects', features.requestObjects, 'boolean')
  assertType('features.frontChannelLogout', features.frontChannelLogout, 'boolean')
  return {
    implicit: features.implicit ?? false,
    registration: checkedRegistration(features.registration),
    clientMetadataDocuments: checkedDocuments(features.clientMetadataDocuments),
    requestObjects: features.requestObjects ?? false,
    tokenExchange: checkedTokenExchange(features.tokenExchange),
    pushedRequests: checkedPushedRequests(features.pushedRequests),
    frontChannelLogout: features.frontChannelLogout ?? false,
    deviceAuthorization: checkedDeviceAuthorization(features.deviceAuthorization),
    mutualTls: checkedMutualTls('features.mutualTls', features.mutualTls),
    dpop: checkedDpop(features.dpop),
    personalAccessTokens: checkedPersonalTokens(features.personalAccessTokens, others),
  }
}

const checkedDpop = (dpop: Features['dpop'] = false): Required<DpopOptions> | undefined => {
  if (dpop === false) return undefined
  const options = dpop === true ? {} : dpop
  assertRecord('features.dpop', options)
  assertNames('features.dpop.', options, ['nonces', 'usedProofs', 'baseUrls'])
  const { nonces = 'none', usedProofs = 'database', baseUrls = [] } = options
  if (nonces !== 'none' && nonces !== 'required') refuse("features.dpop.nonces must be 'none' or 'required'")
  if (usedProofs !== 'database' && usedProofs !== 'memory')
    refuse("features.dpop.usedProofs must be 'database' or 'memory'")
  return { nonces, usedProofs, baseUrls: checkedBaseUrls('features.dpop.baseUrls', baseUrls) }
}

const checkedPushedRequests = (pushed: unknown = false): boolean | 'required' =>
  typeof pushed === 'boolean' || pushed === 'required'
    ? pushed
    : refuse("features.pushedRequests must be true, false or 'required'")

const checkedTokenExchange = (
  exchange: Features['tokenExchange'] = false,
): TokenExchangeOptions | undefined => {
  if (exchange === false) return undefined
  assertRecord('features.tokenExchange', exchange)
  assertNames('features.tokenExchange.', exchange, ['policy'])
  if (typeof exchange.policy !== 'function') {
    refuse('features.tokenExchange.policy is required: a function that decides who may act for whom')
  }
  return exchange
}

const minTokenLength = 32

const checkedRegistration = (
  registration: Features['registration'] = false,
): RegistrationOptions | undefined => {
  if (typeof registration === 'boolean') return registration ? {} : undefined
  assertRecord('features.registration', registration)
  assertNames('features.registration.', registration, ['initialAccessToken', 'policy'])
  assertType('features.registration.policy', registration.policy, 'function')
  const { initialAccessToken: token } = registration
  if (
    Object.hasOwn(registration, 'initialAccessToken') &&
    typeof token !== 'function' &&
    !(typeof token === 'string' && token.length >= minTokenLength && isUnpredictable(token))
  ) {
    // Also undefined: an environment variable that is not set would open registration to everyone.
    refuse(
      'features.registration.initialAccessToken must be a function, or a random string of at least 32 characters, such as that of `openssl rand -hex 32`',
    )
  }
  return registration
}

const checkedDocuments = (
  documents: Features['clientMetadataDocuments'] = false,
): MetadataDocumentOptions | undefined => {
  if (typeof documents === 'boolean') return documents ? {} : undefined
  assertRecord('features.clientMetadataDocuments', documents)
  assertNames('features.clientMetadataDocuments.', documents, ['allow', 'deny', 'policy'])
  assertType('features.clientMetadataDocuments.policy', documents.policy, 'function')
  for (const name of ['allow', 'deny'] as const) {
    const origins: unknown = documents[name] ?? []
    if (!Array.isArray(origins) || !origins.every(isOrigin)) {
      refuse(
        `features.clientMetadataDocuments.${name} must be a list of origins, such as 'https://app.example.com'`,
      )
    }
  }
  return documents
}

/** Whether a value is an origin as URL parsers write it. */
export const isOrigin = (origin: unknown): boolean =>
  typeof origin === 'string' && URL.canParse(origin) && new URL(origin).origin === origin
