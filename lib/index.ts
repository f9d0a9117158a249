export type { AuthEvent, EventDetails, EventType } from './events/event.ts'
export type { EventListeners } from './events/events.ts'
export type { UserLifecycle } from './http/user-lifecycle.ts'
export type { UserExport } from './http/user-records.ts'
export { OptionsError } from './options/check.ts'
export type {
  AuthRouterOptions,
  Branding,
  ClaimMapping,
  Features,
  HostLogin,
  HostUser,
  Lifetimes,
  Limit,
  Limits,
  LocaleOptions,
  Logger,
  LoginOptions,
  ScopeOptions,
  ScopeWords,
  ThrottleOptions,
  UserFunctions,
  UserMapping,
  UserRow,
} from './options/options.ts'
export type { ClientMetadata } from './protocol/client-metadata.ts'
export { type ErrorCode, OAuthError } from './protocol/errors.ts'
export type { Tenant } from './protocol/tenant.ts'
export { type MigrateOptions, migrate, migrationSource, rollback } from './repositories/migrate.ts'
export type { RequireToken, RequireTokenOptions } from './require-token.ts'
export { type AuthRouter, authRouter } from './router.ts'
export {
  type ClientSeed,
  type SeededClient,
  type SeedOptions,
  seedClients,
  seedUsers,
  type UserSeed,
} from './seed.ts'
export type { VerifiedToken } from './tokens/access-token.ts'
