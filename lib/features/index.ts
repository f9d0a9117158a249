import type { ExportedClients } from './developers/declarations.ts'
import type { ExportedAppRequests, ExportedOrganizationApps } from './organization-apps/declarations.ts'
import type { ExportedPasskeys } from './passkeys/declarations.ts'
import type { ExportedPersonalTokens } from './personal-tokens/declarations.ts'
import type { ExportedSecondFactor } from './second-factor/declarations.ts'
import type {
  ExportedAccountsOfOrganization,
  ExportedServiceAccounts,
} from './service-accounts/declarations.ts'

export type { Feature } from '../options/features.ts'
export { admin } from './admin/index.ts'
export { connections } from './connections/index.ts'
export type {
  DeveloperAdministration,
  DeveloperClient,
  DeveloperDecision,
} from './developers/administration.ts'
export { developers, type WithDevelopers } from './developers/index.ts'
export type { OwnerStatus } from './developers/table.ts'
export { device } from './device/index.ts'
export type { AboutUsers, FeatureFunction } from './feature.ts'
export type {
  AppDecision,
  AppLimit,
  AppOutcome,
  AppRequest,
  AppRule,
  OrganizationApp,
  OrganizationAppAdministration,
  OrganizationPolicy,
  RequestAnswer,
} from './organization-apps/index.ts'
export { organizationApps, type WithOrganizationApps } from './organization-apps/index.ts'
export * from './own.ts'
export { type PasskeyAdministration, passkeys, type WithPasskeys } from './passkeys/index.ts'
export type { PasskeyFailure } from './passkeys/rules.ts'
export { personalAccessTokens } from './personal-tokens/index.ts'
export type { PersonalToken, PersonalTokenExport } from './personal-tokens/table.ts'
export { pushedRequests } from './pushed-requests/index.ts'
export { clientMetadataDocuments, registration } from './registration/index.ts'
export type { AllowClient, RegistrationRequest } from './registration/option.ts'
export {
  authenticatorApps,
  type SecondFactorAdministration,
  secondFactor,
  type WithSecondFactor,
} from './second-factor/index.ts'
export type { SecondFactor, SecondFactorRequest } from './second-factor/option.ts'
export {
  type CreatedServiceAccount,
  type NewServiceAccount,
  type ServiceAccount,
  type ServiceAccountAdministration,
  serviceAccounts,
  type WithServiceAccounts,
} from './service-accounts/index.ts'
export { trustedIssuers } from './trusted-issuers/index.ts'
export { webhooks } from './webhooks/index.ts'

declare module '../users/account/user-records.ts' {
  interface UserExport extends ExportedClients {}
  interface UserExport extends ExportedAppRequests {}
  interface UserExport extends ExportedPasskeys {}
  interface UserExport extends ExportedPersonalTokens {}
  interface UserExport extends ExportedSecondFactor {}
  interface UserExport extends ExportedServiceAccounts {}
}

declare module '../users/account/organization-records.ts' {
  interface OrganizationExport extends ExportedOrganizationApps {}
  interface OrganizationExport extends ExportedAccountsOfOrganization {}
}
