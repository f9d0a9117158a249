export type {
  AuthEvent,
  EventDetails,
  EventType,
  RevocationReason,
  SingleUseParameters,
} from './events/event.ts'
export type { EventListeners, Listen } from './events/events.ts'
export type * from './features/index.ts'
export type { IntrospectionOptions } from './guard/introspection.ts'
export type { TokenVerifierMaker } from './guard/require-token.ts'
export type { TokenVerifier, TokenVerifierOptions } from './guard/token-verifier.ts'
export type {
  Actor,
  AuthInfo,
  CallLimitOptions,
  GuardedHandler,
  MaybeAuthorized,
  RequireToken,
  RequireTokenOptions,
  ThingIds,
  TokenGuard,
  UserAuthInfo,
} from './guard/types.ts'
export type { RefusedCall, VerifiedCall, VerifyRequest } from './guard/verify.ts'
export type { KeyAdministration, SigningKeyState } from './keys/key-administration.ts'
export type { KeyState } from './keys/key-schedule.ts'
export { type TotpOptions, verifyTotp } from './keys/totp.ts'
export type {
  ClientAdministration,
  ClientListOptions,
  RegisteredClient,
  RotatedSecret,
  RotationOptions,
  SavedClient,
  UpdateOptions,
} from './oauth/clients/administration.ts'
export type { ClientSeed } from './oauth/clients/plan.ts'
export type { ClientCredentials, ClientRegistration, ClientUpdate } from './oauth/clients/register.ts'
export type { AccessAnswer, AccessRequest, AccessStep, AccessSteps } from './options/access.ts'
export type { DetailDescription, DetailField } from './options/authorization-details.ts'
export { OptionsError } from './options/check.ts'
export type { AddedBy, ExpectsUser, Feature, FeatureFor } from './options/features.ts'
export { defineGrant, type GrantDecision, type GrantDefinition, type GrantRequest } from './options/grants.ts'
export type { Lifetimes } from './options/lifetimes.ts'
export type { Limit, RedisClient } from './options/limits.ts'
export type { HostLogin, NewLogin, WithResponse } from './options/login.ts'
export { type AuthRouterOptions, defineConfig, type SessionMiddleware } from './options/options.ts'
export type { Picture } from './options/pages.ts'
export type { ResourceTokenRequest } from './options/resources.ts'
export type { Logger } from './options/server.ts'
export type { TokenExchangeDecision, TokenExchangeRequest } from './options/token-exchange.ts'
export type {
  ClaimMapping,
  ClaimsAsked,
  ClaimTarget,
  HostUser,
  PasswordAttempt,
  UserFunctions,
  UserMapping,
  UserRow,
  WithRequest,
} from './options/users.ts'
export type {
  ClientChanges,
  ClientMetadata,
  GrantType,
  ResponseType,
} from './protocol/clients/client-metadata.ts'
export type { PublicJwk, PublicJwks } from './protocol/clients/jwks.ts'
export type { SecurityProfile } from './protocol/clients/security-profile.ts'
export { type ErrorCode, OAuthError, type OAuthErrorOptions } from './protocol/errors.ts'
export type { Explanation } from './protocol/explanation.ts'
export type { AuthorizationDetail } from './protocol/requests/authorization-details.ts'
export type { ReceiptDetail, ReceiptScope } from './protocol/requests/consent.ts'
export type { Organization } from './protocol/requests/organization.ts'
export type { RequestObjectAlgorithm } from './protocol/requests/request-object.ts'
export type { KeyBinding } from './protocol/tokens/token-binding.ts'
export type { ActClaim } from './protocol/tokens/token-context.ts'
export { type AuthRouter, authRouter, type NodeHandler } from './router.ts'
export type { ConsentReceiptRecord } from './storage/repositories/consent-receipts.ts'
export type { ConsentRecord } from './storage/repositories/consents.ts'
export type { EventRecord } from './storage/repositories/events.ts'
export { type MigrateOptions, migrate, migrationSource, rollback } from './storage/schema.ts'
export { seedClients, seedUsers, type UserSeed } from './tools/seed.ts'
export type { OrganizationExport, OrganizationLifecycle } from './users/account/organization-records.ts'
export type {
  Authorization,
  AuthorizationAdministration,
  EndOptions,
  ListOptions,
  ListPage,
  Session,
  SessionAdministration,
} from './users/account/sessions-and-authorizations.ts'
export type { UserLifecycle } from './users/account/user-lifecycle.ts'
export type { UserExport } from './users/account/user-records.ts'
export type { NodeRequest, WebRequest } from './web/http/api-request.ts'
export type { Interaction } from './web/http/context.ts'
export type { PageModels, PageName } from './web/pages/page-models.ts'
