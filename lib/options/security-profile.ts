import { type SecurityProfile, securityProfiles } from '../protocol/clients/security-profile.ts'
import { refuse } from './check.ts'
import type { AuthRouterOptions } from './options.ts'

/**
 * Checks the option `securityProfile`, and that the other options allow what it requires.
 *
 * @throws OptionsError
 */
export const checkedSecurityProfile = ({
  securityProfile: profile,
  features = {},
  codeChallengeMethods = ['S256'],
}: AuthRouterOptions): SecurityProfile | undefined => {
  if (profile === undefined) return undefined
  if (!securityProfiles.includes(profile))
    refuse(`securityProfile must be '${securityProfiles.join("' or '")}'`)
  if (features.pushedRequests !== 'required')
    refuse("features.pushedRequests must be 'required' with securityProfile")
  if (!features.mutualTls && !('dpop' in features && features.dpop))
    refuse('features.dpop or features.mutualTls must be on with securityProfile')
  if (features.implicit) refuse('features.implicit must be off with securityProfile')
  if (codeChallengeMethods.some((method) => method !== 'S256'))
    refuse("codeChallengeMethods must be ['S256'] with securityProfile")
  return profile
}
