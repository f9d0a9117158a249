import type { Limits } from '../options/options.ts'
import type { Throttling } from '../options/throttle.ts'
import { type CountersContext, countersIn } from './counters.ts'
import { createFailureThrottle, type FailureThrottle } from './failure-throttle.ts'
import { createLoginThrottle, type LoginThrottle } from './login-throttle.ts'

/** The endpoints that limit the failures of clients and APIs. */
export type FailingEndpoint = 'token' | 'introspect' | 'revoke' | 'userinfo'

/** All limits on failures. */
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
export const createThrottle = (throttling: Throttling | undefined, context: CountersContext): Throttle => {
  const limits = throttling?.limits ?? unlimited
  return {
    login: createLoginThrottle(limits, countersIn(throttling?.store ?? 'memory', context)),
    token: createFailureThrottle('token', limits.token),
    introspect: createFailureThrottle('introspect', limits.introspect),
    revoke: createFailureThrottle('revoke', limits.revoke),
    userinfo: createFailureThrottle('userinfo', limits.userinfo),
  }
}
