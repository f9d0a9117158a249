import type { Limits } from '../options/options.ts'
import type { Throttling } from '../options/throttle.ts'
import { createFailureThrottle, type FailureThrottle } from './failure-throttle.ts'
import { type LimiterContext, limitersIn, memoryLimiter } from './limiters.ts'
import { createLoginThrottle, type LoginThrottle } from './login-throttle.ts'

/** The endpoints at which programs fail. */
export type FailingEndpoint = 'token' | 'introspect' | 'revoke' | 'userinfo'

/** Every limit on failures. */
export interface Throttle extends Readonly<Record<FailingEndpoint, FailureThrottle>> {
  readonly login: LoginThrottle
}

const unlimited: Limits = {
  loginAccountAddress: false,
  loginAddress: false,
  loginAccount: false,
  token: false,
  introspect: false,
  revoke: false,
  userinfo: false,
}

/** @param throttling undefined turns every limit off */
export const createThrottle = (throttling: Throttling | undefined, context: LimiterContext): Throttle => {
  const limits = throttling?.limits ?? unlimited
  const createLimiter = throttling ? limitersIn(throttling, context) : memoryLimiter
  return {
    login: createLoginThrottle(limits, createLimiter),
    token: createFailureThrottle('token', limits.token),
    introspect: createFailureThrottle('introspect', limits.introspect),
    revoke: createFailureThrottle('revoke', limits.revoke),
    userinfo: createFailureThrottle('userinfo', limits.userinfo),
  }
}
