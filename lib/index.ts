export type {
  EndOptions,
  Grant,
  GrantAdministration,
  ListOptions,
  ListPage,
  Session,
  SessionAdministration,
} from './account/sessions-and-grants.ts'
export type { UserLifecycle } from './account/user-lifecycle.ts'
export type { UserExport } from './account/user-records.ts'
export type {
  ClientAdministration,
  ClientListOptions,
  RegisteredClient,
  RotatedSecret,
  RotationOptions,
  SavedClient,
  UpdateOptions,
} from './clients/administration.ts'
export type { ClientSeed } from './clients/plan.ts'
export type { ClientCredentials, ClientRegistration, ClientUpdate } from './clients/register.ts'
export type {
  AuthEvent,
  EventDetails,
  EventType,
  RevocationReason,
  SingleUseParameters,
} from './events/event.ts'
export type { EventListeners, Listen } from './events/events.ts'
export type * from './features/index.ts'
export type { IntrospectionOptions } from './guards/introspection.ts'
export type { TokenVerifierMaker } from './guards/require-token.ts'
export type { TokenVerifier, TokenVerifierOptions } from './guards/token-verifier.ts'
export type {
  Actor,
  AuthInfo,
  CallLimitOptions,
  GuardedHandler,
  MaybeAuthorized,
  RequireToken,
  RequireTokenOptions,
  TokenGuard,
  UserAuthInfo,
} from './guards/types.ts'
export type { RefusedCall, VerifiedCall, VerifyRequest } from './guards/verify.ts'
export type { NodeRequest, WebRequest } from './http/api-request.ts'
export type { Interaction } from './http/context.ts'
export type { KeyAdministration, SigningKeyState } from './keys/key-administration.ts'
export type { KeyState } from './keys/key-schedule.ts'
export { type TotpOptions, verifyTotp } from './keys/totp.ts'
export type { AccessAnswer, AccessRequest, AccessStep, AccessSteps } from './options/access.ts'
export type { DetailDescription, DetailField } from './options/authorization-details.ts'
export { OptionsError } from './options/check.ts'
export { defineGrant, type GrantDecision, type GrantDefinition, type GrantRequest } from './options/grants.ts'
export type { Lifetimes } from './options/lifetimes.ts'
export type { Limit, RedisClient } from './options/limits.ts'
export type { HostLogin, NewLogin, SecondFactor, SecondFactorRequest, WithResponse } from './options/login.ts'
export type { AuthRouterOptions, SessionMiddleware } from './options/options.ts'
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
export type { PageModels, PageName } from './pages/page-models.ts'
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
export type { ConsentReceiptRecord } from './repositories/consent-receipts.ts'
export type { ConsentRecord } from './repositories/consents.ts'
export type { EventRecord } from './repositories/events.ts'
export { type AuthRouter, authRouter, type NodeHandler } from './router.ts'
export { type MigrateOptions, migrate, migrationSource, rollback } from './schema.ts'
export { seedClients, seedUsers, type UserSeed } from './seed.ts'
