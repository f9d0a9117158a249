import { refusal } from '../refusal.ts'
import { redirectUriKind } from './redirect-uri.ts'

/** Profiles that a client can be held to. `fapi2` is the FAPI 2.0 Security Profile. */
export const securityProfiles = ['fapi2'] as const

/** A profile whose rules a client must meet. */
export type SecurityProfile = (typeof securityProfiles)[number]

/** The metadata that profiles are about. */
interface ProfiledMetadata {
  readonly security_profile?: SecurityProfile
  readonly application_type?: string
  readonly redirect_uris: readonly string[]
  readonly grant_types: readonly string[]
  readonly response_types: readonly string[]
  readonly token_endpoint_auth_method?: string
  readonly dpop_bound_access_tokens?: boolean
  readonly tls_client_certificate_bound_access_tokens?: boolean
  readonly require_issuer_audience?: boolean
  readonly require_pushed_authorization_requests?: boolean
  readonly require_pkce: boolean
  readonly refresh_token_rotation: boolean
  readonly token_endpoint_auth_signing_alg?: string
  readonly request_object_signing_alg?: string
  readonly id_token_signed_response_alg: string
  readonly userinfo_signed_response_alg?: string
  readonly authorization_signed_response_alg?: string
}

/** Defaults of a client of the profile. Other values of its metadata are refused by {@link assertProfile}. */
const fapi2Defaults = {
  require_issuer_audience: true,
  require_pushed_authorization_requests: true,
  require_pkce: true,
  refresh_token_rotation: false,
  id_token_signed_response_alg: 'PS256',
}

/** The defaults of metadata with this profile; nothing without one. */
export const profileDefaults = (profile: unknown): object => (profile === 'fapi2' ? fapi2Defaults : {})

/** FAPI 2.0 Security Profile §5.4.1. `Ed25519` is EdDSA with that curve (RFC 9864 §2.2). */
const fapi2Algorithms: readonly string[] = ['PS256', 'ES256', 'EdDSA', 'Ed25519']

const signingMembers = [
  'token_endpoint_auth_signing_alg',
  'request_object_signing_alg',
  'id_token_signed_response_alg',
  'userinfo_signed_response_alg',
  'authorization_signed_response_alg',
] as const

const keyMethods = ['private_key_jwt', 'tls_client_auth', 'self_signed_tls_client_auth']

const isEncrypted = (uri: string, { application_type }: ProfiledMetadata): boolean => {
  const kind = redirectUriKind(uri)
  return kind === 'loopback' ? application_type === 'native' : kind !== 'http'
}

interface Rule {
  /** Of the FAPI 2.0 Security Profile. */
  readonly section: string
  readonly says: string
  isMet(metadata: ProfiledMetadata): boolean
}

/** The requirements of the FAPI 2.0 Security Profile for a client's metadata. */
const fapi2Rules: readonly Rule[] = [
  {
    section: '5.3.2.1',
    says: `token_endpoint_auth_method must be ${keyMethods.join(', ')}`,
    isMet: ({ token_endpoint_auth_method: method = '' }) => keyMethods.includes(method),
  },
  {
    section: '5.3.2.1',
    says: 'dpop_bound_access_tokens or tls_client_certificate_bound_access_tokens must be true',
    isMet: ({
      grant_types,
      dpop_bound_access_tokens: dpop = false,
      tls_client_certificate_bound_access_tokens: mutualTls = false,
    }) => grant_types.length === 0 || dpop || mutualTls,
  },
  {
    section: '5.3.2.1',
    says: 'require_issuer_audience must be true',
    isMet: (metadata) => metadata.require_issuer_audience === true,
  },
  {
    section: '5.3.2.1',
    says: 'refresh_token_rotation must be false',
    isMet: (metadata) => !metadata.refresh_token_rotation,
  },
  {
    section: '5.3.2.2',
    says: 'response_types must be code alone, and grant_types must not include implicit',
    isMet: ({ response_types: types, grant_types: grants }) =>
      types.every((type) => type === 'code') && !grants.includes('implicit'),
  },
  {
    section: '5.3.2.2',
    says: 'require_pushed_authorization_requests must be true',
    isMet: (metadata) => metadata.require_pushed_authorization_requests === true,
  },
  {
    section: '5.3.2.2',
    says: 'require_pkce must be true',
    isMet: (metadata) => metadata.require_pkce,
  },
  {
    section: '5.3.2.2',
    says: 'redirect_uris must not use http, except on a loopback address with the application_type native',
    isMet: (metadata) => metadata.redirect_uris.every((uri) => isEncrypted(uri, metadata)),
  },
  ...signingMembers.map((name) => ({
    section: '5.4.1',
    says: `${name} must be PS256, ES256 or EdDSA`,
    isMet: ({ [name]: algorithm }: ProfiledMetadata) =>
      algorithm === undefined || fapi2Algorithms.includes(algorithm),
  })),
]

/**
 * Refuses metadata that the profile of the client forbids.
 *
 * @throws OAuthError `invalid_client_metadata` that names the rule
 */
export const assertProfile = (metadata: ProfiledMetadata): void => {
  if (metadata.security_profile === undefined) return
  const broken = fapi2Rules.find((rule) => !rule.isMet(metadata))
  if (broken === undefined) return
  const problem = `${broken.says} (FAPI 2.0 Security Profile §${broken.section})`
  throw refusal('metadata_refused', { values: { problem } })
}

/** Whether metadata meets the FAPI 2.0 Security Profile, also of a client that is not held to it. */
export const complies = (metadata: ProfiledMetadata): boolean =>
  fapi2Rules.every((rule) => rule.isMet(metadata))

type Profiled = Pick<ProfiledMetadata, 'security_profile'>

/** Those of these algorithms that the profile allows (FAPI 2.0 Security Profile §5.4.1). */
export const profileAlgorithms = <Algorithm extends string>(
  { security_profile: profile }: Profiled,
  algorithms: readonly Algorithm[],
): readonly Algorithm[] =>
  profile === undefined ? algorithms : algorithms.filter((algorithm) => fapi2Algorithms.includes(algorithm))

/** Those of these client authentication methods that the profile allows. */
export const profileAuthMethods = <Method extends string>(
  { security_profile: profile }: Profiled,
  methods: readonly Method[],
): readonly Method[] =>
  profile === undefined ? methods : methods.filter((method) => keyMethods.includes(method))
