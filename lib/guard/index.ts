// The entry `latchkey/guard`, for APIs in another process than their authorization server.

export { OptionsError } from '../options/check.ts'
export type { Limit, RedisClient } from '../options/limits.ts'
export type { Logger } from '../options/server.ts'
export { OAuthError } from '../protocol/errors.ts'
export type { NodeRequest, WebRequest } from '../web/http/api-request.ts'
export type { IntrospectionOptions } from './introspection.ts'
export { type ResourceServer, type ResourceServerOptions, resourceServer } from './resource-server.ts'
export type { TokenVerifier, TokenVerifierOptions } from './token-verifier.ts'
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
} from './types.ts'
export type { RefusedCall, VerifiedCall, VerifyRequest } from './verify.ts'
