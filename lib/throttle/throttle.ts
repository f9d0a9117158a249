import { assertNames } from '../options/check.ts'
import type { Limit } from '../options/options.ts'
import {
  defaultLoginLimits,
  defaultQuotas,
  defaultUserCodeLimits,
  type LoginLimits,
  type Quotas,
  type Throttling,
  type UserCodeLimits,
} from '../options/throttle.ts'
import { type CountersContext, countersIn } from './counters.ts'
import { createFailureThrottle, type FailureThrottle } from './failure-throttle.ts'
import { createLoginThrottle, type LoginThrottle } from './login-throttle.ts'
import { createTakeQuota, type TakeQuota } from './quota.ts'
import { createUserCodeThrottle, type UserCodeThrottle } from './user-code-throttle.ts'

/** An endpoint at which programs can fail. */
export interface LimitedEndpoint {
  /** Its path without the slash is the name of its limit: `token`. */
  readonly path: string
  /** The default; without one the endpoint has no limit. */
  readonly limit?: Limit
}

/** Every limit on failures. */
export interface Throttle {
  readonly login: LoginThrottle
  /** Limits on wrong user codes of devices. */
  readonly userCode: UserCodeThrottle
  /** The limit of an endpoint. */
  of(endpoint: LimitedEndpoint): FailureThrottle
  /** Counts registrations, reads of metadata documents, requests of devices, and clients of developers. */
  readonly takeQuota: TakeQuota
}

const nameOf = ({ path }: LimitedEndpoint): string => path.slice(1)

const noLimits: LoginLimits & UserCodeLimits & Quotas = {
  loginAccountAddress: false,
  loginAddress: false,
  loginNetwork: false,
  loginAccount: false,
  userCodeAddress: false,
  userCodeNetwork: false,
  userCodeTotal: false,
  userCodeUser: false,
  registration: false,
  registrationDaily: false,
  document: false,
  documentHost: false,
  deviceCode: false,
  developerClient: false,
  secondFactorSend: false,
}

/**
 * @param throttling undefined turns every limit off
 * @throws OptionsError when the option `throttle.limits` has a name that no endpoint has
 */
export const createThrottle = (
  throttling: Throttling | undefined,
  endpoints: readonly LimitedEndpoint[],
  context: CountersContext,
): Throttle => {
  const limited = endpoints.filter(({ limit }) => limit !== undefined)
  const { limits } = throttling ?? { limits: noLimits }
  const own = [defaultLoginLimits, defaultUserCodeLimits, defaultQuotas].flatMap(Object.keys)
  assertNames('throttle.limits.', limits, [...own, ...limited.map(nameOf)])
  const limitOf = (endpoint: LimitedEndpoint): Limit | false => {
    if (throttling === undefined) return false
    const chosen = new Map(Object.entries(limits)).get(nameOf(endpoint))
    return chosen ?? endpoint.limit ?? false
  }
  const throttles = new Map(
    limited.map((endpoint) => [endpoint.path, createFailureThrottle(nameOf(endpoint), limitOf(endpoint))]),
  )
  const counters = countersIn(throttling?.store ?? 'memory', context)
  const unlimited = createFailureThrottle('', false)
  return {
    login: createLoginThrottle(limits, counters, context.now),
    userCode: createUserCodeThrottle(limits, counters, context.now),
    of: ({ path }) => throttles.get(path) ?? unlimited,
    takeQuota: createTakeQuota(limits, counters),
  }
}
